#!/usr/bin/env bash
# labels: any_build brief
# Logs as programs write them themselves: Python's logging and logger(1). Local times around changes of the clocks,
# against Python's zoneinfo. A merged log, divided by its sources again. Many inputs, many forms, rubbish, long lines.
. "$2/tests/cli/common.sh.inc"
seed=${GPUSORT_SEED:-1}
gpusort() { "$bin/gpusort" --format log "$@"; }

# Python's logging, with tracebacks, in the formats that its documentation and popular programs use. The clock is set.
cat >made.py <<'EOF'
"""made.py SEED: writes NAME.log in several formats and NAME.want, the same records by time."""
import logging
import random
import sys
import time

draw = random.Random(int(sys.argv[1]))
logging.Formatter.converter = time.localtime
FORMATS = {
    "basic": ("%(asctime)s %(levelname)s %(message)s", None),
    "names": ("%(asctime)s - %(name)s - %(levelname)s - %(message)s", None),
    "level": ("%(levelname)-8s %(asctime)s %(name)s: %(message)s", None),
    "zone": ("[%(asctime)s] [%(process)d] [%(levelname)s] %(message)s", "%Y-%m-%d %H:%M:%S %z"),
    "iso": ("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"),
    "clf": ("[%(asctime)s] %(message)s", "%d/%b/%Y:%H:%M:%S %z"),
    "syslog": ("%(asctime)s host %(name)s[%(process)d]: %(message)s", "%b %d %H:%M:%S"),
    "epoch": ("%(created)f %(levelname)s %(message)s", None),
    "json": ('{"level": "%(levelname)s", "time": "%(asctime)s", "message": "%(message)s"}', "%Y-%m-%dT%H:%M:%S%z"),
    "logfmt": ("ts=%(asctime)s level=%(levelname)s msg=\"%(message)s\"", "%Y-%m-%dT%H:%M:%S%z"),
}

def fail():
    try:
        try:
            {}["key"]
        except KeyError as error:
            raise ValueError("a message\nof two lines") from error
    except ValueError:
        return sys.exc_info()

for name, (form, date) in FORMATS.items():
    formatter = logging.Formatter(form, date)
    exact = "%(created)f" in form or date is None
    begin, records = 1769000000, []  # in January, without a change of the clocks in any zone of the test
    for number in range(300):
        record = logging.LogRecord("shop.pay", draw.choice([20, 30, 40]), "/a.py", 1, f"record {number}", None,
                                   fail() if name != "json" and draw.random() < 0.3 else None)
        record.created = begin + draw.randrange(3000000) + draw.randrange(1000) / 1000
        record.msecs = int(round(record.created % 1 * 1000))
        records.append((record.created if exact else int(record.created), formatter.format(record) + "\n"))
    for suffix, ordered in (".log", records), (".want", sorted(records, key=lambda record: record[0])):
        with open(name + suffix, "w") as out:
            out.writelines(text for _, text in ordered)
EOF
for zone in UTC Europe/Berlin America/St_Johns; do
  export TZ=$zone
  python3 made.py "$seed"
  for log in *.log; do
    touch -d 2026-03-01 "$log"
    expect 0 gpusort -o out "$log"
    same out "${log%.log}.want"
  done
done
export TZ=UTC
# logger writes the time of now.
write=(logger --no-act -s -d -n 127.0.0.1 -t prog)
if "${write[@]}" x 2>/dev/null; then
  export TZ=Asia/Tokyo
  since=$(date -d -5seconds +%FT%T)
  for options in '' --rfc3164 --rfc5424; do
    for i in 1 2 3; do
      # shellcheck disable=SC2086
      "${write[@]}" $options -- "text $i"
    done 2>logger.log
    expect 0 gpusort --since "$since" --until "$(date -d +5seconds +%FT%T)" -o out logger.log
    same out logger.log
    [ -s out ] || fail "logger $options: $(cat logger.log err)"
  done
  export TZ=UTC
fi

