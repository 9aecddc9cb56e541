#!/usr/bin/env bash
# Logs of several programs, ordered by time (--format log): in all kinds of jobs, compared with a parser in Python.
. "$2/tests/cli/common.sh.inc"

cat >make.py <<'END'
"""Writes logs: make.py COUNT SEED. Writes NAME.log for each form, and expected, all of them by time."""
import datetime
import random
import sys
import zoneinfo

count, draw = int(sys.argv[1]), random.Random(int(sys.argv[2]))
zone = zoneinfo.ZoneInfo("Europe/Berlin")
utc = datetime.timezone.utc
weekdays = "Mon Tue Wed Thu Fri Sat Sun".split()
months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

def common(t, text):
    t = t.astimezone(datetime.timezone(datetime.timedelta(minutes=draw.choice([-300, 0, 60, 330]))))
    user = draw.choice(["-", "ann", "john doe"])
    stamp = f"{t.day:02}/{months[t.month - 1]}/{t:%Y:%H:%M:%S %z}"
    return t.replace(microsecond=0), f'10.0.0.{draw.randrange(9)} - {user} [{stamp}] "GET /{text} HTTP/1.1" 200 12\n'

def python(t, text):
    t = t.astimezone(zone)
    trace = "" if draw.random() < 0.6 else "Traceback (most recent call last):\n  File \"x.py\", line 2\n\nValueError: x\n"
    ms = t.microsecond // 1000
    return t.replace(microsecond=ms * 1000), f"{t:%Y-%m-%d %H:%M:%S},{ms:03} ERROR {text}\n{trace}"

def syslog(t, text):
    t = t.astimezone(zone)
    return t.replace(microsecond=0), f"{months[t.month - 1]} {t.day:2} {t:%H:%M:%S} host prog[{draw.randrange(99)}]: {text}\n"

def apache(t, text):
    t = t.astimezone(zone)
    return t, f"[{weekdays[t.weekday()]} {months[t.month - 1]} {t.day:02} {t:%H:%M:%S}.{t.microsecond:06} {t.year}] [core:error] {text}\n"

def java(t, text):
    t = t.astimezone(utc)
    trace = "" if draw.random() < 0.5 else "\tat org.example.Main.run(Main.java:7)\n" * draw.randrange(1, 4)
    return t, f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06}Z INFO {text}\n{trace}"

def json(t, text):
    t = t.astimezone(utc)
    return t, f'{{"level":"info","ts":"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06}Z","msg":"{text}"}}\n'

def epoch(t, text):
    return t, f"{int(t.timestamp())}.{t.microsecond:06}     12 10.0.0.1 TCP_MISS/200 {text}\n"

records = []
for form in (common, python, syslog, apache, java, json, epoch):
    with open(form.__name__ + ".log", "w", newline="") as out:
        for number in range(count):
            # No hour that occurs twice, and no time in the future of the file.
            when = datetime.datetime(2026, 1, 1, 12, tzinfo=utc) + datetime.timedelta(
                days=draw.randrange(80), seconds=draw.randrange(3600), microseconds=draw.randrange(1000000))
            time, line = form(when, f"{form.__name__} {number}")
            out.write(line)
            records.append((time.astimezone(utc), line))
with open("expected", "w", newline="") as out:
    out.writelines(line for _, line in sorted(records, key=lambda record: record[0]))
END

