"""Compares gpusort_task with gpusort for random logs, options, slices and parts. Both must give the same bytes.

Usage: task_logs_random.py BIN COUNT [SEED]. A failing job is printed, and its files stay.
"""
import datetime
import glob
import gzip
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

from logs_random import UTC, line_of, parts, write_log

CLOCKS = ["{c} text {n}", "{c}.{ms} [{l}] text {n}", "[{c}] {l} n={n}"]
FIELDS = [["-k", "level"], ["-k", "level:severity", "-k", "time"], ["-k", "n:int:desc"], ["-k", "~text ([0-9]+):int"],
          ["-k", "3"], ["-k", "4,5", "-k", "time:desc"], ["-k", "host", "-k", "pid:int"], ["-k", "message"], ["-k", "status:int", "-k", "time"]]
QUICK = ["--memory", "16M", "--no-fsync", "--log-level", "error"]


def write_clocks(path, draw):
    """Writes a log whose times have no date, over several days."""
    name, t = draw.choice(CLOCKS), datetime.datetime(2026, 3, 27, 20, tzinfo=UTC)
    step = draw.choice([1, 60, 3000])
    with open(path, "w", newline="") as out:
        for number in range(draw.choice([2, 30, 400, 3000])):
            t += datetime.timedelta(seconds=draw.choice([0, step, 2 * step]))
            back = datetime.timedelta(seconds=draw.choice([0, 0, 0, step]))
            out.write(name.format(**parts(t - back, draw)) + "\n")
            while number > 0 and draw.random() < 0.1:
                out.write(draw.choice(["\tat org.example.Main.run(Main.java:7)\n", "\n", "  indented\n", "}\n"]))
    os.utime(path, (t.timestamp() + 60, t.timestamp() + 60))
    return t


def write_years(path, draw):
    """Writes a log without years, over several years and with long steps."""
    name, t = draw.choice(["rfc3164", "glog", "logcat", "short-precise"]), datetime.datetime(2024, 11, 2, tzinfo=UTC)
    step = draw.choice([600, 86400, 5 * 86400])
    with open(path, "w", newline="") as out:
        for _ in range(draw.choice([2, 30, 400])):
            t += datetime.timedelta(seconds=draw.choice([0, step, 2 * step]))
            out.write(line_of(name, t - datetime.timedelta(seconds=draw.choice([0, 0, 0, step])), draw))
    os.utime(path, (t.timestamp() + 60, t.timestamp() + 60))
    return t


class Failed(Exception):
    pass


