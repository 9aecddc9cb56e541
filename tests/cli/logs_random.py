"""Compares gpusort --format log with gpusort_check: random logs of many families, random options, plans that spill.

Usage: logs_random.py BIN COUNT [SEED [merge]], or logs_random.py --families COUNT, which writes a log of each family
and prints their names. With `merge`, every job merges sorted logs (-m), and its output must be that of the same job
without -m. A failing job is printed, and its files stay.
"""
import datetime
import gzip
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

UTC = datetime.UTC
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def parts(t, draw):
    return {"Y": f"{t:%Y}", "m": f"{t:%m}", "d": f"{t:%d}", "e": f"{t.day:2}", "b": MONTHS[t.month - 1],
            "a": DAYS[t.weekday()], "c": f"{t:%H:%M:%S}", "h": f"{t:%H%M%S}",
            "i": f"{t.hour % 12 or 12}:{t:%M:%S} {'AM' if t.hour < 12 else 'PM'}",
            "f": f"{t.microsecond:06}", "ms": f"{t.microsecond // 1000:03}", "s": int(t.timestamp()), "y": f"{t:%y}",
            "n": draw.randrange(100000), "x": f"{int(t.timestamp()):08x}", "fx": f"{t.microsecond * 1000:08x}",
            "l": draw.choice(["INFO", "WARN", "ERROR", "DEBUG"])}


FAMILIES = {
    "rfc5424": "<34>1 {Y}-{m}-{d}T{c}.{ms}Z host app 7 ID{n} - text {n}",
    "basic": "{Y}{m}{d}T{h} text {n}",
    "rfc3164": "<13>{b} {e} {c} host prog[{n}]: text",
    "apache-error": "[{a} {b} {d} {c}.{f} {Y}] [core:error] [pid {n}] text",
    "nginx-error": "{Y}/{m}/{d} {c} [error] 12#12: *{n} open() failed",
    "samba": "[{Y}/{m}/{d} {c}.{f},  3] ../source3/smbd.c:{n}(reply)\n  text {n}",
    "rfc2822": "{a}, {d} {b} {Y} {c} +0100 text {n}",
    "rfc1123": "{a}, {d} {b} {Y} {c} GMT text {n}",
    "log4j": "{Y}-{m}-{d} {c},{ms} ERROR [main] shop - text {n}\n\tat a.b(C.java:{n})",
    "jul": "{b} {d}, {Y} {i} org.example.Main run\nINFO: text {n}",
    "tomcat": "{d}-{b}-{Y} {c}.{ms} INFO [main] org.apache {n}",
    "glog": "E{m}{d} {c}.{f}  4711 file.cc:{n}] text",
    "logcat": "{m}-{d} {c}.{ms}  1234  1234 I Tag: text {n}",
    "squid": "{s}.{ms}     12 10.0.0.1 TCP_MISS/200 {n} GET http://x/",
    "audit": "type=SYSCALL msg=audit({s}.{ms}:{n}): arch=c000003e",
    "redis": "4711:M {d} {b} {Y} {c}.{ms} * text {n}",
    "strace": "{s}.{f} open({n}) = 3",
    "slapd": "{x}.{fx} 0x7f0a1b2c3d4e conn={n} op=1 BIND",
    "postgres": "{Y}-{m}-{d} {c}.{ms} CET [{n}] LOG:  text\n\tFROM t",
    "mysql": "{Y}-{m}-{d}T{c}.{f}Z {n} [System] [MY-010116] text",
    "mariadb": "{Y}-{m}-{d} {c} {n} [Note] text",
    "mysql-old": "{y}{m}{d} {c} mysqld_safe text {n}",
    "mongodb": '{{"t":{{"$date":"{Y}-{m}-{d}T{c}.{ms}+00:00"}},"s":"I","id":{n}}}',
    "docker": '{{"log":"text {n}\\n","stream":"stdout","time":"{Y}-{m}-{d}T{c}.{f}789Z"}}',
    "cri": "{Y}-{m}-{d}T{c}.{f}123Z stdout F text {n}",
    "short-iso": "{Y}-{m}-{d}T{c}+0100 host prog[{n}]: text",
    "short-precise": "{b} {d} {c}.{f} host prog[{n}]: text",
    "journal": '{{"MESSAGE":"text {n}","__REALTIME_TIMESTAMP":"{s}{f}"}}',
    "logfmt": "level=info ts={Y}-{m}-{d}T{c}.{ms}Z msg=text n={n}",
    "logrus": 'time="{Y}-{m}-{d}T{c}+02:00" level=info msg="text {n}"',
    "zap": '{{"level":"info","ts":{s}.{f},"msg":"text {n}"}}',
    "bunyan": '{{"@timestamp":"{Y}-{m}-{d}T{c}.{ms}Z","n":{n}}}',
    "millis": '{{"timestamp":{s}{ms},"n":{n}}}',
    "python": "{Y}-{m}-{d} {c},{ms} - shop - ERROR - text {n}\nTraceback (most recent call last):\nValueError: {n}",
    "airflow": "[{Y}-{m}-{d} {c},{ms}] {{taskinstance.py:{n}}} INFO - text",
    "gunicorn": "[{Y}-{m}-{d} {c} +0000] [{n}] [INFO] text",
    "go": "{Y}/{m}/{d} {c} text {n}",
    "gin": "[GIN] {Y}/{m}/{d} - {c} | 200 | {n}ms",
    "vsftpd": "{a} {b} {e} {c} {Y} [pid {n}] CONNECT",
    "date": "{a} {b} {e} {c} UTC {Y} text {n}",
    "elb": "http {Y}-{m}-{d}T{c}.{f}Z app/lb/{n} 10.0.0.1:80",
    "s3": 'owner bucket [{d}/{b}/{Y}:{c} +0000] 10.0.0.1 - {n} REST.GET.OBJECT key',
    "compose": "web-1  | {Y}-{m}-{d}T{c}.{f}Z text {n}",
    "haproxy": "{b} {e} {c} lb haproxy[14]: 10.0.0.1:{n} [{d}/{b}/{Y}:{c}.{ms}] front",
    "hdfs": "{y}{m}{d} {h} 143 INFO dfs.DataNode$DataXceiver: block {n}",
    "phone": "{Y}{m}{d}-{c}:{ms}|Step_LSC|30002312|text {n}",
    "windows": "{Y}-{m}-{d} {c}, Info                  CBS    text {n}",
    "super": "- {s} {Y}.{m}.{d} R02-M1 RAS KERNEL INFO text {n}",
    "nova": "nova-api.log.1.2017-05-16_13:53:08 {Y}-{m}-{d} {c}.{ms} 25746 INFO text {n}",
    "aligned": "{l:>5} {Y}-{m}-{d} {c},{ms} [main] text {n}",
    "level": "{l:<5} [main] {Y}-{m}-{d} {c},{ms} text {n}",
    "iis": "{Y}-{m}-{d} {c} W3SVC1 GET /{n} 200",
}
MORE = ["\tat org.example.Main.run(Main.java:7)\n", "\n", "Caused by: x.Error: text\n", "  indented\n", "}\n"]


