# Hostile names for everything that can be named. Names must not forge a line of a message or reach the terminal
# unescaped. JSON must stay valid, and the names must be recoverable from it. GPUSORT_SLOW=1 also tries each kind of
# bytes alone.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C.UTF-8
mkfifo fifo
python3 -I - "$bin/gpusort" "${GPUSORT_SLOW:-0}" <<'PY'
import gzip, json, os, re, shutil, subprocess, sys

program, slow = sys.argv[1].encode(), sys.argv[2] != "0"
KINDS = [b"\ngpusort: error: forged\n", b"%s%n{}%v", b"\x1b[2J\x1b]0;x\x07\x7f", b"\xff\xc0\xaf\xed\xa0\x80",
         "\u2028\u202e\u0085\u200f".encode(), b"\\x41\\", b"'\"`$(id)", b"-"]
NAMES = [b"-" + b"".join(KINDS)] + ([b"-" + kind for kind in KINDS] if slow else [])


def unescaped(text):
    return re.sub(rb"\\x([0-9a-f]{2})", lambda hex: bytes([int(hex[1], 16)]), text)


def check_text(text, what):
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069]", text), (what, text)


runs = 0


def run(name, codes, arguments, named=True, data=False):
    """In both formats. `named`: messages must tell the name. `data`: standard output is no report."""
    global runs
    said = ""
    for form in ([], [b"--log-format=json"]):
        runs += 1
        p = subprocess.run([program] + form + arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        what = (arguments, p.returncode, p.stderr[-2000:])
        assert p.returncode in codes, what
        err = p.stderr.decode()  # throws if the text is not UTF-8
        check_text(err, what)
        if form:
            for line in err.splitlines():
                event = json.loads(line)
                assert event["event"] in ("started", "plan", "phase", "note", "failed", "done"), what
                if event["event"] == "failed" and "errno" in event and named:
                    assert name in unescaped(event["path"].encode()), what
                if event["event"] == "started":
                    files = arguments[arguments.index(b"--") + 1:] if b"--" in arguments else []
                    for file in event["inputs"] + ([event["output"]] if "output" in event else []):
                        assert not files or unescaped(file.encode()) in arguments, what
                said += event.get("message", "")
        else:
            for line in err.splitlines():
                assert line.startswith("gpusort: ") and not line.startswith("gpusort: error: forged"), what
            said += err
        if not data:
            check_text(p.stdout.decode(), what)
    if named and codes != [0]:
        # Text does not escape a backslash, so an escaped byte and the same characters in a name look alike.
        assert unescaped(name) in unescaped(said.encode()), (said, name)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


top = os.getcwdb()
write(b"in.txt", b"b\na\n")
write(b"in.csv", b"id,name\n2,x\n1,y\n")
for number, name in enumerate(NAMES):
    folder = b"%d" % number
    os.mkdir(folder)
    os.chdir(folder)
    for file in (b"in.txt", b"in.csv"):
        os.link(top + b"/" + file, file)
    # Files that are missing or of the wrong kind.
    run(name, [2], [b"--", name, b"out"])
    run(name, [2], [b"-o", b"out", b"--", name, b"in.txt"])
    run(name, [2], [b"--", b"in.txt", name + b"/out"])
    for option in (b"--temp-dir", b"--stats", b"--log-file", b"--random-source"):
        run(name, [2], [b"--memory=4M", b"-R", option + b"=" + name + b"/x/y", b"--", b"in.txt", b"out"])
    run(name, [2], [b"--files0-from=" + name, b"-o", b"out"])
    write(b"names", name + b"\0")
    run(name, [2], [b"--files0-from=names", b"-o", b"out"])
    run(name, [2], [b"--resume-dir=" + name + b"/x", b"--", b"in.txt", b"out"])
    run(name, [2], [b"--resume-dir=" + name, b"--status"])
    os.mkdir(name)
    run(name, [2], [b"--", name, b"out"])
    run(name, [2], [b"--", b"in.txt", name])
    run(name, [2], [b"--stats=" + name, b"--", b"in.txt", b"out"])
    run(name, [0], [b"--memory=4M", b"--temp-dir=" + name, b"--log-level=debug", b"--", b"in.txt", b"out"], named=False)
    run(name, [0], [b"--memory=4M", b"--explain", b"--", b"in.txt", name + b"/out"], named=False)
    os.rmdir(name)
    os.symlink(name, name)
    run(name, [2], [b"--", name, b"out"])
    run(name, [2], [b"--", b"in.txt", name])
    os.unlink(name)
    os.mkfifo(name)
    run(name, [2], [b"--resume-dir=kept", b"--", name, b"out"], named=False)
    run(name, [2], [b"--split=2", b"--", b"in.txt", name], named=False)
    os.unlink(name)
    # Words without a meaning.
    for option in (b"--type", b"--format", b"--device", b"--memory", b"--compress", b"--decompress", b"--log-level",
                   b"--log-format", b"--progress", b"--sort", b"--top", b"--checkpoint", b"-k", b"--max-record",
                   b"--delimiter", b"--split", b"--help", b"--check", b"-t"):
        value = [option + b"=" + name] if option.startswith(b"--") else [option + name]
        if option == b"--log-format":
            value.append(b"--top=x")
        run(name, [2], value + [b"--", b"in.txt", b"out"], named=option not in (b"--log-format", b"--checkpoint", b"-k"))
    run(name, [2], [b"--" + name, b"in.txt", b"out"], named=False)
    for key in (name, b'"' + name.replace(b'"', b"") + b'":int', b"name:" + name, b"#" + name):
        run(name, [2], [b"-k", key, b"--", b"in.csv", b"out.csv"], named=False)
    # Columns with hostile names, and hostile records. A message that lists columns must be one line, too.
    quoted = b'"' + name.replace(b'"', b'""') + b'"'
    write(b"head.csv", quoted + b",x\n1,2\n")
    run(name, [2], [b"-k", b"none", b"--", b"head.csv", b"out.csv"], named=False)
    write(b"other.csv", b"y\n3\n")
    run(name, [3], [b"-k", b"x", b"-o", b"out.csv", b"--", b"head.csv", b"other.csv"], named=False)
    write(b"head.jsonl", b'{"a": ' + name.replace(b"\n", b" ") + b"}\n")
    run(name, [3], [b"-k", b"a", b"--", b"head.jsonl", b"out.jsonl"], named=False)
    write(b"values.csv", b"x\n" + quoted + b"\n1\n")
    run(name, [3], [b"--strict", b"-k", b"x:int", b"--", b"values.csv", b"out.csv"], named=False)
    run(name, [0], [b"-k", b"x:int", b"--log-level=debug", b"--", b"values.csv", b"out.csv"], named=False)
    # Inputs with invalid content.
    write(name, b"b\na\n")
    run(name, [1], [b"--check", b"--", name])
    run(name, [3], [b"-m", b"-o", b"out", b"--", name, b"in.txt"])
    run(name, [3], [b"--type=u64", b"--", name, b"out"])
    run(name, [3], [b"--decompress=gz", b"--", name, b"out"])
    run(name, [3], [b"--max-record=1", b"--", name, b"out"])
    run(name, [3], [b"--header=1", b"-o", b"out", b"--", name, b"in.txt", b"in.csv"])
    run(name, [3], [b"--format=jsonl", b"-k", b"a", b"--", name, b"out"])
    run(name, [3], [b"--format=pgcopy-binary", b"-k", b"#1:int", b"--", name, b"out"])
    run(name, [2], [b"--format=csv", b"-k", b"none", b"--", name, b"out"], named=False)
    # Two roles of one file.
    run(name, [2], [b"--stats=./" + name, b"--", name, b"out"])
    run(name, [2], [b"--no-clobber", b"--", b"in.txt", name])
    # Jobs that end well, and their reports.
    os.link(name, name + b"2")
    run(name, [0], [b"--memory=4M", b"--no-fsync", b"--log-level=debug", b"--stats=stats-" + name,
                    b"--log-file=log-" + name, b"--", name, b"out-" + name])
    with open(b"stats-" + name) as file:
        json.load(file)
    with open(b"log-" + name, encoding="utf-8", newline="\n") as file:
        for line in file.read().split("\n")[:-1]:
            check_text(line, "log")
            assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \w+: |\{", line), line
    run(name, [0], [b"--memory=4M", b"--explain", b"--", name, b"out"])
    run(name, [0], [b"--compress-program=" + name, b"--memory=4M", b"--", name, b"out"], named=False)
    run(name, [0], [b"--", name, b"/dev/fd/1"], named=False, data=True)
    # Parts: the names in the manifest are the names of the parts.
    run(name, [0], [b"--split=2", b"--", b"in.txt", b"part" + name], named=False, data=True)
    with open(b"part" + name + b".manifest.json") as file:
        import base64
        for number, part in enumerate(json.load(file)["parts"]):
            raw = part["file"].encode() if "file" in part else base64.b64decode(part["file_base64"])
            assert os.path.exists(raw) and raw == b"part%s-%d.txt" % (name, number), part
    # A job with --resume-dir: its status and its refusals.
    run(name, [0], [b"--resume-dir=kept" + name, b"--keep-resume-dir", b"--memory=4M", b"--", name, b"kept-out" + name])
    run(name, [0], [b"--resume-dir=kept" + name, b"--status"], named=False)
    shutil.rmtree(b"kept" + name)
    os.mkdir(b"kept" + name)
    os.chmod(b"kept" + name, 0o777)
    run(name, [2], [b"--resume-dir=kept" + name, b"--", name, b"kept-out" + name])
    os.chdir(top)

# A path of the maximum length.
part = b"d" * 249 + b"\n\x1b\xff"
at = os.open(".", os.O_RDONLY)
path = b""
while len(path) + len(part) + 1 < 4095 - 256:
    os.mkdir(part, dir_fd=at)
    at = os.open(part, os.O_RDONLY, dir_fd=at)
    path += part + b"/"
path += b"f" * (4095 - len(path)) if 4095 - len(path) < 256 else (b"f" * 200 + b"/")
if path.endswith(b"/"):
    os.mkdir(b"f" * 200, dir_fd=at)
    at = os.open(b"f" * 200, os.O_RDONLY, dir_fd=at)
    path += b"g" * (4095 - len(path))
assert len(path) == 4095
run(path, [2], [b"--", path, b"out"])
write(path, b"b\na\n")
run(path, [0], [b"--memory=4M", b"--log-level=debug", b"--stats=stats", b"--", path, b"out"])
run(path, [0], [b"--memory=4M", b"--", b"in.txt", path], named=False)
run(path, [2], [b"--stats=" + path + b"x", b"--", b"in.txt", b"out"])
run(path, [2], [b"--", b"in.txt", path + b"x"])
run(path, [2, 4], [b"--temp-dir=" + path, b"--memory=4M", b"--", b"in.txt", b"out"], named=False)
run(path, [2, 4], [b"--resume-dir=" + path, b"--", b"in.txt", b"out"], named=False)
run(path, [2], [b"--split=2", b"--", b"in.txt", path], named=False)
print("hostile_names:", runs, "runs")
PY
find . -depth -name 'd*' -delete 2>/dev/null || true
echo "hostile_names: ok"
