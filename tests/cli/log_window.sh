#!/usr/bin/env bash
# The window of time of logs (--since, --until) and the names of the inputs before their records (--prefix-name): in all
# kinds of jobs, compared with a parser in Python.
. "$2/tests/cli/common.sh.inc"

cat >make.py <<'EOF'
"""Writes logs: make.py COUNT SEED. Writes a.log, b.log and c.log, and all records in order of time to records.json."""
import datetime
import json
import random
import sys
import zoneinfo

count, draw = int(sys.argv[1]), random.Random(int(sys.argv[2]))
berlin, utc = zoneinfo.ZoneInfo("Europe/Berlin"), datetime.timezone.utc
months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

def java(t):
    t = t.astimezone(utc)
    return f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06}Z INFO"

def python(t):
    t = t.astimezone(berlin)
    return f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03} ERROR"

def common(t):
    t = t.astimezone(datetime.timezone(datetime.timedelta(minutes=draw.choice([-300, 0, 60, 330]))))
    return f'10.0.0.{draw.randrange(9)} - - [{t.day:02}/{months[t.month - 1]}/{t:%Y:%H:%M:%S %z}] "GET /" 200'

records = []
for name, form in ("a.log", java), ("b.log", python), ("c.log", common):
    begin = datetime.datetime(2026, 3, 1, 12, tzinfo=utc)
    with open(name, "w", newline="") as out:
        for number in range(count):
            when = begin + datetime.timedelta(seconds=draw.randrange(count), milliseconds=draw.choice([0, 0, 250, 500]))
            if form is common:
                when = when.replace(microsecond=0)
            text = ""
            if number == 0:
                when, text = begin, "opened by a program\n"
            text += f"{form(when)} {name} {number}\n"
            while form is not common and draw.random() < 0.3:
                text += draw.choice(["\tat org.example.Main.run(Main.java:7)\n", "\n", "\x1d escape\n"])
            if number == count // 2 and form is java:
                text += "x" * 300000 + "\n"
            out.write(text)
            records.append([name, when.timestamp(), text])
records.sort(key=lambda record: record[1])
with open("records.json", "w") as out:
    json.dump(records, out)
EOF

cat >window.py <<'EOF'
"""Prints the records of a window: window.py SINCE UNTIL [unique] [names]. The bounds are seconds since 1970, or -."""
import json
import sys

since, until, options = sys.argv[1], sys.argv[2], sys.argv[3:]
last = None
sys.stdout.reconfigure(newline="")
for name, time, text in json.load(open("records.json")):
    if (since != "-" and time < float(since)) or (until != "-" and time >= float(until)):
        continue
    if "unique" not in options or time != last:
        print((f"{name}: " if "names" in options else "") + text, end="")
    last = time
EOF

gpusort() { "$bin/gpusort" --format log --timezone Europe/Berlin "$@"; }
# A time in seconds since 1970, as a time in a zone.
in_zone() { TZ=$1 date -d "@$2" "+$3"; }
logs=(a.log b.log c.log)
count=$(few && echo 2000 || echo 6000)
python3 make.py "$count" 7
start=1772366400 # 2026-03-01T12:00:00Z
python3 window.py - - >all

# Windows with bounds in several forms. The bounds are times of records.
check() {
  local since=$1 until=$2 options
  shift 2
  python3 window.py "$since" "$until" >expected
  python3 window.py "$since" "$until" names >named
  for options in '' '--device cpu --memory 16M --batch-bytes 64K --fan-in 2' '--block-size 4K --memory 24M' \
    '--threads 1'; do
    # shellcheck disable=SC2086
    gpusort $options "$@" -o out "${logs[@]}" --stats stats.json 2>err || fail "$* $options: $(cat err)"
    cmp out expected || fail "$* $options: other records than Python's"
    # shellcheck disable=SC2086
    gpusort $options --prefix-name "$@" -o out "${logs[@]}" 2>err || fail "--prefix-name $* $options: $(cat err)"
    cmp out named || fail "--prefix-name $* $options: other records than Python's"
  done
  python3 - "$((3 * count))" <<'EOF'
import json
import sys
stats = json.load(open("stats.json"))
assert stats["records_in"] == int(sys.argv[1]), stats["records_in"]
assert stats["records_out"] == stats["records_in"] - stats["records_outside"], stats
EOF
}
from=$((start + count / 3)) to=$((start + count / 2))
check - -
check "$from" - --since "@$from"
check - "$to" --until "$(in_zone UTC "$to" %FT%TZ)"
check "$from.25" "$to.5" --since "$(in_zone UTC "$from" %FT%T).25Z" --until "@$to.500"
check "$from" "$to" --since "$(in_zone Europe/Berlin "$from" %FT%T)" --until "$(in_zone Europe/Berlin "$to" '%F %T')"
check "$from" "$to.25" --since "$(in_zone Asia/Kolkata "$from" %FT%T+0530)" --until "$(in_zone UTC "$to" %FT%T,25Z)"
check 0 - --since 1970-01-01
check "$start" "$((start + 1))" --since "@$start" --until "@$((start + 1))"