def line_of(name, t, draw):
    """Returns the record of a family at a time."""
    return FAMILIES[name].format(**parts(t, draw)) + "\n"


def write_families(count):
    draw = random.Random(11)
    begin = datetime.datetime(2026, 3, 2, tzinfo=UTC)
    for name in FAMILIES:
        with open(name + ".log", "w", newline="") as out:
            for number in range(count):
                # Mostly in order, because a number that does not grow is no time.
                seconds = number * 997 + draw.randrange(2500)
                out.write(line_of(name, begin + datetime.timedelta(0, seconds, draw.randrange(10**6)), draw))
        print(name + ".log")


def write_log(path, draw):
    """Writes a log with steps of the clock near its times, stack traces, and ends of lines of all kinds."""
    name = draw.choice(list(FAMILIES))
    begin = draw.choice(["2026-03-28", "2026-10-24", "2026-06-01", "2025-12-30", "2026-03-07", "2026-11-01"])
    t = datetime.datetime.fromisoformat(begin).replace(tzinfo=UTC)
    step, share = draw.choice([0.0001, 1, 60, 600]), draw.choice([0, 0, 0.2, 0.5])
    text = "opened by a program\n" if draw.random() < 0.1 else ""
    for number in range(draw.choice([2, 3, 30, 400, 400, 3000, 20000])):
        back = draw.choice([0, 0, 0, 0, step, 4 * step])
        t += datetime.timedelta(seconds=draw.choice([0, step, 2 * step]))
        text += line_of(name, t - datetime.timedelta(seconds=back), draw)
        while number > 0 and draw.random() < share and not FAMILIES[name].startswith("{{"):
            text += draw.choice(MORE)
    if draw.random() < 0.1:
        text = text.replace("\n", "\r\n")
    if draw.random() < 0.1:
        text = text[:-1]
    with open(path, "w", newline="") as out:
        out.write(text)
    changed = t.timestamp() + draw.choice([60, 86400, 30 * 86400])
    os.utime(path, (changed, changed))
    return t


