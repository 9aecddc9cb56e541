# labels: any_build brief
# Tests the logs that gpusort_gen writes, with a parser in Python, and gpusort_check --format log, with planted faults.
. "$2/tests/cli/common.sh.inc"
gen=$bin/gpusort_gen
kinds=(logs logs-web logs-syslog logs-app logs-postgres logs-json)

# Every record has a time that Python can read, and --dist sorted is in order of these times.
cat >times.py <<'END'
"""times.py FILE: checks that the records of a log are in order. Prints the numbers of records, equal times, traces."""
import datetime
import json
import re
import sys

CLF = re.compile(r'\S+ - (?:-|alice|john doe) \[([^]]+)\] "')
ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{3})(\S+| UTC| CET) ")
SYSLOG = re.compile(r"Nov [ \d]\d \d\d:\d\d:\d\d")

def time_of(line):
    if line.startswith("{"):
        return datetime.datetime.fromisoformat(json.loads(line)["time"])
    if found := CLF.match(line):
        return datetime.datetime.strptime(found[1], "%d/%b/%Y:%H:%M:%S %z")
    if found := ISO.match(line):
        zone = {" UTC": "+00:00", " CET": "+01:00"}.get(found[2], found[2])
        return datetime.datetime.fromisoformat(found[1] + zone)
    if found := SYSLOG.match(line):
        return datetime.datetime.strptime("2026 " + found[0] + " +0000", "%Y %b %d %H:%M:%S %z")
    return None

last, records, equal, traces, follows = None, 0, 0, 0, False
with open(sys.argv[1], newline="\n") as file:
    for line in file:
        time = time_of(line)
        if time is None:
            assert records, line
            traces += not follows
            follows = True
            continue
        follows = False
        assert last is None or time >= last, (last, line)
        equal += time == last
        records += 1
        last = time
print(records, equal, traces)
END
kilobytes=$(few && echo 300 || echo 1000)
for kind in "${kinds[@]}"; do
  "$gen" --type "$kind" --bytes ${kilobytes}K --dist sorted "$kind"
  size=$(stat -c %s "$kind")
  [ "$size" -le $((kilobytes * 1024)) ] && [ "$size" -gt $((kilobytes * 1024 - 2000)) ] || fail "$kind has $size bytes"
  [ "$(date -u -r "$kind" +%F)" = 2026-11-22 ] || fail "$kind is of another day"
  "$gen" --type "$kind" --bytes ${kilobytes}K --dist sorted --threads 3 - | cmp - "$kind" || fail "$kind differs in a pipe"
  read -r records equal traces < <(python3 times.py "$kind")
  [ "$((equal * 6))" -gt "$records" ] || fail "$kind has $equal equal times in $records records"
  share=0
  case $kind in
    logs-app) share=6 ;;
    logs-postgres) share=7 ;;
    logs) share=16 ;;
  esac
  [ "$((traces * share))" -ge "$((share == 0 ? 0 : records))" ] || fail "$kind has $traces traces in $records records"
  [ $share != 0 ] || [ "$traces" = 0 ] || fail "$kind has $traces traces"
  # gpusort finds the same order, in this and in a random order of the records.
  expect 0 "$bin/gpusort" --format log --timezone UTC --check "$kind"
  "$gen" --type "$kind" --bytes ${kilobytes}K any
  expect 1 "$bin/gpusort" --format log --timezone UTC --check any
done
"$gen" --type logs-web --bytes 100K --seed 1 one
"$gen" --type logs-web --bytes 100K two
! cmp -s one two || fail 'the seed changes nothing'
expect 2 "$gen" --type logs-web --bytes 50 out
says 'not even one line fits'
expect 2 "$gen" --type logs --count 3 out
expect 2 "$gen" --type logs --distinct 3 --bytes 1M out
expect 2 "$gen" --type logs-java --bytes 1M out
says "'logs-java' is not a type"

# gpusort_check: its own times agree with gpusort's, for each kind of log, and for all of them together.
check() { "$bin/gpusort_check" --format log --timezone Europe/Berlin "$@" >report; }
sort_logs() { "$bin/gpusort" --format log --timezone Europe/Berlin "$@"; }
inputs=()
for kind in "${kinds[@]}"; do
  "$gen" --type "$kind" --bytes 200K --seed 7 "$kind"
  expect 0 sort_logs -o out "$kind"
  expect 0 check --against "$kind" out
  expect 1 check --against "$kind" "$kind"
  [ $kind = logs ] || expect 0 check out
  expect 1 check "$kind"
  inputs+=("$kind")