class Job:
    def __init__(self, bin_folder, draw, folder):
        self.bin, self.draw, self.folder, self.done = bin_folder, draw, folder, False

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, program, *words, codes=(0,)):
        done = subprocess.run([os.path.join(self.bin, program), *words], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            raise Failed(f"{program} {shlex.join(words)}: exit {done.returncode}: {done.stderr[-600:]}")
        return done

    def choose(self):
        """Sets the options and the inputs of the job."""
        draw = self.draw
        zone = draw.choice(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
        self.logs = [f"{number}.log" for number in range(draw.choice([1, 1, 2, 3, 6]))]
        rules = draw.choice([[], [], ["--year", "2024"], ["--date", "2026-03-27"], ["--multiline", "none"], ["--multiline", "indent"],
                             ["--multiline", "none", "--date", "2026-10-24"]])
        write = {"--year": write_years, "--date": write_clocks}
        writes = [write[rule] for rule in rules if rule in write] or [write_log]
        times = [draw.choice([*writes, *writes, write_log])(self.path(log), draw) for log in self.logs]
        order = draw.choice([[], [], ["-r"], *FIELDS])
        keys = bool(order) and order != ["-r"]
        self.groups = draw.choice([[], [], [], ["-u"], ["--count"], ["--only-unique"], ["--minus", self.logs[-1]]])
        if keys and not self.groups and draw.random() < 0.2:
            self.groups = ["--sum", "n"]
        top = draw.choice([[], [], [], ["--top", str(draw.choice([1, 50, 10**6]))]])
        if "--count" in self.groups and top and draw.random() < 0.5:
            top += ["--by", "count"]
        window = []
        if draw.random() < 0.2:
            bound = draw.choice(times) - datetime.timedelta(seconds=draw.randrange(86400))
            window = [draw.choice(["--since", "--until"]), f"{bound:%Y-%m-%dT%H:%M:%S}Z"]
        if draw.random() < 0.25:
            window.append("--prefix-name")
        self.inputs = list(self.logs)
        if draw.random() < 0.3:
            facts = os.stat(self.path(self.logs[0]))
            self.inputs[0] += ".gz"
            with open(self.path(self.logs[0]), "rb") as file, open(self.path(self.inputs[0]), "wb") as out:
                out.write(gzip.compress(file.read(), mtime=0))
            os.utime(self.path(self.inputs[0]), (facts.st_atime, facts.st_mtime))
        self.options = ["--format", "log", "--timezone", zone, *rules, *order, *self.groups, *top, *window]
        self.one_file = top or not self.groups

    def compare(self):
        draw = self.draw
        one = self.run("gpusort", *QUICK, "-o", "want", *self.options, *self.inputs, codes=(0, 2, 3))
        slices = draw.choice([1, 2, 3, 5, 9]) + ("--minus" in self.groups)
        parts = draw.choice([1, 2, 3, 5])
        scans = draw.choice([0, 0, 1, slices])
        tasks = [("scan", k) for k in range(scans)]
        draw.shuffle(tasks)
        order = list(range(slices))
        draw.shuffle(order)
        # Some slices are scanned when others are sorted already.
        where = draw.randrange(slices)
        tasks = [("runs", k) for k in order[:where]] + tasks + [("runs", k) for k in order[where:]]
        for what, k in tasks:
            words = [what, "--slice", f"{k}/{slices}", "--into", "job", *QUICK, *self.options, *self.inputs]
            done = self.run("gpusort_task", *words, codes=(0, one.returncode))
            if done.returncode != 0:
                return
        cut = self.run("gpusort_task", "cut", "--parts", str(parts), *QUICK[-2:], "job", codes=(0, one.returncode))
        if cut.returncode != 0:
            return
        if one.returncode != 0:
            raise Failed(f"gpusort refuses what tasks do: {one.stderr}")
        way = draw.choice(["one.gz", "folder/", "one", "pieces", "pieces.gz"])
        if not self.one_file and way in ("one", "pieces"):
            way = "one.gz"
        if way == "folder/":
            os.mkdir(self.path("folder"))
        numbers = list(range(parts))
        draw.shuffle(numbers)
        for j in numbers:
            more = self.pieces(j, slices, parts, way) if way.startswith("pieces") else []
            self.run("gpusort_task", "part", "--part", f"{j}/{parts}", *QUICK, *more, "job", way)
        self.run("gpusort_task", "prove", "--parts", str(parts), *QUICK[-2:], "job", way)
        with open(self.path("want"), "rb") as file:
            want = file.read()
        got = b""
        for name in sorted(glob.glob(self.path(way, "part-*") if way == "folder/" else self.path(way))):
            with open(name, "rb") as file:
                bytes_ = file.read()
            got += gzip.decompress(bytes_) if way.endswith(".gz") else bytes_
        if got != want:
            raise Failed(f"{slices} slices and {parts} parts to {way} differ")
        self.done = True

    def pieces(self, part, slices, parts, way):
        """Copies the pieces of the runs that a part needs. Returns the options for them."""
        shutil.rmtree(self.path("pieces.d"), ignore_errors=True)
        os.mkdir(self.path("pieces.d"), 0o700)
        before = 0
        for k in range(slices):
            said = self.run("gpusort_task", "borders", "--run", str(k), "--parts", str(parts), *QUICK[-2:], "job").stdout
            lines = [[int(word) for word in line.split()] for line in said.splitlines()]
            before += lines[part][1]
            with open(self.path("job", f"run-{k:05}"), "rb") as run:
                run.seek(lines[part][0])
                piece = run.read(lines[part + 1][0] - lines[part][0])
            if piece:
                with open(self.path("pieces.d", f"run-{k:05}"), "wb") as out:
                    out.write(piece)
        return ["--pieces", "pieces.d", *([] if way.endswith(".gz") else ["--offset", str(before)])]


def main():
    count, seed = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**9)
    same = 0
    for number in range(seed, seed + count):
        folder = tempfile.mkdtemp(prefix="gpusort-logs-")
        job = Job(os.path.abspath(sys.argv[1]), random.Random(number), folder)
        job.choose()
        try:
            job.compare()
        except Failed as failed:
            sys.exit(f"FAIL: seed {number} in {folder}: {shlex.join([*job.options, *job.inputs])}: {failed}")
        same += job.done
        shutil.rmtree(folder)
    print(f"{count} jobs from seed {seed}, {same} of them with an output: ok")


if __name__ == "__main__":
    main()
