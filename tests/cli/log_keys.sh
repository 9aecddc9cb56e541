#!/usr/bin/env bash
# Named fields and typed keys of logs, in all kinds of jobs, compared with expressions of Python.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

cat >make.py <<'END'
"""Writes web.log, sys.log, app.log, json.log and fmt.log: make.py COUNT SEED."""
import datetime
import json
import random
import sys

count, draw = int(sys.argv[1]), random.Random(int(sys.argv[2]))
utc = datetime.timezone.utc
months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()

def time():
    return datetime.datetime(2026, 1, 1, tzinfo=utc) + datetime.timedelta(seconds=draw.randrange(86400 * 60))

def web():
    t = time()
    agent = draw.choice(["-", "curl/8.1", 'Mozilla \\"q\\" (X11; [x])', "a  b"])
    request = draw.choice([f"GET /p{draw.randrange(20)}?a=1 HTTP/1.1", f"POST /x y{draw.randrange(9)} HTTP/2.0", "-",
                           "\\x16\\x03", f"GET /old{draw.randrange(9)}", 'GET /\\"q HTTP/1.0'])
    user = draw.choice(["-", "ann", "john doe", "x y z"])
    more = draw.choice(["", f' "{draw.choice(["-", "http://a/"])}" "{agent}"'])
    return (f"{draw.choice(['10.0.0.', '10.0.1.'])}{draw.randrange(30)} - {user} "
            f"[{t.day:02}/{months[t.month - 1]}/{t:%Y:%H:%M:%S} +0000] \"{request}\" "
            f"{draw.choice([200, 304, 404, 500])} {draw.choice(['-', draw.randrange(10 ** 5)])}{more}\n")

def sys_line():
    t = time()
    tag = draw.choice(["sshd[%d]:", "kernel:", "CRON[%d]:", "postfix/smtp[%d]:"])
    tag = tag % draw.randrange(999) if "%" in tag else tag
    message = draw.choice(["Error: x", "warning y", "nothing", f"delay=0.{draw.randrange(99)}, status=sent"])
    return f"{months[t.month - 1]} {t.day:2} {t:%H:%M:%S} {draw.choice(['web-1', 'db2', 'alert'])} {tag} {message}\n"

def app():
    t = time()
    trace = draw.choice(["", "", "Traceback:\n  File x\nValueError: code=%d\n" % draw.randrange(50)])
    level = draw.choice(["INFO", "ERROR", "WARN"])
    return f"{t:%Y-%m-%d %H:%M:%S},123 {level} worker {draw.randrange(50)} done\n{trace}"

def json_line():
    record = {"ts": time().strftime("%Y-%m-%dT%H:%M:%SZ"), "level": draw.choice(["info", "error"]),
              "http": {"status": draw.choice([200, 404, None])}, "tags": [draw.randrange(9)]}
    if draw.random() < 0.3:
        del record["http"]
    return json.dumps(record) + "\n"

def fmt():
    level = draw.choice(["info", "warn"])
    return (f'level={level} ts={time():%Y-%m-%dT%H:%M:%SZ} msg="no error status={draw.randrange(9)}" '
            f'status={draw.choice([200, 404])} dur={draw.randrange(99)}.5\n')

for name, line in (("web", web), ("sys", sys_line), ("app", app), ("json", json_line), ("fmt", fmt)):
    with open(name + ".log", "w", newline="") as out:
        out.writelines(line() for _ in range(count))
END

cat >order.py <<'END'
"""Sorts the records of a log: order.py LOG OUT KEY... A KEY is the name of a field, with :int or :desc."""
import datetime
import json
import re
import sys

log, out, keys = sys.argv[1], sys.argv[2], sys.argv[3:]
text = open(log, newline="").read()
web = re.compile(r'(?P<host>\S+) (?P<ident>\S+) (?P<user>.*?) \[(?P<time>[^]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" '
                 r'(?P<status>\S+) (?P<bytes>\S+)(?: "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)")?')
request = re.compile(r"(?P<method>\S+) (?P<path>.*?)(?: (?P<protocol>HTTP/\S+))?")

def web_field(line, name):
    found = web.match(line)
    if name in ("method", "path", "protocol"):
        part = request.fullmatch(found["request"])
        return part and part[name]
    value = found["host" if name == "client" else name]
    return None if value == "-" else value

def sys_field(line, name):
    found = re.match(r"(\w+ +\d+ [\d:]+) (?P<host>\S+) (?P<program>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?: "
                     r"(?P<message>.*)", line)
    if name == "level":
        level = re.search(r"(?i)\b(error|warning)\b", found["message"])
        return level and level[0]
    if name in ("delay", "status"):
        pair = re.search(name + "=([^ ,]+)", line)
        return pair and pair[1]
    return found[name]

def app_field(line, name):
    return re.search("INFO|ERROR|WARN", line)[0] if name == "level" else line[24:]

def json_field(line, name):
    value = json.loads(line)
    for step in re.findall(r"[^.\[\]]+", name):
        value = value[int(step)] if step.isdigit() else (value or {}).get(step)
    return None if value is None else str(value)

def fmt_field(line, name):
    names = re.fullmatch(r'level=(?P<level>\S+) ts=\S+ msg="(?P<message>[^"]*)" '
                         r"status=(?P<status>\S+) dur=(?P<dur>\S+)", line)
    return names[name]