done
gzip -k logs-app
for options in '' '-m' '--reverse' '--unique'; do
  # shellcheck disable=SC2086
  case $options in
    -m) for kind in "${kinds[@]}"; do sort_logs -o "$kind.sorted" "$kind" 2>err && touch -r "$kind" "$kind.sorted"; done
      expect 0 sort_logs -m -o out "${inputs[@]/%/.sorted}"
      expect 0 check --threads 3 --stable --against "${inputs[@]/%/.sorted}" out ;;
    *) expect 0 sort_logs $options -o out "${inputs[@]}"
      expect 0 check $options --against "${inputs[@]}" out
      expect 0 check $options --against "${inputs[@]}" - <out ;;
  esac
done
grep -qx 'same set:   ok' report && grep -qx 'order:      ok' report || fail "$(cat report)"
expect 0 sort_logs -o out logs-app.gz logs-web
expect 0 check --against <(zcat logs-app.gz) logs-web out

# The families of times that logs have: gpusort and gpusort_check read them alike, each alone and all in one job.
mkdir families
(
  cd families
  python3 "$src/tests/cli/logs_random.py" --families "$(few && echo 80 || echo 200)" >names
  readarray -t families <names
  touch -d 2026-05-01 ./*.log
  for log in "${families[@]}"; do
    expect 0 sort_logs -o out "$log"
    expect 0 check --against "$log" out
  done
  expect 0 sort_logs -o out "${families[@]}"
  expect 0 check --against "${families[@]}" out
)

# Random logs and options, with plans that spill.
expect 0 python3 "$src/tests/cli/logs_random.py" "$bin" "$(few && echo 10 || echo 60)" "${GPUSORT_SEED:-1}"
expect 0 python3 "$src/tests/cli/logs_random.py" "$bin" "$(few && echo 3 || echo 40)" "${GPUSORT_SEED:-1}" merge

# Planted faults in a sorted log: each must be found, and its place.
cat >a.log <<'END'
2026-11-23T10:00:00+01:00 INFO one
2026-11-23T09:30:00Z ERROR two
Traceback (most recent call last):
  File "x.py", line 2
ValueError: x
2026-11-23T12:00:00+01:00 INFO three
2026-11-23T12:00:00+01:00 INFO four
2026-11-23T11:30:00Z INFO five
END
cat >b.log <<'END'
127.0.0.1 - john doe [23/Nov/2026:09:15:00 +0000] "GET / HTTP/1.1" 200 12
127.0.0.1 - - [23/Nov/2026:12:00:00 +0100] "GET /equal HTTP/1.1" 200 12
127.0.0.1 - - [23/Nov/2026:06:45:00 -0500] "GET /last HTTP/1.1" 200 12
END
against=(--against a.log b.log)
expect 0 sort_logs -o good a.log b.log
expect 0 check "${against[@]}" good
expect 1 check --against b.log a.log good
says 'record 4 (line 7, byte [0-9]*) is not in the order of the inputs: it is line 6 of .a.log. (2026-11-23T11:00:00.0'
says '; line 2 of .b.log. (2026-11-23T11:00:00.0*Z) comes here'
# fault NAME MESSAGE SED: plants a fault with a script for sed.
fault() {
  sed "$3" good >bad
  ! cmp -s good bad || fail "$1: nothing is planted"
  expect 1 check "${against[@]}" bad
  says "$2"
}
fault 'two records swapped' 'record 1 (line 1, byte 0) comes too early' '1{h;d};2G'
fault 'records of one time swapped' 'record 4 (line 7, byte [0-9]*) is not in the order' '7{h;d};8G'
fault 'a line of a trace lost' 'record 3 (line 3, byte [0-9]*) is no record of the inputs; line 2 of .a.log.' 4d
fault 'a trace in the wrong record' 'record 2 (line 2, byte [0-9]*)' '2{h;d};6G'
fault 'a record lost' 'record 4 (line 7, byte [0-9]*) is not in the order of the inputs' 7d
fault 'the first record lost' 'record 1 (line 1, byte 0) comes too early, or records are missing' 1d
fault 'the last record lost' 'the last 1 of 8 records are missing; line 3 of .b.log. (2026-11-23T11:45:00.0*Z)' '$d'
fault 'a record twice' 'record 3 (line 3, byte [0-9]*) is there twice: it is line 1 of .b.log.' 2p
fault 'the last record twice' 'record 9 (line 12, byte [0-9]*) is one too many: the inputs have 8 records; it is' '$p'
fault 'a byte changed' 'record 1 (line 1, byte 0) is no record of the inputs' '1s/one/two/'
fault 'CR added' 'is no record of the inputs' '5s/$/\r/'
head -c -1 good >bad
expect 1 check "${against[@]}" bad
# The order of the local times, without their zones.
LC_ALL=C sort b.log -s -t[ -k2.13,2.20 >bad
expect 1 check --against b.log bad
says 'record 1 (line 1, byte 0) comes too early'
expect 1 check bad
says 'not in order: record 2 (line 2, byte [0-9]*) is of 2026-11-23T09:15:00.0*Z after 2026-11-23T11:45:00.0*Z'
expect 1 check --reverse "${against[@]}" good
expect 1 check --unique good
says 'not unique: record 5'
# A zone that the times lack, the year that they lack, and a form that is given.
printf 'Jan  1 00:00:01 host a: x\nDec 31 23:59:59 host a: y\n' >year.log
touch -d 2026-01-15 year.log
expect 0 sort_logs -o out year.log
expect 0 check --against year.log out
[ "$(head -c 3 out)" = Dec ] || fail 'another year'
touch -d 2025-12-31T22:30:00Z year.log
expect 0 check --against year.log out
printf '01/11/2026 10:00:00 b\n02/10/2026 10:00:00 a\n' >days.log
expect 3 check days.log
says 'too few of the first lines have a time'
expect 1 check --time '%d/%m/%Y %H:%M:%S' days.log
expect 0 check --time '%m/%d/%Y %H:%M:%S' days.log
printf '2026-03-29 01:30:00 a\n2026-03-29 01:00:00Z b\n' >spring.log
expect 0 check spring.log
expect 1 "$bin/gpusort_check" --format log --timezone=-03:00 spring.log
expect 0 env TZ=Asia/Tokyo "$bin/gpusort_check" --format log spring.log

# An hour that occurs twice, years and days that the times lack, and lines without a time.
printf '2025-10-26 0%s x\n' 1:59:59 2:10:00 2:50:00 2:05:00 2:55:00 3:00:00 >autumn.log
expect 0 check autumn.log
printf '2025-10-26 0%s x\n' 2:10:00 2:05:00 >back.log
expect 1 check back.log
python3 - <<'PY'
import random
draw = random.Random(5)
turns, clock, loose, untimed = (open(name + ".log", "w") for name in ("turns", "clock", "loose", "untimed"))
with turns, clock, loose, untimed:
    second = 0
    for number in range(3000):
        second += draw.choice([0, 1, 200, 40000])
        month, day = second // 86400 // 28 % 12, second // 86400 % 28 + 1
        name = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()[month]
        late = max(0, second - draw.choice([0, 0, 3, 50]))
        text = f"{late // 3600 % 24:02}:{late // 60 % 60:02}:{late % 60:02}"
        if late // 86400 == second // 86400:
            turns.write(f"{name} {day:2} {text} host {number}\n")
        clock.write(f"{text} {number}\n")
        untimed.write(f"{text} {number}\n" + draw.choice(["", "no time\n"]))
        loose.write(f"2026-02-{day:02} {text} {number}\n" + draw.choice(["", "no time\n", "  indented\n"]))
PY
for options in 'turns.log --year 2019' 'clock.log --date 2019-02-27' 'loose.log --multiline none' \
  'untimed.log --multiline none --date 2026-01-01' \
  'loose.log --multiline indent' 'autumn.log' 'back.log'; do
  read -r -a words <<<"$options"
  expect 0 sort_logs "${words[@]:1}" -o out "${words[0]}"
  expect 0 check "${words[@]:1}" --against "${words[0]}" out
done
expect 3 check clock.log

# A window of time, and names before the records.
for options in '--since 2026-11-10' '--until 2026-11-10T12:00 --prefix-name' '--since @1793900000.5 --until @1794000000' \
  '--since 2026-11-05T00:00:00+05:30 --prefix-name -r'; do
  read -r -a words <<<"$options"
  expect 0 sort_logs "${words[@]}" -o out "${inputs[@]}"
  expect 0 check "${words[@]}" --against "${inputs[@]}" out
  [ "$(sed -n 's/^records: *//p' report)" -gt 100 ] || fail "$options: $(cat report)"
  sed 5d out >bad
  expect 1 check "${words[@]}" --against "${inputs[@]}" bad
done
sed 's/^logs-web: /logs-app: /' out >bad
expect 1 check "${words[@]}" --against "${inputs[@]}" bad
says 'is no record of the inputs; line [0-9]* of .logs-web. (2026'
expect 2 check --since yesterday a.log
says "'yesterday' is no time"
expect 2 check --prefix-name a.log

expect 2 check --multiline some a.log
expect 2 check --date yesterday a.log
expect 2 "$bin/gpusort_check" --format log --timezone Middle/Earth a.log
says "there is no zone 'Middle/Earth'"
expect 2 check --any-order --against a.log out
says 'any-order has no meaning with --format log; --format lines --any-order compares the lines'
expect 2 check -k time a.log
expect 2 check --time '%Q' a.log
expect 2 "$bin/gpusort_check" --format csv --timezone UTC a.log
says '--timezone has no meaning with --format csv'
expect 4 check no.log
expect 4 check --against no.log a.log
: >empty
expect 0 check empty
expect 0 check --against empty empty
expect 1 check --against empty a.log
echo 'logs_tools: ok'
