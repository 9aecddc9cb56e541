#!/usr/bin/env python3
"""Runs gpusort under the name `sort` and the system's GNU sort with the same random options on the same random data,
and compares output, messages and exit codes. A difference is made small before it is shown.

usage: gnu_sort_random.py SORT COUNT SEED [LOCALE]     SORT: a link to gpusort whose name is sort
"""
import os
import random
import subprocess
import sys
import tempfile

ORDERINGS = "bdfghiMnRrV"
ALPHABETS = [
    [b"a", b"b"],
    [b"a", b"B", b"A", b"b", b" ", b"\t"],
    [b"0", b"1", b"2", b"9", b".", b"-", b" "],
    [b"0", b"1", b"5", b".", b"-", b" ", b"K", b"M", b"G", b"k", b"T", b"E"],
    [b"1", b"e", b"+", b"-", b".", b"0", b"x", b"p", b"nan", b"inf", b" ", b"f"],
    [b"JAN", b"feb", b"Mar", b"dec", b" ", b"x", b"AU", b"G"],
    [b"file", b"1", b"10", b".", b"~", b"a", b".c", b"-", b"0", b".tar"],
    [b"a", b",", b":", b"b", b"x", b"1"],
    [b"\0", b"\1", b"a", b"\xff", b"\x80", b" ", b"\x0b", b"\r"],
    [bytes([i]) for i in range(256) if i != 10],
    [b"\xc3\xa4", b"\xc3\x84", b"a", b"A", b"z", b"-", b"_", b"\xc3", b" "],
]


def random_line(rng, alphabet):
    kind = rng.random()
    if kind < 0.05:
        return b""
    if kind < 0.1:
        return rng.choice(alphabet) * rng.choice([5, 13, 30, 300])
    return b"".join(rng.choice(alphabet) for _ in range(rng.choice([1, 2, 3, 5, 8, 14, 25])))


def random_data(rng, delimiter):
    alphabet = rng.choice(ALPHABETS)
    count = rng.choice([0, 1, 2, 3, 10, 10, 30, 30, 100, 300])
    prefix = rng.choice([b"", b"", b"", rng.choice(alphabet) * rng.choice([1, 11, 12, 13, 40])])
    pool = [prefix + random_line(rng, alphabet) for _ in range(max(1, count // rng.choice([1, 1, 2, 10])))]
    lines = [rng.choice(pool) for _ in range(count)]
    if rng.random() < 0.1:
        lines.sort()
    data = b"".join(line + delimiter for line in lines)
    if rng.random() < 0.2 and data:
        data = data[:-1]
    return data


def random_key(rng):
    def position():
        field = rng.choice(["1", "2", "3", "4", "7"])
        char = rng.choice(["", "", "", ".1", ".2", ".3", ".5", ".99", ".4294967296"])
        letters = "".join(rng.sample(ORDERINGS, rng.choice([0, 0, 0, 1, 1, 2]))) if rng.random() < 0.6 else ""
        return field + char + letters
    key = position()
    if rng.random() < 0.7:
        end = position()
        if rng.random() < 0.1:
            end = end.replace(".1", ".0", 1)
        key += "," + end
    return ["-k", key] if rng.random() < 0.9 else ["-k" + key]


def random_case(rng):
    options = []
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 3])):
        options += random_key(rng)
    if rng.random() < 0.6:
        options.append("-" + "".join(rng.sample(ORDERINGS, rng.choice([1, 1, 2]))))
    if rng.random() < 0.3:
        options += ["-t", rng.choice([",", ":", "a", "1", " ", ".", "-", "+", "\\0", "\t", "x"])]
    if rng.random() < 0.1:
        options += ["+" + rng.choice(["0", "1", "2", "1.2", "0.1"]) + rng.choice(["", "", "n", "b", "r"])]
        if rng.random() < 0.6:
            options += ["-" + rng.choice(["1", "2", "3", "2.1", "1.3"]) + rng.choice(["", "", "n", "b", "r"])]
    for option, chance in (("-s", 0.2), ("-u", 0.25), ("-z", 0.1), ("--debug", 0.15)):
        if rng.random() < chance:
            options.append(option)
    mode = rng.random()
    if mode < 0.1:
        options.append(rng.choice(["-c", "-C", "--check=silent"]))
    elif mode < 0.3:
        options.append("-m")
    if rng.random() < 0.3:
        options.append(rng.choice(["-S1k", "-S500b", "-S10k", "-S1M", "-S1"]))
    if rng.random() < 0.2:
        options.append("--batch-size=" + rng.choice(["2", "3", "5"]))
    if rng.random() < 0.1:
        options.append("--parallel=" + rng.choice(["1", "2", "8"]))
    if rng.random() < 0.03:
        options.append("--compress-program=gzip")
    if rng.random() < 0.1:
        options += ["-o", rng.choice(["out", "f0", "f1"])]
    options.append("--random-source=random")
    delimiter = b"\0" if "-z" in options else b"\n"
    files = [random_data(rng, delimiter) for _ in range(rng.choice([1, 1, 1, 2, 3, 5]))]
    return options, files