python3 make.py 500 1
logs=(common.log python.log syslog.log apache.log java.log json.log epoch.log)
touch -d 2026-04-01 ./*.log
gpusort() { "$bin/gpusort" --format log --timezone Europe/Berlin "$@"; }
for options in '' '--device cpu --memory 16M --batch-bytes 64K --fan-in 2' '--block-size 4K --memory 24M' '--threads 1'; do
  # shellcheck disable=SC2086
  gpusort $options -o out "${logs[@]}" 2>err || fail "$options: $(cat err)"
  cmp out expected || fail "$options: another order than Python's"
done
! grep 'without a zone' err || fail 'a word about the zone that --timezone names'
grep -q 'times without a year were taken as of the last year in which they are at most a day later' err ||
  fail 'no word about the year'

# Compressed inputs, a pipe, TZ instead of the option, the reverse, the first records, parts.
gzip -k python.log && touch -d 2026-04-01 python.log.gz
TZ=Europe/Berlin "$bin/gpusort" --format log -o out common.log python.log.gz syslog.log apache.log java.log - epoch.log \
  <json.log 2>err || fail "$(cat err)"
grep -q 'timestamps without a zone were taken as times of Europe/Berlin .*; --timezone' err || fail "no word about the zone: $(cat err)"
cmp out expected
gpusort -k time:desc -o down "${logs[@]}" 2>err
[ "$(sort down | md5sum)" = "$(sort expected | md5sum)" ] || fail 'lines got lost'
gpusort -r -o reversed "${logs[@]}" 2>err
cmp down reversed
gpusort -k time:desc -c down 2>err || fail 'the reverse order is not the reverse order'
expect 1 gpusort -c down
gpusort --top 3 -o top "${logs[@]}" 2>err
[ "$(cat top)" = "$(head -c "$(stat -c %s top)" expected)" ] || fail 'not the first records'
gpusort --split 3 -o part "${logs[@]}" 2>err
cat part-[012].* >joined
cmp joined expected

# A job that is killed goes on from its runs.
resumed() {
  gpusort --resume-dir kept --memory 16M --batch-bytes 16K --threads 2 -o out "${logs[@]}" 2>err
}
for seconds in 0.02 0.05 0.1 0.2 0.4; do
  code=0
  { timeout -s KILL $seconds "$bin/gpusort" --format log --timezone Europe/Berlin --resume-dir kept --memory 16M \
    --batch-bytes 16K --threads 2 -o out "${logs[@]}" || code=$?; } >err 2>&1
  [ $code = 0 ] || [ $code = 137 ] || fail "exit $code: $(cat err)"
  [ $code != 0 ] || rm out
done
resumed || fail "$(cat err)"
cmp out expected

# -c and -m know the order by time.
for log in "${logs[@]}"; do
  gpusort -o "sorted-$log" "$log" 2>err
  touch -d 2026-04-01 "sorted-$log"
  gpusort -c "sorted-$log" 2>err || fail "$log is sorted"
done
expect 1 gpusort -c python.log
says 'python.log: not sorted: record [0-9]*, line [0-9]*, byte [0-9]* sorts before'
gpusort -m -o merged "${logs[@]/#/sorted-}" 2>err
cmp merged expected
expect 3 gpusort -m -o merged python.log java.log
says 'sort it without -m'

# A log that was merged is a mixture of forms, and is in order.
touch -d 2026-04-01 expected
gpusort -c expected 2>err || fail "a merged log: $(cat err)"

# Inputs that are no logs, and times that are not certain.
printf 'hello\nworld\n' >text.log
printf '11/12/2026 10:00:00 a\n12/12/2026 10:00:00 b\n' >order.log
printf '[    0.000000] Linux\n[    0.100000] x\n' >dmesg.log
expect 3 gpusort -o out java.log text.log
says "text.log: none of 2 lines has a time in a known form; the first lines are 'hello' and 'world'; --time FORMAT says"
expect 3 gpusort -o out order.log
says 'order.log: day or month first'
expect 0 gpusort --time '%d/%m/%Y %T' -r -o out order.log
[ "$(head -n 1 out)" = '12/12/2026 10:00:00 b' ]
expect 3 gpusort -o out dmesg.log
says 'dmesg --time-format iso'
expect 2 "$bin/gpusort" --format log --timezone Middle/Earth -o out java.log
says "there is no time zone 'Middle/Earth'"
expect 2 gpusort --time '%Q' -o out java.log
expect 3 gpusort -k status -o out java.log
says "no record has the field 'status' (a record has '"
expect 2 gpusort --verify-output -o out java.log
says 'yet$'
expect 2 "$bin/gpusort" --format csv --timezone UTC -k a -o out java.log
says '--timezone has no meaning without a key of the type timestamp or time'

# Tasks: slices that begin in the middle of a log, runs of several logs, one output, parts.
task() { "$bin/gpusort_task" "$@"; }
in_tasks() { # SLICES PARTS OUTPUT INPUT...
  local slices=$1 parts=$2 output=$3
  shift 3
  rm -rf job
  for ((k = 0; k < scans; ++k)); do
    task scan --slice $k/$slices --into job --format log --timezone Europe/Berlin "$@" 2>err || return
  done
  for ((k = slices - 1; k >= 0; --k)); do
    task runs --slice $k/$slices --into job --format log --timezone Europe/Berlin "$@" 2>err || return
  done
  task cut --parts $parts job 2>err
  for ((j = 0; j < parts; ++j)); do task part --part $j/$parts job "$output" 2>err || return; done
  task prove --parts $parts job "$output" 2>err
}
scans=0
for shape in '1 1' '3 2' '9 5' '9 4'; do
  [ "$shape" != '9 4' ] || scans=9
  # shellcheck disable=SC2086
  in_tasks $shape out "${logs[@]}" || fail "tasks $shape: $(cat err)"
  cmp out expected || fail "tasks $shape: another order"
done
scans=0
gzip -kf syslog.log && touch -d 2026-04-01 syslog.log.gz
in_tasks 4 3 out common.log python.log syslog.log.gz apache.log java.log json.log epoch.log || fail "$(cat err)"
cmp out expected
# Lines that are records of one log and parts of records of another, and the two occurrences of an hour.
printf '2026-01-01 00:00:00 a\n2026-01-01 00:00:01 b\n' >first.log
{ printf 'Jan  1 00:00:02 h a\n%.0s' {1..60} && printf '2026-01-01 00:00:00 is text\nJan  1 00:00:04 h\n'; } >second.log
printf '2026-10-25 02:30:00 2\n2026-10-25 02:59:59 3\n2026-10-25 02:00:00 4\n2026-10-25 02:30:01 5\n' >autumn.log
for names in 'first.log second.log' autumn.log; do
  # shellcheck disable=SC2086
  "$bin/gpusort" --format log --timezone Europe/Berlin -o wanted $names 2>err || fail "$(cat err)"
  # shellcheck disable=SC2086
  in_tasks 3 2 out $names || fail "tasks of $names: $(cat err)"
  same out wanted
done
# Slices at 2501 and 5002 of 7503 bytes, where a line begins one byte before the first, and lines that are longer than
# what a slice reads at once: each record belongs to one slice.
python3 - <<'END'
import random
draw = random.Random(5)
with open("meet.log", "w") as out:
    for n in range(150):
        out.write(f"2026-01-01 00:{n // 60:02}:{n % 60:02} {n:0{29 if n < 149 else 32}}\n")
with open("wide.log", "w") as out:
    for n in range(40):
        text = "x" * draw.choice([1, 1000, 65000, 131000, draw.randrange(200000)])
        out.write(f'{{"ts":"2026-01-01T00:00:{draw.randrange(60):02}Z","msg":"{text}"}}\n')
END
for shape in '3 2 out meet.log' '23 2 out wide.log'; do
  "$bin/gpusort" --format log --timezone Europe/Berlin "${shape##* }" want 2>err || fail "$(cat err)"
  # shellcheck disable=SC2086
  in_tasks $shape || fail "tasks $shape: $(cat err)"
  cmp out want
done
# The time comes after any number of bytes, and the date depends on all times before: the plan makes no difference.
python3 - <<'END'
import random
draw = random.Random(7)
with open("far.log", "w") as out:
    for n in range(300):
        word = "x" * (draw.choice([5000, 9000, 12000]) if n % 3 == 1 else 1)
        out.write(f"{word} {(17, 3, 16)[n % 3]:02}:00:00.{n:03} {n}\n")
END
far=("$bin/gpusort" --format log --timezone UTC --date 2026-05-01 --force far.log)
"${far[@]}" want 2>err || fail "$(cat err)"
"${far[@]}" out --threads 2 --memory 16M --batch-bytes 64K --block-size 4K 2>err || fail "$(cat err)"
cmp out want
# A slice has too few bytes to learn the form of its input.
{ printf '2026-11-23 22:10:01 got x\nNov 21 10:00:00 continues\n' && printf '2026-11-23 22:10:02 b%s\n' {1..63}; } >first.log
for ((k = 2; k >= 0; --k)); do
  task runs --slice $k/3 --into job3 --format log --timezone UTC first.log 2>err || fail "$(cat err)"
done

# Times without a year or without a day, over several of these, and the lines that are records.
cat >steps.py <<'END'
"""Writes two logs whose times go up, and both of them by time: steps.py KIND SEED."""
import datetime
import random
import sys

kind, draw = sys.argv[1], random.Random(int(sys.argv[2]))
time = datetime.datetime(2019, 3, 1)
with open("first", "w") as first, open("second", "w") as second, open("want", "w") as want:
    for number in range(20000):
        seconds = draw.randrange(1, 20000) if kind == "year" else draw.randrange(600)
        time += datetime.timedelta(seconds=seconds, milliseconds=0 if kind == "year" else 1)
        text = f"{time:%b %e %H:%M:%S}" if kind == "year" else f"{time:%H:%M:%S}.{time.microsecond // 1000:03}"
        line = f"{text} host record {number}\n" + ("  continues\n" if draw.random() < 0.3 else "")
        want.write(line)
        (first if number == 0 or draw.random() < 0.5 and number > 1 else second).write(line)
END
for kind in year date; do
  option=$([ $kind = year ] && echo '--year 2019' || echo '--date 2019-03-01')
  for seed in 1 2; do
    python3 steps.py $kind $seed
    # shellcheck disable=SC2086
    "$bin/gpusort" --format log --timezone UTC $option -o out first second 2>err || fail "$option: $(cat err)"
    cmp out want || fail "$option: another order"
    ! grep -q 'without a year' err || fail 'a warning about a year that is given'
  done
done
printf '2026-01-02 10:00:00 b\n  b1\nb2\n2026-01-01 10:00:00 a\na1\n' >mixed.log
gpusort --multiline none -o out mixed.log 2>err
printf '2026-01-01 10:00:00 a\na1\n2026-01-02 10:00:00 b\n  b1\nb2\n' | cmp - out
gpusort --multiline indent -k time:desc -o out mixed.log 2>err
cmp out mixed.log
expect 2 gpusort --multiline some -o out mixed.log
expect 2 gpusort --year 26 -o out mixed.log
expect 2 gpusort --date yesterday -o out mixed.log
says "'yesterday' is no day"
printf '10:00:00 a\n' >times.log
expect 0 gpusort --time '%H:%M:%S' --date 2026-11-23 -o out times.log
expect 3 gpusort -o out times.log
says '--date'

# --explain shows the form of each input, and an example in UTC; a compressed input is expanded for it.
gpusort --explain -o out common.log python.log.gz json.log >plan 2>err || fail "$(cat err)"
grep -q "common.log: common log after '\['; [0-9]* of [0-9]* lines; '10\.0\.0\..*'\.\.\. is 2026-[0-9T:-]*Z$" plan ||
  fail "$(cat plan)"
grep -q "python.log.gz: ISO 8601 in word 1; [0-9]* of [0-9]* lines; '2026-.*' is 2026-[0-9T:.-]*Z$" plan || fail "$(cat plan)"
grep -q 'json.log: JSON Lines, member ts; 400 of 400 lines' plan || fail "$(cat plan)"

# Nothing is written, so names without -o are inputs if all exist. In the job itself, the second of two names would be
# the output, so --explain says which reading was taken.
explained() { grep -c '^format ' plan || true; }
gpusort --explain common.log python.log json.log >plan
[ "$(explained)" = 3 ] && grep -q '^names  *all 3 names are inputs' plan || fail "three names: $(cat plan)"
gpusort --explain common.log python.log >plan
[ "$(explained)" = 2 ] && grep -q '^names  *both names are inputs' plan || fail "two names: $(cat plan)"
gpusort --explain common.log new.log >plan
[ "$(explained)" = 1 ] && ! grep -q '^names' plan || fail "a second name that is new: $(cat plan)"
gpusort --explain common.log /dev/null >plan
[ "$(explained)" = 1 ] && ! grep -q '^names' plan || fail "/dev/null: $(cat plan)"
gpusort --explain --force common.log python.log >plan
[ "$(explained)" = 1 ] && grep -q "^names  *the OUTPUT is 'python.log', which exists" plan || fail "--force: $(cat plan)"
"$bin/gpusort" --explain common.log python.log >plan
grep -q "^names  *the OUTPUT is 'python.log', which exists" plan || fail "two names of lines: $(cat plan)"
"$bin/gpusort" --explain -m common.log python.log >plan
grep -q '^names  *both names are inputs' plan || fail "-m of two names: $(cat plan)"
expect 2 gpusort --explain common.log python.log new.log
says 'there are 3 names'

# Every input has its row, however many there are, and so has one whose form is not known. The job would refuse it.
mkdir many
for i in {10..40}; do printf '2026-01-01 10:00:%s x\n' "$i" >many/$i.log; done
printf 'no time\n' >many/33.log
expect 3 gpusort --explain many/*.log >plan
[ "$(explained)" = 30 ] && grep -q '^memory' plan || fail "30 of 31 inputs: $(cat plan)"
grep -q '^no format  *many/33.log: none of 1 lines has a time' plan || fail "no row of the bad input: $(cat plan)"
says 'error: many/33.log: none of 1 lines has a time'
printf 'no time\n' >many/10.log
expect 3 gpusort --explain many/*.log >plan
[ "$(explained)" = 29 ] && [ "$(grep -c '^no format' plan)" = 2 ] || fail "29 of 31 inputs: $(cat plan)"
says 'many/10.log: none of 1 lines.*; the format of 1 more input is not known either'

# Times that a regular expression finds: as its first group, in a form that --time gives, and by named groups.
printf 'a <2026-11-23 22:10:02>\nb <2026-11-23 22:10:01>\n' >regex.log
expect 0 gpusort --time-regex '<(.*)>' -o out regex.log
[ "$(head -n 1 out)" = 'b <2026-11-23 22:10:01>' ]
printf 'a <02/01/26 10>\nb <01/02/26 11>\n' >parts.log
expect 0 gpusort --time-regex '<(.*)>' --time '%d/%m/%y %H' -r -o out parts.log
[ "$(head -n 1 out)" = 'b <01/02/26 11>' ]
expect 0 gpusort --time-regex '<(?P<month>..)/(?P<day>..)/(?P<year>..) (?P<hour>..)>' -o out parts.log
[ "$(head -n 1 out)" = 'b <01/02/26 11>' ]
expect 3 gpusort --time-regex 'x(.*)' -o out regex.log
says 'none of 2 lines matches --time-regex'
expect 2 gpusort --time-regex '(' -o out regex.log
says '--time-regex: the regular expression ( is invalid'
expect 2 gpusort --time-regex '(?P<hour>.)' -o out regex.log
says 'no group named month'

# The order of day and month is known from a line whose day is above 12. Most lines that begin no record are reported.
printf '01/02/2026 10:00:00 a\n13/01/2026 10:00:00 b\nc\nd\n' >order.log
expect 0 gpusort -o out order.log
says 'order.log: the times are day/month/year in digits, as the values of other lines show'
[ "$(head -n 1 out)" = '13/01/2026 10:00:00 b' ]
printf '2026-01-01 10:00:00 a\nb\nc\n2026-01-01 09:00:00 d\ne\nf\n' >few.log
expect 0 gpusort -o out few.log
says "4 lines begin with no time and were taken for parts of the records before them, such as 'b'"
# Warnings count lines whose time does not exist, and lines with times of a form that the first 256 KiB do not have.
printf '2026-03-01 10:00:00 a\n2026-02-29 10:00:00 b\n2026-02-27 10:00:00 c\n2026-01-01 25:00:00 d\n' >impossible.log
expect 0 gpusort -o out impossible.log
says "a time that does not exist stands in 2 lines, the first is '2026-02-29 10:00:00 b'"
{
  for ((i = 0; i < 12000; ++i)); do echo "2026-11-23 22:10:01 $i"; done
  for ((i = 10; i < 50; ++i)); do echo "Nov 22 10:00:$i host prog: x"; done
} >change.log
expect 0 gpusort -o out change.log
says "stands at the front of 40 lines, the first is 'Nov 22 10:00:10 host prog: x'"
printf '\377\376a\0b\0\n\0' >utf16.log
expect 3 gpusort -o out utf16.log
says 'utf16.log: this seems to be UTF-16 text: iconv -f UTF-16 -t UTF-8'
# A record that does not end is an error with its place.
{
  printf '2026-11-23 22:10:01 a\n2026-11-23 22:10:02 b\n'
  for _ in {1..30000}; do echo ' 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789'; done
} >open.log
expect 3 gpusort --memory 64M -o out open.log
says 'open.log: record 2, line 2, byte 22: no later line has a time in the next [0-9]* bytes (longer records: --max-record)'
echo "logs: ok"
