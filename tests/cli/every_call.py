"""Small jobs in which the n-th system call, or the n-th allocation of memory, fails, once or from then on.

Usage: every_call.py GPUSORT LIBRARY [COUNT [SEED]]     COUNT faults (0: all), chosen by SEED
       every_call.py GPUSORT LIBRARY JOB KIND ERROR N+  one: the N-th call of KIND fails, with + all from there on
LIBRARY is libfail_calls.so.
Behind that: --preload LIBRARIES, which come first, and give memory that is never refused; --jobs A,B and --kinds A,B take
only these; --all goes on behind a failure; --say lists what was answered, and how often.
Whatever fails: the right bytes and exit 0, or a documented exit code, one line that says what happened, the old output
as it was, nothing left behind; and a job with --resume-dir then goes on to the right bytes.
"""
import bz2
import collections
import concurrent.futures
import errno
import gzip
import json
import lzma
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

# The exit codes that gpusort may return for each error of each call. 0 is always allowed, unless a key says otherwise.
MEMORY = {"ENOMEM": {6}}
FAULTS = {
    "memory": MEMORY,
    "map": MEMORY,
    "thread": {"EAGAIN": {6}},
    "open": {"EIO": {2, 4}, "EMFILE": {2, 4}, "EOPNOTSUPP": {2, 4}, "EINTR": set()},
    "read": {"EIO": {4}, "EINTR": set()},
    "write": {"EIO": {4}, "ENOSPC": {5}, "EINTR": set()},
    "sync": {"EIO": {4}, "ENOSPC": {4, 5}, "EINTR": set()},
    "truncate": {"EIO": {4}, "ENOSPC": {5}, "EINTR": set()},
    "allocate": {"EIO": {4}, "ENOSPC": {5}, "EOPNOTSUPP": set(), "EINTR": set()},
    "rename": {"EIO": {4}, "ENOSPC": {5}, "EACCES": {2, 4}},
    "unlink": {"EIO": {4}, "EACCES": {2, 4}},
    "mkdir": {"EIO": {2, 4}, "ENOSPC": {5}},
    "lock": {"EIO": {2, 4}, "ENOLCK": {2, 4}},
    "stat": {"EIO": {2, 4}, "ENOMEM": {2, 4, 6}},
    "statfs": {"EIO": {2, 4}, "ENOSYS": {2, 4}, "EINTR": set()},
    "seek": {"EIO": {4}},
    "close": {"EIO": {4}, "ENOSPC": {5}},
    "directory": {"EIO": {2, 4}, "ENOMEM": {2, 4, 6}},
    "owner": {"EIO": {4}, "EPERM": {2, 4}, "EOPNOTSUPP": {2, 4}},
    "fcntl": {"EIO": {2, 4}, "EMFILE": {2, 4}},
    "access": {"EIO": {2, 4}, "EACCES": {2, 4}},
    "poll": {"EINTR": set(), "ENOMEM": {2, 4, 6}},
    "process": {"EMFILE": {4}, "EACCES": {4}},
    "advise": {"EINVAL": {4}},
    "random": {"ENOSYS": {4}},
}
OLD = b"old\n"
MODE = 0o600
TIMEOUT = 600


class Job:
    def __init__(self, name, words, outputs=("out/out",), stdin=None, program="gpusort", codes=(0,),
                 check=None, once=False):
        self.name = name
        self.words = words
        self.outputs = outputs  # the outputs; a stream does not count as an output
        self.stdin = stdin
        self.program = program
        self.codes = codes  # the exit codes without a fault
        self.check = check
        # Whether a fault happens only once: a program that never starts would be waited for, for a minute.
        self.once = once
        self.resumes = "--resume-dir" in words
        self.counts = {}
        self.want = {}