# The window, and then -u, --top, --split, -r, -m and -c.
window=(--since "@$from" --until "@$to")
python3 window.py "$from" "$to" >expected
python3 window.py "$from" "$to" names >named
python3 window.py "$from" "$to" unique names >unique
gpusort "${window[@]}" --prefix-name -u -o out "${logs[@]}" 2>err
same out unique
gpusort "${window[@]}" --top 5 -o out "${logs[@]}" 2>err
[ -s out ] && cmp -n "$(stat -c %s out)" out expected || fail '--top: not the first records of the window'
gpusort "${window[@]}" --prefix-name --split 3 -o part "${logs[@]}" 2>err
cat part-[012].* >out
same out named
gpusort "${window[@]}" -r -o down "${logs[@]}" 2>err
[ "$(sort down | md5sum)" = "$(sort expected | md5sum)" ] || fail '-r: other records'
gpusort -k time:desc -c down 2>err || fail "-r: $(cat err)"

for log in "${logs[@]}"; do gpusort -o "sorted-$log" "$log" 2>err; done
gpusort -m "${window[@]}" -o out "${logs[@]/#/sorted-}" 2>err || fail "-m: $(cat err)"
same out expected
gpusort -m "${window[@]}" --prefix-name --memory 12M -o out "${logs[@]/#/sorted-}" 2>err
sed 's/^sorted-//' out >short
same short named
gpusort -m "${window[@]}" --prefix-name -o merged.log.gz "${logs[@]/#/sorted-}" 2>err
zcat merged.log.gz | cmp - out