# Local times around changes of the clocks. A program writes growing times, so an hour that occurs twice shows a step
# back. Times that do not exist are moved forward, as zoneinfo does for fold=0.
cat >clocks.py <<'EOF'
"""clocks.py BIN COUNT SEED: sorts logs of local times around a change of the clocks, and divides the result again."""
import datetime
import os
import random
import subprocess
import sys
import zoneinfo

UTC = datetime.timezone.utc
ZONES = ["Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Sao_Paulo",
         "America/Havana", "Asia/Tehran", "Asia/Jerusalem", "Asia/Gaza", "Australia/Lord_Howe", "Australia/Adelaide",
         "Pacific/Auckland", "Pacific/Chatham", "Africa/Cairo", "America/Santiago", "Asia/Amman", "Europe/Chisinau"]


def offset(zone, seconds):
    return datetime.datetime.fromtimestamp(seconds, zone).utcoffset().total_seconds()


def changes(zone, year):
    """Returns the seconds in UTC at which the clocks change in a year."""
    at = int(datetime.datetime(year, 1, 1, tzinfo=UTC).timestamp())
    found = []
    for begin in range(at, at + 366 * 86400, 86400):
        low, high = begin, begin + 86400
        if offset(zone, low) == offset(zone, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if offset(zone, middle) != offset(zone, low) else (middle, high)
        found.append(high)
    return found


def records(draw, zone, change, name):
    """Returns (time in UTC, text) of a log that goes through the change, and whether all its local times exist."""
    at, made = change - draw.randrange(3 * 3600, 6 * 3600), []
    while at < change + 4 * 3600 and len(made) < 400:
        at += draw.choice([0, 1, 7, 60, 300, draw.randrange(1, 1000)])
        local = datetime.datetime.fromtimestamp(at, zone).replace(tzinfo=None)
        more = draw.choice(["", "", "\tat a.b(C.java:1)\n", "  text\n\n"])
        made.append((at, f"{local:%Y-%m-%d %H:%M:%S} {name} {len(made)}\n{more}"))
    return made


def skipped(draw, zone, change):
    """Returns (time in UTC, text) of local times that the clocks leave out, and of some around them."""
    gap = int(offset(zone, change) - offset(zone, change - 1))
    made = []
    for number in range(50):
        seconds = change + offset(zone, change - 1) + draw.randrange(-gap, 2 * gap)
        local = datetime.datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
        made.append((local.replace(tzinfo=zone, fold=0).timestamp(), f"{local:%Y-%m-%d %H:%M:%S} skipped {number}\n"))
    return made


def sort(inputs, name, *options):
    done = subprocess.run([sys.argv[1], "--format", "log", "--timezone", name, *options, "-o", "out", *inputs],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, (inputs, name, done.stderr)
    with open("out") as file:
        return file.read()


def check(seed):
    draw = random.Random(seed)
    name = draw.choice(ZONES)
    zone = zoneinfo.ZoneInfo(name)
    found = []
    while not found:
        found = changes(zone, draw.randrange(1996, 2026))
    change = draw.choice(found)
    logs = {f"{letter}.txt": records(draw, zone, change, letter) for letter in "abc"[:draw.choice([1, 2, 3])]}
    for path, made in logs.items():
        with open(path, "w") as out:
            out.writelines(text for _, text in made)
    every = sorted((record for made in logs.values() for record in made), key=lambda record: record[0])
    for options in [], ["-m"]:
        assert sort(logs, name, *options) == "".join(text for _, text in every), (seed, name, change, options)
    # Without the names before the records, the records of each input are the input.
    parts = {path: "" for path in logs}
    path = None
    for line in sort(logs, name, "--prefix-name").splitlines(True):
        if line[5:7] == ": " and line[:5] in parts:
            path, line = line[:5], line[7:]
        parts[path] += line
    for path in logs:
        with open(path) as file:
            assert file.read() == parts[path], (seed, name, change, path)
    if offset(zone, change) > offset(zone, change - 1):
        made = skipped(draw, zone, change)
        with open("skipped.txt", "w") as out:
            out.writelines(text for _, text in made)
        want = "".join(text for _, text in sorted(made, key=lambda record: record[0]))
        assert sort(["skipped.txt"], name) == want, (seed, name, change)


for number in range(int(sys.argv[3]), int(sys.argv[3]) + int(sys.argv[2])):
    check(number)
EOF
python3 clocks.py "$bin/gpusort" "$(few && echo 15 || echo 150)" "$seed" || fail "a change of the clocks"

# 1,000 inputs of five forms, in little memory.
mkdir many
python3 - <<'EOF'
import datetime
forms = ["%Y-%m-%dT%H:%M:%SZ x {n}", "[%d/%b/%Y:%H:%M:%S +0000] x {n}", "%Y/%m/%d %H:%M:%S x {n}",
         '{{"time":"%Y-%m-%dT%H:%M:%SZ","n":{n}}}', "%a, %d %b %Y %H:%M:%S GMT x {n}"]
begin, want = datetime.datetime(2026, 11, 23, tzinfo=datetime.timezone.utc), []
for n in range(1000):
    with open(f"many/{n:04}.log", "w") as out:
        for i in range(3):
            at = begin + datetime.timedelta(seconds=(n * 7919 + i * 100003) % 300000)
            want.append((at, at.strftime(forms[n % 5]).format(n=n) + "\n"))
            out.write(want[-1][1])
with open("want", "w") as out:
    out.writelines(line for _, line in sorted(want, key=lambda record: record[0]))
# 20,000 changes of the form in one input.
with open("changes.log", "w") as out, open("changes.want", "w") as ordered:
    lines = [(begin + datetime.timedelta(seconds=(n * 7919) % 86400)).strftime(forms[n % 4]).format(n=n) + "\n"
             for n in range(20000)]
    out.writelines(lines)
    ordered.writelines(line for _, line in sorted(enumerate(lines), key=lambda pair: (pair[0] * 7919) % 86400))
EOF
# memory MIB OPTION...: a job in so much memory. A process may take 64 MiB more, for its code and its stacks.
cat >peak.py <<'EOF'
"""peak.py MIB COMMAND...: runs the command. Ends with its exit code, or with 99 if it took more memory."""
import resource
import subprocess
import sys

code = subprocess.run(sys.argv[2:], check=False).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
if peak > int(sys.argv[1]) * 1024:
    sys.exit(f"{peak} KiB of memory")
sys.exit(code)
EOF
memory() {
  local limit=$(($1 + 64))
  ! sanitized || limit=100000
  python3 peak.py $limit "$bin/gpusort" --format log --timezone UTC --memory "$1M" "${@:2}"
}
expect 0 memory 64 -o out many/*.log
same out want
expect 0 memory 64 -o out changes.log
same out changes.want
# Rubbish is refused, also in a log of which a form is known.
head -c 1000000 /dev/urandom >rubbish.log
expect 3 memory 64 -o out rubbish.log
says 'rubbish.log'
{ head -c 300000 /dev/zero | tr '\0' x; echo; head -c 700000 /dev/urandom; } >rubbish.log
expect 3 memory 64 -o out rubbish.log
# A line of 20 MB: refused if it is longer than --max-record, otherwise in its place, with a time and without one.
long() { printf '%s' "$1"; head -c 20000000 /dev/zero | tr '\0' x; echo; }
a='2026-11-23 10:00:00 a' b='2026-11-23 10:00:02 b'
{ echo "$b"; long ''; echo "$a"; } >part.log
{ echo "$a"; echo "$b"; long ''; } >part.want
{ echo "$b"; long '2026-11-23 10:00:01 '; echo "$a"; } >record.log
{ echo "$a"; long '2026-11-23 10:00:01 '; echo "$b"; } >record.want
for name in part record; do
  expect 3 memory 64 -o out $name.log
  says "$name.log.* longer than 16777216 bytes\|$name.log: .*--max-record"
  expect 0 memory 600 --max-record 32M -o out $name.log
  same out $name.want
done
nothing_left
echo "logs_made: ok"
