"""Random dumps, with COPY and with INSERT statements: any slices and parts, in one file, a compressed one, a folder, or from pieces of runs on other
machines, give one gpusort's bytes; what that refuses a slice refuses, too.

Usage: dumps_test.py BIN SEED COUNT, in an empty folder
"""
import glob
import gzip
import os
import random
import shutil
import subprocess
import sys

BIN, SEED, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
QUICK = ["--memory", "16M", "--no-fsync", "--log-level", "error"]
COPY = "COPY public.t (none) FROM stdin;\n"  # not a statement here; as a statement it would be refused, because the key names another column
SQL = ["--\n-- it's \" /* $$\n--\n\n", "\\restrict it's\n", f"COMMENT ON TABLE t IS 'it''s\n{COPY}1\t2\n\\.\n';\n", f"SELECT E'\\'\n{COPY}';\n",
       "SELECT 'ends with \\';\n", f"CREATE FUNCTION f() AS $_$\n{COPY}\\.\n$$ ' \" /*\n\n$_$;\n", f'CREATE TABLE "a\n{COPY}""b" (x int);\n',
       f"/* one /* two */ '\n{COPY}\" $$ */\n", "COPY public.t (none) FROM 'file';\n", "COPY public.t (a, b) TO stdout;\n", "\n\r\n", "SELECT a$b$c, 1;\n"]
INSERT_KEYS = {"t": ["t.a:int"], "u": ["u.b:desc"], "`a.b`": ["`a.b`.a:int:desc"]}
KEYS = {"public.t": ["t.a:int", "public.t.b:int:desc"], "t": ["t.b"], "other.t": ["other.t.a:text:desc"], '"S s"."a.b"': ['"""a.b"".a":int'],
        "public.none": ["public.none.b"], "u": ["u.a:float"]}


def text_of(rng, longest):
    return "".join(rng.choice(["a", "b", "\\\n", "\\\\", "\\t", "\\.", "'", "$$", "é"]) for _ in range(rng.randrange(longest)))