field = {"web.log": web_field, "sys.log": sys_field, "app.log": app_field, "json.log": json_field,
         "fmt.log": fmt_field}[log]
records = re.findall(r"2026-.*\n(?:(?!2026-).*\n)*", text) if log == "app.log" else text.splitlines(True)
assert "".join(records) == text

def time_of(line):
    if log == "web.log":
        return datetime.datetime.strptime(web.match(line)["time"], "%d/%b/%Y:%H:%M:%S %z")
    if log == "sys.log":
        return datetime.datetime.strptime("2026 " + line[:15], "%Y %b %d %H:%M:%S")
    return re.search(r"2026-\d\d-\d\d.\d\d:\d\d:\d\d", line)[0]

class Reverse:
    def __init__(self, value):
        self.value = value
    def __lt__(self, other):
        return other.value < self.value
    def __eq__(self, other):
        return other.value == self.value

def part(record, key):
    line = record.split("\n", 1)[0]
    name, *words = key.split(":")
    down = "desc" in words
    if name == "time":
        return (1, Reverse(time_of(line)) if down else time_of(line))
    if name.startswith("~"):
        found = re.search(name[1:], record.removesuffix("\n"))
        value = found and found[1]
    elif name.isdigit():
        words_of_line = line.split()
        value = words_of_line[int(name) - 1] if len(words_of_line) >= int(name) else None
    else:
        value = field(line, name)
    if value is None or value == "":
        return (0 if down else 2,)
    value = float(value) if "int" in words or "decimal" in words else value.encode()
    return (1, Reverse(value) if down else value)

with open(out, "w", newline="") as sorted_log:
    sorted_log.writelines(sorted(records, key=lambda record: [part(record, key) for key in keys]))
END

gpusort() { "$g" --format log --timezone UTC "$@"; }
compare() {
  local log=$1 keys=()
  shift
  for key in "$@"; do keys+=(-k "$key"); done
  python3 order.py "$log" expected "$@"
  for more in '' '--memory 16M --batch-bytes 64K --fan-in 2 --device cpu'; do
    # shellcheck disable=SC2086
    gpusort "${keys[@]}" $more -o out "$log" 2>err || fail "$log $*: $(cat err)"
    cmp -s out expected || fail "$log by $* $more: another order than Python's"
  done
}
count=2000
few && count=600
python3 make.py $count 7
touch -d 2026-04-01 ./*.log
for key in host client user request method path protocol status:int bytes:int:desc referer agent; do
  compare web.log "$key" time
done
compare web.log 11:text status:desc
compare web.log '~ "([A-Z]+) :desc' time:desc
for key in host program pid:int message level delay:decimal status; do compare sys.log "$key" time; done
compare app.log level time
compare app.log message time:desc
compare app.log '~code=([0-9]+):int' time  # in the lines after the first
compare app.log 3:text:desc 5:int
for key in level http.status:int 'tags[0]:int:desc'; do compare json.log "$key" time; done
for key in level message status:int dur:decimal:desc; do compare fmt.log "$key" time; done

# Several logs: records of the others have no status, so they come last, or first in descending order.
gpusort -k status:int:desc -k time -o out web.log app.log 2>err
says "$count records have no field 'status' and are ordered as null"
python3 order.py app.log first time
cmp -n "$(stat -c %s first)" out first || fail 'records without a status are not first'

# Other jobs.
python3 order.py web.log sorted status:int time
gpusort -k status:int -k time --top 50 -o top web.log 2>err
head -n 50 sorted | cmp - top || fail '--top'
gpusort -k status:int -k time --check sorted 2>err || fail "$(cat err)"
expect 1 gpusort -k status:int -k time --check web.log
gpusort -k status:int -k time --resume-dir state -o out web.log 2>err
same out sorted
gzip -k web.log
gpusort -k status:int -k time -o out - <web.log 2>err
same out sorted
gpusort -k status:int -k time -o out web.log.gz 2>err
same out sorted
gpusort -k status:int -u -o once web.log 2>err
[ "$(wc -l <once)" = 4 ] || fail "four kinds of status, and -u keeps $(wc -l <once)"
gpusort -t '"' -k 2:text -o out web.log 2>err

# Keys that are refused.
expect 3 gpusort -k statuss -o none web.log
says "no record has the field 'statuss' (a record has 'status', .*); did you mean status?"
expect 3 gpusort -k https.status -o none json.log
says "(a record has 'http.status'.*did you mean http.status?"
expect 3 gpusort --strict -k referer -o none web.log
says "it has no field 'referer', which is a key"
expect 3 gpusort -k '~nowhere=(.*)' -o none app.log
says "no record matches '~nowhere=(.*)'; a record without it is .2026-"
expect 2 gpusort -k '#3' -o none web.log
says 'records of --format log have no columns by number: give the name of a field, like status'
expect 2 gpusort -k 2,2n -o none web.log
says 'a field by its number needs a type: N:TYPE or N,M:TYPE, like 3:text'
expect 2 gpusort -k time:text -o none web.log
says 'the time of a log is a timestamp: give time, or time:desc'
expect 2 gpusort -k '~(' -o none web.log
says 'the regular expression ( is invalid: missing ): ('
expect 2 gpusort -k a..b -o none web.log
says 'is not NAME.NAME'
expect 2 gpusort -z -k status -o none web.log
[ ! -e none ] || fail 'a refused job made its output'
nothing_left
