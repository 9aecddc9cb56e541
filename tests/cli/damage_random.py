"""Stops jobs with --resume-dir, damages what they left, and gives the same command again: it must end with the right
bytes, or with exit 8 that names the file and says what to do; and that then helps.

Usage: damage_random.py GPUSORT GENERATOR COUNT SEED. Works in the current folder; COUNT random damages over all files,
or with COUNT 0 every damage to every line of a manifest. Prints the number of the damage that fails.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys

PLAN = ["--memory", "6M", "--batch-bytes", "150000", "--block-size", "32K", "--checkpoint", "100000", "--fan-in", "3",
        "--threads", "2"]
KEYED = ["--memory", "9M", "--batch-bytes", "200000", "--block-size", "32K", "--checkpoint", "100000"]
# Name, type for gpusort_gen, bytes, order, plan, and what the manifest must contain when the job is killed.
JOBS = [("numbers", "u64", 600000, ["--type", "u64"], PLAN, r'(?s)"run":.*"run":'),
        ("merged", "u64", 600000, ["--type", "u64"], PLAN, r'"merged":'),
        ("lines", "web-log", 500000, ["-u", "-k7,7"], [*PLAN, "--compress-temp", "zst", "--temp-dir", "temp"],
         r'"level":1'),
        ("table", "orders-csv", 400000, ["-k", "#1:int", "--format", "csv"], KEYED, r'"merged":')]
OLD = b"old output\n"


class Job:
    """A job that was killed, and all that it left."""

    def __init__(self, program, generator, name, kind, size, order, plan, until, seed):
        self.name = name
        self.input = "in." + name
        self.output = "out/" + name
        self.folder = "job." + name
        subprocess.run([generator, "--type", kind, "--bytes", str(size), "--seed", str(seed), self.input], check=True)
        os.makedirs("out", exist_ok=True)
        os.makedirs("temp", exist_ok=True)
        subprocess.run([program, *order, self.input, "want"], check=True)
        with open("want", "rb") as file:
            self.want = file.read()
        self.command = [program, "--log-level", "warn", "--resume-dir", self.folder, *order, *plan, self.input,
                        self.output]
        for _ in range(500):
            self.clean()
            self.put_old()
            process = subprocess.Popen(self.command)
            while process.poll() is None:
                try:
                    with open(self.folder + "/gpusort.manifest", encoding="latin1") as file:
                        if re.search(until, file.read()):
                            process.send_signal(signal.SIGKILL)
                except OSError:
                    pass
            if process.wait() not in (0, -signal.SIGKILL):
                sys.exit("FAIL: the job %s: exit %d" % (name, process.returncode))
            if process.returncode == -signal.SIGKILL and self.files():
                break
        else:
            sys.exit("FAIL: the job %s was never seen with %s" % (name, until))
        shutil.rmtree("kept." + name, ignore_errors=True)
        for path in self.files():
            os.makedirs(os.path.dirname("kept." + name + "/" + path), exist_ok=True)
            shutil.copy2(path, "kept." + name + "/" + path)
        self.kept = self.files()

    def put_old(self):
        with open(self.output, "wb") as file:
            file.write(OLD)

    def files(self):
        """All that the job has, but for its lock."""
        found = []
        for top in (self.folder, "temp", "out"):
            for folder, _, names in os.walk(top):
                found += [os.path.join(folder, n) for n in names if n.endswith((".manifest", ".runs", ".partial"))]
        return sorted(found)

    def clean(self):
        """What the manual page tells one to do who gives a job up."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in os.listdir("temp"):
            shutil.rmtree("temp/" + path)
        for path in os.listdir("out"):
            if path.endswith(".partial"):
                os.remove("out/" + path)

    def restore(self):
        self.clean()
        self.put_old()
        os.mkdir(self.folder, 0o700)
        for path in self.kept:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            shutil.copy2("kept." + self.name + "/" + path, path)

    def run(self):
        process = subprocess.run(self.command, stderr=subprocess.PIPE, timeout=1200)
        return process.returncode, process.stderr.decode(errors="replace")

    def check(self, what):
        """The job goes on: what it does must be right. Returns whether the damage was told."""
        code, said = self.run()
        with open(self.output, "rb") as file:
            got = file.read()
        if code == 0:
            if got != self.want:
                fail(self, what, "exit 0 with WRONG BYTES", said)
        elif code == 8 or (code == 2 and "other's" in what and "it holds another job" in said):
            if got != OLD:
                fail(self, what, "exit %d has changed the output" % code, said)
            if not re.search(r"gpusort\.(manifest|runs)|" + self.folder, said) or not re.search("remove (it|this one)", said):
                fail(self, what, "exit %d does not say which file, or what to do" % code, said)
            self.clean()
            code, said = self.run()
            with open(self.output, "rb") as file:
                got = file.read()
            if code != 0 or got != self.want:
                fail(self, what, "exit %d after the folder was removed" % code, said)
            code = 8
        else:
            fail(self, what, "exit %d" % code, said)
        left = [path for path in self.files() if not path.startswith("temp/")]
        if ".manifest" not in what:  # without a manifest the folders in temp folders are unknown
            left += os.listdir("temp")
        if left or os.path.exists(self.folder):
            fail(self, what, "left behind: %s" % left, said)
        return code == 8


def fail(job, what, why, said):
    sys.exit("FAIL: %s: %s: %s\n%s" % (job.name, what, why, said))