def make_inputs(folder):
    rng = random.Random(7)
    data = {}
    data["in.u64"] = b"".join(struct.pack("<Q", rng.getrandbits(64)) for _ in range(5000))
    lines = [b"%d %s" % (rng.randrange(500), bytes(rng.randrange(97, 123) for _ in range(rng.randrange(40))))
             for _ in range(2000)]
    data["in.txt"] = b"".join(line + b"\n" for line in lines)
    for i in range(3):
        data["m%d.txt" % i] = b"".join(line + b"\n" for line in sorted(lines[i::3]))
    data["sorted.txt"] = b"".join(line + b"\n" for line in sorted(lines))
    data["wide.txt"] = b"".join(b"%d %s\n" % (rng.randrange(10**6), b"w" * 900) for _ in range(1250))
    rows = [(rng.randrange(300), "name %d" % rng.randrange(50), "%d.%02d" % (rng.randrange(99), rng.randrange(100)))
            for _ in range(1500)]
    data["in.csv"] = ("id,name,amount\n" + "".join('%d,"%s, x",%s\n' % row for row in rows)).encode()
    data["in.jsonl"] = "".join(json.dumps({"id": i, "n": {"name": n}}) + "\n" for i, n, _ in rows).encode()
    table = "".join("%d\t%s\n" % (i, n) for i, n, _ in rows[:400])
    data["dump.sql"] = ("SET x = 1;\n\nCOPY public.t (id, name) FROM stdin;\n" + table + "\\.\n\n-- end\n").encode()
    values = ["(%d,'%s; it''s')" % (i, n) for i, n, _ in rows[:400]]
    inserts = "".join("INSERT INTO `t` VALUES %s;\n" % ",".join(values[i:i + 5]) for i in range(0, 400, 5))
    data["mysql.sql"] = ("-- MySQL dump\nCREATE TABLE `t` (\n  `id` int,\n  `n` text\n);\n" + inserts).encode()
    data["paragraphs"] = "".join("Package: p%d\nSize: %d\n\n" % (i, i * 7 % 100) for i, _, _ in rows[:300]).encode()
    for name in ("a.log", "b.log"):
        times = (b"2024-05-%02d 10:%02d:00 INFO %d\n" % (i // 20 + 1, i % 60, rng.randrange(99)) for i in range(300))
        data[name] = b"".join(times)
    data["in.txt.gz"] = gzip.compress(data["in.txt"], mtime=0)
    data["in.txt.bz2"] = bz2.compress(data["in.txt"])
    data["in.txt.xz"] = lzma.compress(data["in.txt"])
    data["names"] = b"in.txt\0in.txt\0"
    zoned = (b"%d,2020-01-01 %02d:00:00 %s\n" % (i, i % 24, [b"Here/Town", b"Nowhere"][i % 2]) for i in range(50))
    data["zoned.csv"] = b"id,ts\n" + b"".join(zoned)
    # Begins and ends as a Parquet file does.
    data["columns"] = b"PAR1" + data["in.txt"] + b"PAR1"
    # By the time in the header November is of 2019, and by the time of the file it is of 2020.
    months = (b"%s 12 10:%02d:00 host daemon: %d\n" % (rng.choice([b"Mar", b"Nov"]), i % 60, i) for i in range(200))
    data["year.log.gz"] = gzip.compress(b"".join(months), mtime=1592179200)
    # A zone without changes, one hour ahead of UTC.
    data["zones/Here/Town"] = struct.pack(">4s16x6llbb", b"TZif", 0, 0, 0, 0, 1, 4, 3600, 0, 0) + b"CET\0"
    os.makedirs(os.path.join(folder, "zones", "Here"))
    for name, content in data.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    os.utime(os.path.join(folder, "year.log.gz"), (1609286400, 1609286400))
    return data


def make_jobs(data):
    small = ["--memory", "4M", "--max-record", "32K", "--temp-dir", "tmp", "--batch-bytes", "12K", "--fan-in", "2",
             "--threads"]
    one, two = [*small, "1"], [*small, "2"]
    codecs = ["--memory", "32M", *one[2:]]
    numbers = ["--memory", "4M", "--type", "u64", "--batch-bytes", "8K", "--fan-in", "2", "--temp-dir", "tmp"]
    values = sorted(struct.unpack("<%dQ" % (len(data["in.u64"]) // 8), data["in.u64"]))
    u64 = struct.pack("<%dQ" % len(values), *values)
    lines = data["sorted.txt"]
    text = data["in.txt"]
    return [
        Job("memory", ["--type", "u64", "--threads", "2", "in.u64", "out/out"], check={"out/out": u64}),
        Job("spill", [*numbers, "--threads", "1", "--verify-output", "in.u64", "out/out"], check={"out/out": u64}),
        Job("lines", [*two, "--stats", "out/stats", "--log-file", "out/log", "in.txt", "out/out"],
            check={"out/out": lines}),
        Job("unique", [*one, "-u", "-k1,1n", "in.txt", "out/out"]),
        Job("top", [*one, "--top", "20", "in.txt", "out/out"]),
        Job("split", [*one, "--split", "3", "in.txt", "out/part"],
            ("out/part-0.txt", "out/part-1.txt", "out/part-2.txt", "out/part.manifest.json")),
        Job("resume", [*one, "--resume-dir", "resume", "--checkpoint", "20K", "in.txt", "out/out"],
            check={"out/out": lines}),
        Job("resume_u64", [*numbers[:-2], "--resume-dir", "resume", "in.u64", "out/out"], check={"out/out": u64}),
        Job("resume_csv",
            [*one, "--resume-dir", "resume", "--compress-temp", "lz4", "-k", "id:int", "in.csv", "out/out"]),
        Job("merge", [*one, "-m", "-o", "out/out", "m0.txt", "m1.txt", "m2.txt"], check={"out/out": lines}),
        Job("check", ["-c", "sorted.txt"], ()),
        Job("disorder", ["-c", "in.txt"], (), codes=(1,)),
        Job("stream", [*one, "-", "-"], (), stdin=text, check={"": lines}),
        Job("stream_in", [*one, "--compress-temp", "zst", "-", "out/out"], stdin=text, check={"out/out": lines}),
        Job("gz", [*codecs, "--compress-temp", "lz4", "in.txt.gz", "out/out.gz"], ("out/out.gz",)),
        Job("bz2", [*codecs, "in.txt.bz2", "out/out.bz2"], ("out/out.bz2",)),
        Job("xz", ["in.txt.xz", "out/out.xz"], ("out/out.xz",)),
        Job("zst", [*codecs, "in.txt", "out/out.zst"], ("out/out.zst",)),
        Job("lz4", [*codecs, "in.txt", "out/out.lz4"], ("out/out.lz4",)),
        Job("csv", [*two, "-k", "id:int:desc", "-k", "name:nocase", "in.csv", "out/out"]),
        Job("zoned", [*one, "-k", "ts:timestamp", "zoned.csv", "out/out"]),
        Job("columns", ["--threads", "1", "columns", "-"], (), codes=(2,)),
        Job("year", ["--memory", "32M", "--format", "log", "--timezone", "+00:00", "-k", "time", "year.log.gz",
                     "out/out"]),
        Job("jsonl", [*one, "-k", "n.name", "-k", "id:int", "in.jsonl", "out/out"]),
        Job("pgdump", [*one, "--format", "pgdump", "-k", "t.name", "dump.sql", "out/out"]),
        Job("mysql", [*one, "--format", "mysqldump", "-k", "t.id:int", "mysql.sql", "out/out"]),
        Job("paragraphs", [*one, "--format", "paragraphs", "-k", "Size:int", "paragraphs", "out/out"]),
        Job("logs", [*one, "-m", "--format", "log", "--timezone", "+00:00", "--since", "2024-05-03", "--prefix-name",
                     "-o", "out/out", "a.log", "b.log"]),
        Job("minus", [*one, "--minus", "m0.txt", "--keep-order", "in.txt", "out/out"]),
        Job("sum", [*two, "--sum", "amount", "-k", "name", "in.csv", "out/out"]),
        Job("shuffle", [*one, "--shuffle", "--seed", "7", "in.txt", "out/out"]),
        Job("index", [*codecs, "--index", "in.txt", "out/out.bgz"], ("out/out.bgz", "out/out.bgz.gzi")),
        Job("random", [*one, "-R", "--random-source", "in.u64", "in.txt", "out/out"]),
        Job("header", [*one, "--header", "1", "-k2", "--files0-from", "names", "-o", "out/out"]),
        Job("locale", [*one, "--locale", "-k2", "in.txt", "out/out"]),
        Job("explain", ["--explain", *one, "in.txt", "out/new"], ()),
        Job("sort", ["-k1,1n", "in.txt", "-o", "out/out"], program="sort"),
        Job("sort_stream", ["-u", "-", "in.txt"], (), program="sort", stdin=text),
        Job("sort_check", ["-c", "sorted.txt"], (), program="sort"),
        Job("sort_large", ["-S4M", "--parallel=1", "-Ttmp", "wide.txt", "-o", "out/out"], program="sort"),
        Job("sort_program", ["-S4M", "--parallel=1", "-Ttmp", "--compress-program=gzip", "wide.txt", "-o", "out/out"],
            program="sort", once=True),
    ]


class Failure(Exception):
    pass


class Runner:
    """Runs jobs in a folder of its own."""

    def __init__(self, program, library, before):
        self.folder = tempfile.mkdtemp(prefix="every-call-", dir=os.environ.get("TMPDIR"))
        self.data = make_inputs(self.folder)
        self.programs = {"gpusort": program, "sort": os.path.join(self.folder, "sort")}
        os.symlink(program, self.programs["sort"])
        self.before = set(os.listdir(self.folder))
        self.preload = " ".join([*before, library])

    def clean(self):
        for name in ("out", "tmp", "resume", "report"):
            path = os.path.join(self.folder, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.remove(path)
        for name in ("out", "tmp"):
            os.mkdir(os.path.join(self.folder, name))

    def run(self, job, environment):
        # Variables that are not passed here cannot have an effect. Arrow's module is left out, because OpenSSL, which
        # is part of Arrow, waits for itself for ever if an allocation fails while it is loaded.
        settings = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
        settings.update(PATH=os.environ["PATH"], LC_ALL="C.UTF-8", LD_PRELOAD=self.preload, FAIL_REPORT="report",
                        TZDIR="zones", GPUSORT_PARQUET_MODULE="none")
        settings.update(environment)
        try:
            done = subprocess.run([self.programs[job.program], *job.words], input=job.stdin or b"", capture_output=True,
                                  timeout=TIMEOUT, cwd=self.folder, env=settings)
        except subprocess.TimeoutExpired as hung:
            raise Failure("it hangs: " + (hung.stderr or b"").decode(errors="replace"))
        counts = {}
        path = os.path.join(self.folder, "report")
        if os.path.exists(path):
            with open(path) as file:
                counts = {name: int(count) for name, count in (line.split() for line in file)}
            os.remove(path)
        # A time that is measured differs, and a fault may make it unknown.
        out = done.stdout
        if job.name == "explain":
            out = re.sub(rb", about [^,\n]*, limited by [^\n]*|\nexpected [^\n]*", b"", out)
        return done.returncode, out, done.stderr.decode(errors="replace"), counts

    def read(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            return file.read()

    def left(self, job):
        """Names that no run without a fault leaves."""
        expected = set(job.outputs) | {"out/stats", "out/log"}
        found = set(os.listdir(self.folder)) - self.before - {"out", "tmp"}
        for folder in ("out", "tmp"):
            found |= {os.path.join(folder, name) for name in os.listdir(os.path.join(self.folder, folder))}
        return found - expected

    def first(self, job):
        """A run without a fault: what is to come out, and how many calls there are."""
        self.clean()
        code, out, err, job.counts = self.run(job, {})
        if code not in job.codes:
            raise Failure("exit %d without a fault: %s" % (code, err))
        job.want = {name: self.read(name) for name in job.outputs}
        job.want[""] = out
        for name, content in (job.check or {}).items():
            if job.want[name] != content:
                raise Failure("wrong bytes in %s without a fault" % (name or "standard output"))
        if self.left(job):
            raise Failure("left behind without a fault: %s" % self.left(job))

    def right(self, job, out):
        for name, content in job.want.items():
            if (self.read(name) if name else out) != content:
                raise Failure("wrong bytes in %s with exit 0" % (name or "standard output"))

    def fault(self, job, kind, error, nth, for_ever):
        """Returns exit code, what was said, and whether there was a failure."""
        self.clean()
        for name in job.outputs:
            path = os.path.join(self.folder, name)
            with open(path, "wb") as file:
                file.write(OLD)
            os.chmod(path, MODE)
        code, out, err, counts = self.run(job, {
            "FAIL_CALLS": kind, "FAIL_NTH": str(nth), "FAIL_FOREVER": str(int(for_ever)),
            "FAIL_ERRNO": str(getattr(errno, error))})
        try:
            self.judge(job, kind, error, code, out, err)
        except Failure as failure:
            raise Failure("%s (exit %d: %s)" % (failure, code, err.strip()))
        return code, err, counts.get("failures", 0)

    def judge(self, job, kind, error, code, out, err):
        answers = FAULTS[kind][error]
        codes = set(job.codes) | ({2} if job.program == "sort" and answers else answers)
        if "cannot be read: " in err:  # a file that an option names, read before any work
            codes.add(2)
        if "does not have the locale" in err:  # setlocale does not give a reason
            codes.add(2)
            kind = "thread"
        if "cannot load the time zone" in err:  # nor does absl
            codes.add(2)
            kind = "thread"
        if code not in codes:
            raise Failure("exit %d" % code)
        for name in job.outputs:
            if self.read(name) is None:
                if name.endswith(".gzi") and (code == 6 or (code != 0 and " index" in err)):
                    continue
                raise Failure("%s is gone" % name)
            mode = os.stat(os.path.join(self.folder, name)).st_mode & 0o777
            if mode != MODE:
                raise Failure("the mode of %s is %o now" % (name, mode))
        if code in job.codes:
            self.right(job, out)
        else:
            self.judge_error(job, kind, error, err)
            news = "in place" in err
            for name in job.outputs:
                if self.read(name) not in (OLD, None) and not (news and self.read(name) == job.want[name]):
                    raise Failure("the old output %s is changed" % name)
        left = self.left(job)
        if job.resumes and (code != 0 or "was not ended" in err):
            code, out, err, _ = self.run(job, {})
            if code != 0:
                raise Failure("exit %d of the same command without faults: %s" % (code, err))
            self.right(job, out)
            left = self.left(job)
        # Files that cannot be removed are left.
        if left and kind != "unlink":
            raise Failure("left behind: %s" % left)

    @staticmethod
    def judge_error(job, kind, error, err):
        # The first line of gzip's message is empty.
        said = [line for line in err.splitlines() if line and not line.startswith(("gpusort: warning: ", "gzip: "))]
        start = "gpusort: error: " if job.program == "gpusort" else "sort: "
        if len(said) != 1 or not said[0].startswith(start):
            raise Failure("not one line of error")
        if kind in ("memory", "map") and "memory" not in said[0]:
            raise Failure("it does not speak of memory")
        names = (error, os.strerror(getattr(errno, error)), *(["out of memory"] if error == "ENOMEM" else []))
        if kind not in ("memory", "map", "thread") and not any(name in said[0] for name in names):
            raise Failure("it does not name the error")


def normal(text):
    text = re.sub(r"\.gpusort-[0-9a-z]*", ".gpusort-N", text.strip())
    return re.sub(r"[0-9]+", "9", text)[:300]


def all_faults(job, kinds, whole):
    for kind in kinds:
        count = job.counts.get(kind, 0)
        if whole and count:
            count += 5  # threads may make a few more calls; after the last call no fault occurs
        for error, _codes in FAULTS[kind].items():
            for for_ever in (False, True) if error != "EINTR" and not job.once else (False,):
                for nth in range(1, count + 1):
                    yield job, kind, error, nth, for_ever


def main():
    words = sys.argv[1:]
    before, jobs_wanted, go_on, say, kinds = [], None, False, False, list(FAULTS)
    while words and words[-1] in ("--all", "--say"):
        go_on |= words[-1] == "--all"
        say |= words.pop() == "--say"
    while len(words) > 2 and words[-2] in ("--preload", "--jobs", "--kinds"):
        value, option = words.pop(), words.pop()
        if option == "--preload":
            before, kinds = value.split(), [kind for kind in kinds if kind != "memory"]
        elif option == "--kinds":
            kinds = value.split(",")
        else:
            jobs_wanted = value.split(",")
    program, library = os.path.abspath(words[0]), os.path.abspath(words[1])
    workers = []
    local = threading.local()

    def runner():
        if not hasattr(local, "runner"):
            local.runner = Runner(program, library, before)
            workers.append(local.runner)
        return local.runner

    jobs = [job for job in make_jobs(runner().data) if jobs_wanted is None or job.name in jobs_wanted]
    injected = collections.Counter[str]()
    answers = collections.defaultdict(list)
    failures: list[str] = []
    lock = threading.Lock()

    def one(fault):
        job, kind, error, nth, for_ever = fault
        name = "%s %s %s %d%s" % (job.name, kind, error, nth, "+" if for_ever else "")
        if failures and not go_on:
            return
        try:
            code, err, count = runner().fault(*fault)
        except Failure as failure:
            with lock:
                failures.append("%s: %s" % (name, failure))
            return
        with lock:
            injected[kind] += count
            if count and say:
                answers[kind, error, code, normal(err)].append(name)

    try:
        if len(words) == 6:
            job = next(job for job in jobs if job.name == words[2])
            runner().first(job)
            fault = (job, words[3], words[4], int(words[5].rstrip("+")), words[5].endswith("+"))
            print("exit %d, %s, failures: %d" % runner().fault(*fault))
            return
        wanted = int(words[2]) if len(words) > 2 else 0
        seed = int(words[3]) if len(words) > 3 else random.randrange(10**6)
        late = next((job for job in jobs if job.name == "resume_u64"), None)
        if wanted:
            jobs = random.Random(seed).sample(jobs, min(len(jobs), wanted // 10 + 1))
        for job in jobs:
            runner().first(job)
        faults = []
        for group in (["memory"], [kind for kind in kinds if kind != "memory"]):
            group = [kind for kind in group if kind in kinds]
            of_group = [fault for job in jobs for fault in all_faults(job, group, wanted == 0)]
            if wanted and of_group:
                step = max(1, len(of_group) * 2 // wanted)
                of_group = of_group[random.Random(seed).randrange(step)::step]
            faults += of_group
        if wanted and "memory" in kinds and jobs_wanted is None:
            # After the rename a job without memory prints more than elsewhere; few allocations come so late.
            assert late
            runner().first(late)
            count = late.counts["memory"]
            faults += [(late, "memory", "ENOMEM", nth, True) for nth in range(count - count // 20, count, 8)]
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("EVERY_CALL_THREADS", "2"))) as pool:
            list(pool.map(one, faults))
        for failure in failures[:1000]:
            print("FAIL:", failure)
        for answer, names in sorted(answers.items()):
            print(len(names), *answer, "e.g.", names[0], sep=" | ")
        runs = "%d runs of %d jobs (seed %d)" % (len(faults), len(jobs), seed)
        made = ", ".join("%s %d" % item for item in injected.items())
        print("every_call: %s, faults made: %s; wrong answers: %d" % (runs, made, len(failures)))
        if failures:
            sys.exit(1)
    except Failure as failure:
        print("FAIL:", failure)
        sys.exit(1)
    finally:
        for worker in workers:
            shutil.rmtree(worker.folder, ignore_errors=True)


main()