# -c looks at the records of the window only, and counts all records.
head -c 200000 /dev/zero | tr '\0' x >long
{
  for i in 1 2 3; do echo "2026-03-0$((7 - i))T00:00:00Z early $i"; done
  sed 's/^/\t/' long && echo
  for i in 1 3 2; do echo "2026-04-0${i}T00:00:00Z in the window $i"; done
  echo '2026-05-01T00:00:00Z late'
} >check.log
for memory in 12M 1G; do
  expect 1 gpusort -c --memory $memory --since 2026-04-01T00:00:00Z check.log
  says 'check.log: not sorted: record 6, line 7, byte '
  place=$(grep -o 'byte [0-9]*' err)
  [[ "$(tail -c "+$((${place#byte } + 1))" check.log)" == '2026-04-02T00:00:00Z in the window 2'* ]] || fail "$place"
  expect 0 gpusort -c --memory $memory --since 2026-04-02T00:00:00Z --until 2026-04-03T00:00:00Z check.log
  expect 1 gpusort -c --memory $memory --until 2026-04-01T00:00:00Z check.log
  says 'record 2, line 2, byte 29'
  expect 3 gpusort -m --memory $memory --since 2026-04-01T00:00:00Z -o out check.log
  says 'record 6, line 7, byte '
done

# Pipes and compressed inputs. The name of standard input is grep's.
gzip -k b.log
sed 's/^b\.log: /b.log.gz: /; s/^c\.log: /(standard input): /' named >expected
gpusort "${window[@]}" --prefix-name a.log b.log.gz - -o out <c.log 2>err || fail "$(cat err)"
same out expected
gpusort "${window[@]}" --prefix-name --memory 12M -o - a.log <(zcat b.log.gz) - <c.log 2>err |
  sed 's,^/dev/fd/[0-9]*: ,b.log.gz: ,' >out
same out expected

# A job that fails or is killed goes on from its runs, and not with another window, without the names, or in another zone.
job() {
  "$bin/gpusort" --format log "${window[@]}" --resume-dir kept --memory 16M --batch-bytes 16K --threads 2 -o out "$@" \
    "${logs[@]}"
}
export TZ=Europe/Berlin
code=0
(ulimit -f 100; job --prefix-name) 2>err || code=$?
[ $code = 5 ] && [ -e kept/gpusort.manifest ] || fail "exit $code: $(cat err)"
expect 2 job --prefix-name --top 5
says "it holds another job: --top"
expect 2 job
says "it holds another job: --prefix-name was given, and is now not given"
TZ=Asia/Kolkata expect 2 job --prefix-name
says "the time zone was 'Europe/Berlin', and is now 'Asia/Kolkata'"
window[1]=@$((from + 1))
expect 2 job --prefix-name
says "it holds another job: --since was '@$from'"
window[1]=@$from
for seconds in 0.02 0.05 0.1; do
  code=0
  { timeout -s KILL $seconds "$bin/gpusort" --format log "${window[@]}" --prefix-name --resume-dir kept --memory 16M \
    --batch-bytes 16K --threads 2 -o out "${logs[@]}" || code=$?; } >err 2>&1
  [ $code = 0 ] || [ $code = 137 ] || fail "exit $code: $(cat err)"
done
job --prefix-name 2>err || fail "$(cat err)"
same out named
unset TZ

# Tasks. The first records, which begin with a line without a time, are not in the window.
task() { "$bin/gpusort_task" "$@" 2>err || fail "$* $(cat err)"; }
python3 window.py "$from" "$to" >expected
for k in 2 0 1; do
  task runs --slice $k/3 --into tasks --format log --timezone Europe/Berlin "${window[@]}" "${logs[@]}"
done
task cut --parts 2 tasks
task part --part 0/2 tasks out
task part --part 1/2 tasks out
task prove --parts 2 tasks out
same out expected
expect 2 "$bin/gpusort_task" runs --slice 0/1 --into other --format log a.log
says '--format log needs --timezone: the zones of the machines may differ'

# A name cannot forge a line, and a long one takes its place in a record of the longest allowed size.
mkdir -p "$(printf 'd%.0s' {1..200})"
name=$(printf 'd%.0s' {1..200})/$'new\nline.log'
printf '2026-03-01T00:00:00Z %s\n\tmore\n' "$(printf 'x%.0s' {1..900})" >"$name"
gpusort --prefix-name --max-record 1K -o out "$name" a.log 2>err && fail 'a record of 300000 bytes'
gpusort --prefix-name --max-record 1K -o out "$name" c.log 2>err || fail "$(cat err)"
grep -c 'new\\x0aline.log: 2026-03-01T00:00:00Z x' out >lines
[ "$(cat lines)" = 1 ] || fail "the name: $(grep line out)"

# A window without a record is no error. The warning says which times there are.
expect 0 gpusort --since 2026-06-01 --stats stats.json -o out "${logs[@]}"
[ -e out ] && [ ! -s out ] || fail 'a window without records'
says "no record is in the window from 2026-06-01 00:00:00; the records are from 2026-03-01 13:00:[0-9]* until \
2026-03-01 1[345]:[0-9]*:[0-9]*, in the zone Europe/Berlin"
grep -q '"records_out": 0' stats.json
expect 0 gpusort --until 2025-06-01 --device cpu --memory 12M "${logs[@]}" -o -
says 'in the window until 2025-06-01 00:00:00; '
expect 0 gpusort --until 2025-06-01 --split 2 -o part "${logs[@]}"
expect 0 gpusort --until 2025-06-01 -c "${logs[0]}"
expect 0 gpusort --until 2025-06-01 -m -o out "${logs[@]}"
: >empty.log
expect 0 gpusort --since 2026-06-01 -o out empty.log

# Records without a time are left out of each window.
printf '{"time":"2026-03-01T00:00:00Z"}\n{"no":1}\n{"time":"2026-03-02T00:00:00Z"}\n' >json.log
expect 0 gpusort --since 2026-03-02T00:00:00Z -o out json.log
says '1 record has no time and is left out'
[ "$(cat out)" = '{"time":"2026-03-02T00:00:00Z"}' ]
expect 0 gpusort --since 2026-03-03 -o out json.log
says '; the records are from 2026-03-01 01:00:00 until 2026-03-02 01:00:00,'

# Wrong usage.
expect 2 gpusort --since 2026-03-02 --until 2026-03-01 -o out a.log
says "--since '2026-03-02' is not before --until '2026-03-01'"
expect 2 gpusort --since 2026-03-01T01:00 --until 2026-03-01T00:00Z -o out a.log
expect 2 gpusort --since 20260301 -o out a.log
says "--since: '20260301' could be a day or a count of seconds"
for time in yesterday 2026-02-30 @ @infinity infinity @2026-03-01 2026-03-01T25:00 '2026-03-01 10:00 x'; do
  expect 2 gpusort --until "$time" -o out a.log
  says "--until: '$time' is no time: give one like"
done
for option in --since=2026-03-01 --until=2026-03-01 --prefix-name; do
  expect 2 "$bin/gpusort" --format csv "$option" -k a -o out a.log
  says "${option%=*} has no meaning with --format csv"
  ln -sf "$bin/gpusort" sort
  expect 2 ./sort "$option" a.log
  says "unrecognized option '${option}'"
done
expect 2 gpusort -c --prefix-name a.log
says '--prefix-name has no meaning with --check'
nothing_left
echo "log_window: ok"
