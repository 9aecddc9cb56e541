# Tests -m of records whose order must be computed: logs, CSV and JSON Lines are merged from the inputs directly, with
# the bytes that a sort writes.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
cat >make.py <<'END'
"""Writes sorted logs over the new year with records of several lines, CSV with newlines in fields, and JSON."""
import datetime
import os
import random

draw = random.Random(5)
begin = datetime.datetime(2025, 12, 31, 12, tzinfo=datetime.UTC)
for number in range(7):
    t, log, csv, lines = begin, "", "id,when,note\n", ""
    for n in range([0, 1, 7, 1000, 3000, 3000, 1500][number]):
        t += datetime.timedelta(seconds=draw.choice([0, 1, 9]))
        text = "x" * draw.randrange(60)
        log += (f"{t:%b} {t.day:2} {t:%H:%M:%S} host prog: {number} {n} {text}\n" if number % 2 else
                f"{t:%Y-%m-%dT%H:%M:%S}Z INFO {number} {n} {text}\n")
        if draw.random() < 0.2:
            log += f"\tat a.b\nCaused by {n}\n"
        csv += f'{n // 3},{t:%Y-%m-%d %H:%M:%S},"{number}, {text}{chr(10) if n % 5 == 0 else ""}"\n'
        lines += f'{{"n":{number},"id":{n // 3},"text":"{text}"}}\n'
    for ending, all_of_it in (("log", log), ("csv", csv), ("jsonl", lines)):
        with open(f"{number}.{ending}", "w", newline="") as out:
            out.write(all_of_it[:-1] if number == 2 else all_of_it)
        os.utime(f"{number}.{ending}", (t.timestamp() + 60,) * 2)
END
python3 make.py
# from_inputs COUNT OPTION...: -m merges COUNT inputs that lie in no other place, and gives the bytes of a sort.
from_inputs() {
  local count=$1
  shift
  expect 0 "$g" "$@" -m --stats stats.json -o out
  expect 0 "$g" "$@" -o want
  cmp out want || fail "-m differs: $*"
  python3 - "$count" <<'END' || fail "not merged from the inputs: $* $(cat stats.json)"
import json
import sys
runs = json.load(open("stats.json"))["tiers"]
sys.exit(runs["input"] != int(sys.argv[1]) or runs["device"] + runs["host"] + runs["temp"] != 0)
END
}
log=(--format log --timezone UTC)
for options in '' '-u --prefix-name' '--top 100' '--since 2025-12-31T15:00 --threads 1'; do
  # shellcheck disable=SC2086
  from_inputs 6 "${log[@]}" --memory 16M $options [0-6].log
done
from_inputs 6 --format csv -k id:int -k when:timestamp --memory 16M [0-6].csv
from_inputs 6 --format jsonl -k id:int [0-6].jsonl
from_inputs 12 "${log[@]}" [0-6].log [0-6].log
"$g" "${log[@]}" -m --explain -o out [0-6].log | grep -q 'keys are made while the inputs are read' || fail "no merge"

# More inputs than one merge takes.
for n in {1..60}; do echo "2026-01-01T00:00:$((n % 50 + 10))Z $n" >"many-$n"; done
expect 0 "$g" "${log[@]}" -m --memory 8M --fan-in 3 -o out many-*
expect 0 "$g" "${log[@]}" -o want many-*
same out want

# An input that is out of order, or that cannot be read, is an error with its place, and there is no output.
{ cat 4.log; sed -n 100,101p 4.log; } >bad.log
touch -r 4.log bad.log
rm out
expect 3 "$g" "${log[@]}" -m -o out 3.log bad.log
lines=$(wc -l <4.log)
where="record 3001, line $((lines + 1)), byte $(stat -c %s 4.log)"
says "bad.log: not sorted: $where sorts before .*; sort it without -m"
{ cat 5.csv; echo '3000,2026-02-01,"open'; } >bad.csv
expect 3 "$g" -k id:int -m -o out 3.csv bad.csv
says 'bad.csv: record 3001, line .*: a quote is opened in this record and not closed'
expect 3 "$g" --format csv -k note:int -m -o out 3.csv 5.csv
says 'note'
[ ! -e out ] || fail 'an output after an error'

# A record that is longer than the blocks of the merge.
{ head -n 30 4.log; head -c 3000000 /dev/zero | tr '\0' x | fold -w 100000; echo; tail -n 5 4.log; } >long.log
touch -r 4.log long.log
from_inputs 3 "${log[@]}" --memory 256M --max-record 3M long.log 5.log 6.log
# If memory is refused to so many long records at once, the inputs are sorted.
for n in {1..20}; do cp -p long.log "long-$n"; done
expect 0 "$g" "${log[@]}" --memory 66M --max-record 3M -m -o out long-*
says 'merging all inputs at once was refused memory'
expect 0 "$g" "${log[@]}" --max-record 3M -o want long-*
same out want
nothing_left
