# labels: any_build brief
# Tests the logs that gpusort_gen writes, with a parser in Python.
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
for kind in "${kinds[@]}"; do
  "$gen" --type "$kind" --bytes 1000K --dist sorted "$kind"
  size=$(stat -c %s "$kind")
  [ "$size" -le 1024000 ] && [ "$size" -gt 1022000 ] || fail "$kind has $size bytes"
  [ "$(date -u -r "$kind" +%F)" = 2026-11-22 ] || fail "$kind is of another day"
  "$gen" --type "$kind" --bytes 1000K --dist sorted --threads 3 - | cmp - "$kind" || fail "$kind differs in a pipe"
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
  "$gen" --type "$kind" --bytes 1000K any
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
echo 'logs_tools: ok'