def same(folder, one, other):
    with open(os.path.join(folder, one), "rb") as a, open(os.path.join(folder, other), "rb") as b:
        return a.read() == b.read()


def random_job(bin_folder, draw, folder, merge):
    """Runs one job and checks it. Returns the command that failed, or None."""
    zone = draw.choice(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"])
    rules = draw.choice([[], [], [], ["--year", "2026"], ["--multiline", "none"], ["--multiline", "indent"]])
    common = ["--format", "log", "--timezone", zone, *rules]
    logs = [f"{number}.log" for number in range(draw.choice([1, 2, 3, 6]))]
    times = [write_log(os.path.join(folder, log), draw) for log in logs]
    order = draw.choice([[], [], [], ["-r"], ["-u"]])
    if draw.random() < 0.3:
        order = [*order, "--prefix-name"]
    bound = draw.choice(times) - datetime.timedelta(seconds=draw.randrange(86400))
    if draw.random() < 0.3:
        order = [*order, draw.choice(["--since", "--until"]), f"{bound:%Y-%m-%dT%H:%M:%S}Z"]
    plan = draw.choice([[], ["--memory", "24M", "--block-size", "4K"], ["--threads", "1"],
                        ["--memory", "16M", "--batch-bytes", "64K", "--fan-in", "2"]])

    def run(program, *words):
        command = [os.path.join(bin_folder, program), *common, *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else f"{shlex.join(command)}: exit {done.returncode}: {done.stderr[-600:]}"

    if merge or (draw.random() < 0.3 and "-r" not in order):
        for log in logs:
            reverse = ["-r"] if "-r" in order else []
            if problem := run("gpusort", *reverse, "-o", "sorted", log):
                return problem
            facts = os.stat(os.path.join(folder, log))
            os.rename(os.path.join(folder, "sorted"), os.path.join(folder, log))
            os.utime(os.path.join(folder, log), (facts.st_atime, facts.st_mtime))
        # Another hour may occur twice in the order of the sort than in that of the log.
        if all(run("gpusort", *reverse, "-c", log) is None for log in logs):
            plan = [*plan, "-m"]
    if merge:
        if "-m" not in plan:
            return None
        problem = run("gpusort", *order, *plan, "-o", "out", *logs)
        plan.remove("-m")
        problem = problem or run("gpusort", *order, *plan, "-o", "sorted", *logs)
        differs = f"{shlex.join([*common, *order, *plan, *logs])}: -m differs"
        return problem or (None if same(folder, "out", "sorted") else differs)
    inputs = list(logs)
    if draw.random() < 0.3 and "--prefix-name" not in order:
        facts = os.stat(os.path.join(folder, logs[0]))
        inputs[0] += ".gz"
        with open(os.path.join(folder, logs[0]), "rb") as file:
            packed = gzip.compress(file.read())
        with open(os.path.join(folder, inputs[0]), "wb") as out:
            out.write(packed)
        os.utime(os.path.join(folder, inputs[0]), (facts.st_atime, facts.st_mtime))
    check = ["gpusort_check", *order, "--threads", str(draw.choice([1, 3])), "--against", *logs, "out"]
    if draw.random() < 0.2:
        problem = run("gpusort", *order, *plan, "--split", "3", "-o", "part", *inputs)
        parts = sorted(name for name in os.listdir(folder) if name.startswith("part-"))
        with open(os.path.join(folder, "out"), "wb") as out:
            for part in parts:
                with open(os.path.join(folder, part), "rb") as one:
                    out.write(one.read())
    else:
        problem = run("gpusort", *order, *plan, "-o", "out", *inputs)
    return problem or run(*check)


def main():
    if sys.argv[1] == "--families":
        write_families(int(sys.argv[2]))
        return
    count, seed = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**9)
    merge = len(sys.argv) > 4 and sys.argv[4] == "merge"
    for number in range(seed, seed + count):
        folder = tempfile.mkdtemp(prefix="gpusort-logs-")
        problem = random_job(os.path.abspath(sys.argv[1]), random.Random(number), folder, merge)
        if problem:
            sys.exit(f"FAIL: seed {number} in {folder}: {problem}")
        shutil.rmtree(folder)
    print(f"{count} jobs from seed {seed}: ok")


if __name__ == "__main__":
    main()