def damage_lines(rng, path, whole, nth=None, kind=None):
    """One line of a manifest, or what is between two. Returns what was done."""
    lines = whole.split(b"\n")[:-1]
    at = rng.randrange(len(lines)) if nth is None else nth
    kinds = ["structure", "name", "digit", "hash", "newline", "delete", "double", "swap", "cut", "nul", "return"]
    kind = rng.choice(kinds) if kind is None else kinds[kind % len(kinds)]
    line = bytearray(lines[at])
    if not line:  # an earlier damage left nothing of this line
        kind = "delete"
    classes = {"structure": rb'[{}\[\]:,"]', "name": rb"[a-z_]", "digit": rb"[0-9]", "hash": rb'[0-9a-f](?=[0-9a-f]*"}$)'}
    if kind in classes:
        # Some lines have no hash, or no digit.
        places = [m.start() for m in re.finditer(classes[kind], bytes(line))] or range(len(line))
        place = rng.choice(places)
        line[place] ^= 1 << rng.randrange(8)
        lines[at] = bytes(line)
    elif kind == "delete":
        del lines[at]
    elif kind == "double":
        lines.insert(at, lines[at])
    elif kind == "swap":
        other = (at + 1) % len(lines)
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == "cut":
        lines = [*lines[:at], lines[at][:rng.randrange(len(line))]]
    elif kind == "nul":
        lines[at] = bytes(len(line))
    elif kind == "return":
        lines[at] += b"\r"
    end = b"" if kind == "cut" else b"\n"
    text = b"\n".join(lines) + end
    if kind == "newline":
        text = b"\n".join(lines[:at + 1]) + bytes([10 ^ 1 << rng.randrange(8)]) + b"\n".join(lines[at + 1:]) + end
    with open(path, "wb") as file:
        file.write(text)
    return "gpusort.manifest, line %d: %s" % (at + 1, kind)


def damage_bytes(rng, path, others):
    """Any file: what disks and people do. Returns what was done."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    size = len(data)
    page = rng.choice([512, 4096, 32768])
    pages = max(1, size // page)
    kind = rng.choice(["bit", "byte", "lost", "torn", "swap", "copy", "cut", "longer", "empty", "gone", "other's", "random"])
    at, to = rng.randrange(pages) * page, rng.randrange(pages) * page
    if kind in ("bit", "byte") and size > 0:
        place = rng.randrange(size) if rng.randrange(3) else min(size - 1, at + rng.randrange(64))
        data[place] = data[place] ^ 1 << rng.randrange(8) if kind == "bit" else rng.randrange(256)
    elif kind == "lost":
        data[at:at + page] = bytes(len(data[at:at + page]))
    elif kind == "torn":
        half = at + page // 2
        data[half:at + page] = bytes(len(data[half:at + page]))
    elif kind == "swap":
        one, two = data[at:at + page], data[to:to + page]
        if len(one) == len(two):
            data[at:at + page], data[to:to + page] = two, one
    elif kind == "copy":
        data[to:to + page] = data[at:at + page][:len(data[to:to + page])]
    elif kind == "cut":
        data = data[:rng.choice([rng.randrange(size + 1), at])]
    elif kind == "longer":
        data += rng.choice([bytes(page), rng.randbytes(page), data[:page], b"{}\n", b"\n"])
    elif kind == "empty":
        data = bytearray()
    elif kind == "random":
        data[at:at + page] = rng.randbytes(len(data[at:at + page]))
    elif kind == "other's":
        with open(rng.choice(others), "rb") as file:
            data = bytearray(file.read())
        if rng.randrange(2):
            data = data[:size] + bytes(max(0, size - len(data)))
    if kind == "gone":
        os.remove(path)
    else:
        with open(path, "wb") as file:
            file.write(data)
    return "%s (%d bytes): %s at %d, %d of %d" % (path, size, kind, at, to, page)


def main():
    program, generator, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    jobs = [Job(program, generator, *job, seed=i) for i, job in enumerate(JOBS)]
    told = done = 0
    for job in jobs:  # undamaged jobs continue
        job.restore()
        if job.check("nothing"):
            fail(job, "nothing", "exit 8", "")
    if count == 0:
        for job in jobs:
            path = job.folder + "/gpusort.manifest"
            with open("kept." + job.name + "/" + path, "rb") as file:
                whole = file.read()
            for nth in range(whole.count(b"\n")):
                for kind in range(11):
                    job.restore()
                    told += job.check(damage_lines(random.Random(seed + done), path, whole, nth, kind))
                    done += 1
    for i in range(count):
        rng = random.Random(seed * 1000003 + i)
        job = rng.choice(jobs)
        job.restore()
        what = []
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            path = rng.choice([p for p in job.kept if os.path.exists(p)] or [None])
            if path is None:
                break
            if path.endswith(".manifest") and rng.randrange(2):
                with open(path, "rb") as file:
                    whole = file.read()
                if whole.count(b"\n") > 0:
                    what.append(damage_lines(rng, path, whole))
                    continue
            others = ["kept." + other.name + "/" + p for other in jobs if other is not job
                      for p in other.kept if p.rsplit(".", 1)[1] == path.rsplit(".", 1)[1]]
            if others:
                what.append(damage_bytes(rng, path, others))
        told += job.check("damage %d of seed %d: %s" % (i, seed, "; ".join(what)))
        done += 1
    print("damage: %d damages, of which %d were told (exit 8), and all others did no harm" % (done, told))


main()