class Runner:
    def __init__(self, sort, locale):
        self.programs = ["/usr/bin/sort", sort]
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": locale, "LANGUAGE": "en"}
        if "LOCPATH" in os.environ:
            self.environment["LOCPATH"] = os.environ["LOCPATH"]
        version = subprocess.run(["/usr/bin/sort", "--version"], capture_output=True, check=True).stdout
        self.is_9_1 = version.startswith(b"sort (GNU coreutils) 9.1\n")

    def run(self, program, options, files):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "random"), "wb") as out:
                out.write(b"0123456789abcdef" * 64)
            names = []
            for i, data in enumerate(files):
                names.append(f"f{i}")
                with open(os.path.join(folder, names[-1]), "wb") as out:
                    out.write(data)
            if "-m" in options:
                # POSIX does not define the result for inputs that are not sorted.
                plain, rest = [], iter(options)
                for option in rest:
                    if option == "-o":
                        next(rest)
                    elif option not in ("-m", "--debug", "-u"):
                        plain.append(option)
                for name in names:
                    subprocess.run(["sort", *plain, "-o", name, name], executable="/usr/bin/sort", cwd=folder,
                                   env=self.environment, stderr=subprocess.DEVNULL)
            done = subprocess.run(["sort", *options, *names], executable=program, cwd=folder, env=self.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
            left = {name: open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))
                    if name != "random"}
            said = done.stderr.replace(b": note numbers use", b": numbers use")  # the wording of 9.10
            return done.returncode, done.stdout, said, left

    def differs(self, options, files):
        # 9.1 takes a whole name like ".a" for a suffix, compares uninitialized bytes of NaNs, and does not know the
        # units R and Q.
        if self.is_9_1:
            for letter, text in (("V", b"."), ("g", b"nan"), ("h", b"r"), ("h", b"q")):
                if any(letter in option for option in options) and any(text in data.lower() for data in files):
                    return False
        return self.run(self.programs[0], options, files) != self.run(self.programs[1], options, files)

    def shrink(self, options, files):
        """Leaves out what does not matter: files, options, lines, bytes."""
        changed = True
        while changed:
            changed = False
            for candidate in self.smaller(options, files):
                try:
                    if self.differs(*candidate):
                        options, files = candidate
                        changed = True
                        break
                except subprocess.TimeoutExpired:
                    pass
        return options, files

    @staticmethod
    def smaller(options, files):
        for i in range(len(files)):
            if len(files) > 1:
                yield options, files[:i] + files[i + 1:]
        i = 0
        while i < len(options):
            pair = options[i] in ("-k", "-t", "-o") or (options[i].startswith("+") and i + 1 < len(options) and
                                                       options[i + 1][1:2].isdigit())
            step = 2 if pair else 1
            yield options[:i] + options[i + step:], files
            i += step
        delimiter = b"\0" if "-z" in options else b"\n"
        for i, data in enumerate(files):
            lines = data.split(delimiter)
            size = len(lines) // 2
            while size > 0:
                for begin in range(0, len(lines), size):
                    yield options, [*files[:i], delimiter.join(lines[:begin] + lines[begin + size:]), *files[i + 1:]]
                size //= 2
            if len(data) < 200:
                for at in range(len(data)):
                    yield options, [*files[:i], data[:at] + data[at + 1:], *files[i + 1:]]


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    sort, count, seed = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    runner = Runner(sort, sys.argv[4] if len(sys.argv) == 5 else "C")
    bad = 0
    for i in range(count):
        options, files = random_case(random.Random(seed * 1000003 + i))
        if not runner.differs(options, files):
            continue
        options, files = runner.shrink(options, files)
        print(f"case {i} of seed {seed}: sort {' '.join(map(repr, options))}  on {files}")
        for program in runner.programs:
            print(f"  {program}: {runner.run(program, options, files)}")
        bad += 1
        if bad == 5:
            break
    print(f"{i + 1 if count else 0} cases, {bad} differences")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
