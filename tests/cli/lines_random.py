"""Compares gpusort's lines with those of the system's sort: random data, random options, plans that spill.

Usage: lines_random.py GPUSORT COUNT [SEED]. Prints a failing command line and its data in Python notation.
"""
import os
import random
import subprocess
import sys
import tempfile


def make_data(rng, end):
    kind = rng.randrange(9)
    count = rng.choice([0, 1, 2, 3, 10, 50, 300, 2000])
    words = [b"", b"a", b"b", b"ab", b"abc", b" ", b"\t", b"10", b"9", b"-3", b"007", b"1.50", b"1.5", b"2K", b"1M",
             b"JAN", b"feb", b"v1.10", b"v1.9", b"~x", b"\xff", b"\x80", b"\x01", b"A", b"Z", b".", b"0", b"-0", b"x" * 13]
    if end != 0:
        words += [b"\0", b"\r"]
    prefix = bytes(rng.randrange(97, 123) for _ in range(60))
    pool = [b" ".join(rng.choice(words) for _ in range(rng.randrange(5))) for _ in range(5)]
    lines = []
    for _i in range(count):
        if kind == 0:
            line = bytes(rng.randrange(256) for _ in range(rng.randrange(30)))
        elif kind == 1:
            line = prefix + b"%d" % rng.randrange(1000)
        elif kind == 2:
            line = rng.choice(pool)
        elif kind == 3:
            line = b""
        elif kind == 4:
            line = bytes(rng.choice(b"ab") for _ in range(rng.randrange(40)))
        elif kind == 5:
            line = b"%d" % rng.randrange(-500, 500)
        elif kind == 6 and rng.randrange(200) == 0:
            line = bytes(rng.randrange(97, 99) for _ in range(rng.randrange(70000, 190000)))
        else:
            line = rng.choice([b" ", b",", b"\t"]).join(rng.choice(words) for _ in range(rng.randrange(6)))
        lines.append(line.replace(bytes([end]), b"?"))
    if rng.randrange(4) == 0:
        lines.sort()
    data = b"".join(line + bytes([end]) for line in lines)
    if data and rng.randrange(3) == 0:
        data = data[:-1]
    return data


def make_order(rng):
    letters = "bdfghiMnrV"
    options = []
    if rng.randrange(3) == 0:
        options += ["-" + rng.choice(letters)]
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        key = "%d" % rng.randrange(1, 5)
        if rng.randrange(3) == 0:
            key += ".%d" % rng.randrange(1, 4)
        if rng.randrange(3) == 0:
            key += rng.choice(letters)
        if rng.randrange(2) == 0:
            key += ",%d" % rng.randrange(1, 5)
            if rng.randrange(3) == 0:
                key += ".%d" % rng.randrange(0, 4)
            if rng.randrange(4) == 0:
                key += rng.choice(letters)
        options += ["-k" + key]
    if rng.randrange(3) == 0:
        options += ["-t" + rng.choice([",", " ", "a", "\t"])]
    for flag in ["-s", "-u", "-r"]:
        if rng.randrange(4) == 0:
            options += [flag]
    return options


def make_plan(rng):
    plan = rng.choice([[], ["--memory", "3M"], ["--memory", "4M"], ["--memory", "16M"]])
    if plan:
        plan = plan + rng.choice([[], ["--batch-bytes", str(rng.choice([1, 50, 500, 5000]))]])
        plan = plan + rng.choice([[], ["--fan-in", str(rng.choice([2, 3]))], ["--batch-size", "5"]])
    return plan + rng.choice([[], ["--threads", "1"], ["--threads", "3"], ["--verify-output"]])


def run(arguments, data=None):
    done = subprocess.run(arguments, input=data, capture_output=True, timeout=1200,
                          env=dict(os.environ, LC_ALL="C"))
    return done.returncode, done.stdout, done.stderr


def first_lines(data, count, end):
    """The first lines of `data`, each with its end."""
    at = 0
    for _ in range(count):
        found = data.find(bytes([end]), at)
        if found < 0:
            return data
        at = found + 1
    return data[:at]


def one(program, rng, folder):
    end = 0 if rng.randrange(6) == 0 else 10
    order = make_order(rng) + (["-z"] if end == 0 else [])
    plan = make_plan(rng)
    count = rng.choice([1, 1, 1, 2, 3, 7])
    names, parts = [], []
    for i in range(count):
        names.append(os.path.join(folder, "in%d" % i))
        parts.append(make_data(rng, end))
        with open(names[i], "wb") as file:
            file.write(parts[i])
    merge = rng.randrange(5) == 0
    if merge:
        for name in names:
            run(["sort", *order, "-o", name, name])
        parts = [open(name, "rb").read() for name in names]
        order = [*order, "-m"]
    code, want, said = run(["sort", *order, *names])
    if code != 0:
        return  # incompatible options: other tests compare the messages
    checked = [o for o in order if o != "-m"]
    check = run(["sort", "-C", *checked, names[0]])[0]
    if rng.randrange(4) == 0:
        top = rng.choice([1, 2, 5, 20, 500, 10**9])
        want = first_lines(want, top, end)
        plan = [*plan, "--top", str(top)]
    if rng.randrange(4) == 0:
        header = [b"zz head", b"", b"a", b"~" * 70][:rng.randrange(1, 5)]
        order = [*order, "--header", str(len(header))]
        checked = [*checked, "--header", str(len(header))]
        top_lines = b"".join(line + bytes([end]) for line in header)
        for i, name in enumerate(names):
            # An empty input has no header, and the last line may lack its newline.
            alone = [top_lines, b""] + ([top_lines[:-1]] if header[-1] else [])
            parts[i] = top_lines + parts[i] if parts[i] else rng.choice(alone)
            with open(name, "wb") as file:
                file.write(parts[i])
        want = (top_lines if any(parts) else b"") + want
    out = os.path.join(folder, "out")
    command = [program, "--format", "lines", *order, *plan]
    piped = None
    given = list(names)
    if not merge and rng.randrange(4) == 0:
        at = rng.randrange(count)
        given[at], piped = "-", parts[at]
    code, _, said = run([*command, "-o", out, *given], piped)
    got = (code, b"", said)
    if code == 0:
        with open(out, "rb") as file:
            got = (code, file.read(), said)
        os.remove(out)
    if got[0] != 0 or got[1] != want:
        print("FAIL:", " ".join(command), "exit", got[0], got[2].decode(errors="replace"))
        print("data:", [p if len(p) < 600 else p[:600] + b"..." for p in parts])
        sys.exit(1)
    data = parts[0]
    got = run([program, "-C", "--format", "lines", *checked, names[0]])[0]
    if check != got:
        print("FAIL: -C says", got, "not", check, order, data[:600])
        sys.exit(1)


def main():
    program, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for i in range(count):
        rng = random.Random(seed * 1000003 + i)
        with tempfile.TemporaryDirectory() as folder:
            try:
                one(program, rng, folder)
            except subprocess.TimeoutExpired as expired:
                print("FAIL: no end:", " ".join(expired.cmd), "case", i)
                sys.exit(1)
    print("lines_random: %d cases agree with sort" % count)


main()