def make_inserts(rng):
    """A dump of mysqldump with statements of one row and of several rows, and the tables that it has."""
    tables = set()
    longest = rng.choice([1, 5, 60, 2000])
    rows = rng.choice([3, 30, 400])
    few = rng.random() < 0.5
    parts = ["SET NAMES utf8;\n"] * rng.randrange(3)
    for _ in range(rng.choice([2, 4, 25])):
        table = rng.choice(["t", "u", "`a.b`"])
        head = f"INSERT INTO {table}{rng.choice([' (a, b)'] * 5 + [''])} VALUES" + rng.choice([" ", "\n"])
        comma = rng.choice([",", ",\n"])
        sizes = rng.choice([[1], [1, 2], [1, 1, 1, 5], [2, 3], [50]])
        parts += rng.choice([[], [], [f"CREATE TABLE {table} (a int{rng.choice(['', ' PRIMARY KEY'])}, b text);\n"], ["-- it's\n", "LOCK TABLES t WRITE;\n"]])
        for _ in range(rng.randrange(1 + rows // sizes[-1])):
            tables.add(table)
            values = [f"({rng.randrange(3 if few else 9999)},'{rng.choice(['', 'x', '),('])}{text_of(rng, longest)}')".replace("\\\n", "\n").replace("'$$", "$$")
                      for _ in range(rng.choice(sizes))]
            values = [value[:value.index("'") + 1] + value[value.index("'") + 1:-2].replace("'", "\\'") + value[-2:] for value in values]
            separators = [rng.choice([comma] * 20 + [" ,", ",\n  "]) for _ in values]
            joined = "".join(a + b for a, b in zip(values, [*separators[1:], ";\n"], strict=True))
            parts.append(rng.choice([""] * 30 + ["-- a comment\n", "\n"]) + head + joined)
    parts += ["UNLOCK TABLES;\n"] * rng.randrange(3)
    return "".join(parts).encode(), sorted(tables)


def make_dump(rng):
    """With the tables that it has."""
    tables = set()
    longest = rng.choice([1, 5, 60, 2000])
    rows = rng.choice([0, 3, 30, 400])
    most = rng.choice([2, 4, 25])
    parts = ["SET standard_conforming_strings = off;\n"] if rng.random() < 0.1 else []
    for _ in range(rng.randrange(most + 1)):
        parts += rng.choices(SQL, k=rng.choice([0, 1, 3, 3 * longest]))
        ending = rng.choice(["\n", "\n", "\r\n"])
        table = rng.choice([*KEYS])
        tables.add(table)
        columns = rng.choice(["a, b", "b, a"])
        parts.append(rng.choice([f"COPY {table} ({columns}) FROM stdin;{ending}"] * 3 +
                                [f"  copy {table} ({columns}){ending} From -- it's{ending}STDIN with (format text){ending};{ending}"]))
        few = rng.random() < 0.5
        for _ in range(rng.randrange(rows + 1)):
            parts.append(f"{rng.randrange(3 if few else 9999)}\t{rng.choice(['', 'x', '-'])}{text_of(rng, longest)}{ending}")
        parts.append("\\." + ending)
    parts += rng.choices(SQL, k=rng.randrange(4))
    dump = "".join(parts)
    cut = rng.random()
    if cut < 0.05:
        dump = dump[:rng.randrange(len(dump) + 1)]
    elif cut < 0.15:
        dump = dump[:-1]
    return dump.encode(), sorted(tables)


def run(*words):
    return subprocess.run([f"{BIN}/{words[0]}", *words[1:]], capture_output=True, check=False)


def task(*words):
    done = run("gpusort_task", *words)
    assert done.returncode == 0, (words, done)
    return done.stdout.decode()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def merge_pieces(slices, parts):
    """As on machines that share nothing."""
    task("cut", "--force-format", "--fences-only", "--parts", str(parts), "dir")
    lines = [[[int(word) for word in line.split()] for line in task("borders", "--run", str(k), "--parts", str(parts), "dir").splitlines()]
             for k in range(slices)]
    borders = [[line[0] for line in run_lines] for run_lines in lines]
    runs = [read(f"dir/run-{k:05}") for k in range(slices)]
    for name in glob.glob("dir/run-?????") + glob.glob("dir/*.fences") + glob.glob("dir/*.begins"):
        os.remove(name)
    for j in range(parts):
        shutil.rmtree("pieces", ignore_errors=True)
        os.mkdir("pieces")
        begin = ":".join(str(sum(run_lines[j][i] for run_lines in lines)) for i in range(1, 5))
        for k, border in enumerate(borders):
            with open(f"pieces/run-{k:05}", "wb") as file:
                file.write(runs[k][border[j]:border[j + 1]])
        task("part", "--part", f"{j}/{parts}", "--pieces", "pieces", "--offset", begin, *QUICK, "dir", "out")
    task("prove", "--parts", str(parts), "dir", "out")
    return read("out")


def merge(rng, way, slices, parts):
    if way == "pieces":
        return merge_pieces(slices, parts)
    fences = ["--fences-only"] if way != "file" and rng.random() < 0.5 else []
    task("cut", "--force-format", *fences, "--parts", str(parts), "dir")
    verify = ["--verify-output"] if way == "folder" else []
    output = {"file": "out", "gz": "out.gz", "folder": "out/"}[way]
    for j in rng.sample(range(parts), parts):
        task("part", "--part", f"{j}/{parts}", *QUICK, *verify, "dir", output)
    task("prove", "--parts", str(parts), "dir", output)
    if way == "folder":
        return b"".join(read(name) for name in sorted(glob.glob("out/part-*")))
    return gzip.decompress(read(output)) if way == "gz" else read(output)


def check(seed):
    rng = random.Random(seed)
    inserts = rng.random() < 0.6
    dump, tables = (make_inserts if inserts else make_dump)(rng)
    names = INSERT_KEYS if inserts else KEYS
    keys = [rng.choice(names[table]) for table in (tables if rng.random() < 0.9 else names) if rng.random() < 0.5]
    options = ["--format", "mysqldump" if inserts else "pgdump", "--force-format", *(word for key in keys for word in ("-k", key))]
    name = rng.choice(["dump.sql"] * 5 + ["dump.sql.gz"])
    with open(name, "wb") as file:
        file.write(gzip.compress(dump) if name.endswith(".gz") else dump)
    slices, parts = rng.choice([1, 2, 2, 3, 7, 16]), rng.choice([1, 2, 3, 3, 7, 20])
    way = rng.choice(["file", "file", "gz", "folder", "pieces"])
    print(f"seed {seed}: {len(dump)} bytes, {slices} slices, {parts} parts, {way}, {name} {' '.join(keys)}", flush=True)
    want = run("gpusort", *options, *QUICK, name, "want")
    order = rng.sample(range(slices), slices)
    if rng.random() < 0.5:
        for k in order:
            run("gpusort_task", "scan", "--slice", f"{k}/{slices}", "--into", "dir", *options, *QUICK, name)
    verify = rng.choice([[], ["--verify-output"]])
    if want.returncode != 0:
        print(want.stderr.decode().strip(), flush=True)
    done = [run("gpusort_task", "runs", "--slice", f"{k}/{slices}", "--into", "dir", *options, *QUICK, *verify, name) for k in order]
    assert {one.returncode for one in done} - {0} == {want.returncode} - {0}, (done, want)
    if want.returncode == 0:
        assert merge(rng, way, slices, parts) == read("want"), "other bytes"
    for path in glob.glob("*"):
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    return want.returncode == 0


made = sum([check(seed) for seed in range(SEED, SEED + COUNT)])
assert made > COUNT / 2, made
print(f"dumps: {made} jobs are one gpusort's bytes, {COUNT - made} are refused")
