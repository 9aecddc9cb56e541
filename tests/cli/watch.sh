# Tests the progress line: on terminals of any width, in pipes, next to other lines, and on SIGUSR1.
. "$2/tests/cli/common.sh.inc"
"$bin/gpusort_gen" --type u64 --count 500000 --seed 1 in.u64
mkfifo out names
python3 -I - "$bin/gpusort" <<'PY' || fail "see above"
import fcntl, json, os, pty, re, select, signal, struct, subprocess, sys, termios, time

gpusort = sys.argv[1]
env = {**os.environ, "TERM": "xterm"}
env.pop("NO_COLOR", None)


def wait_for(what, found, more):
    """Calls more() until found() is true."""
    end = time.monotonic() + 1200
    while not found():
        assert time.monotonic() < end, what
        more()


class Job:
    """A job whose output nobody reads yet, so that it stands still in its last phase."""

    def __init__(self, *options, terminal=None, output="out", **more_env):
        self.said = b""
        if terminal:
            self.ours, theirs = pty.openpty()
            self.resize(terminal)
        else:
            self.ours, theirs = os.pipe()
        if "--log-level" not in options:
            options += ("--log-level", "error")
        self.process = subprocess.Popen([gpusort, "--device", "cpu", "--memory", "2M", *options, "in.u64", output],
                                        stderr=theirs, env={**env, **more_env})
        os.close(theirs)

    def resize(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self):
        """False at the end."""
        if select.select([self.ours], [], [], 0.05)[0]:
            try:
                more = os.read(self.ours, 65536)
            except OSError:  # the end of a terminal
                return False
            self.said += more
            return more != b""
        return True

    def wait_for(self, pattern):
        self.said = b""
        wait_for((pattern, self.said), lambda: re.search(pattern, self.said), self.read)
        return self.said

    def end(self):
        # Reads what comes first: the job may stand still because its terminal is full. Before the job has opened the
        # output, the reader is not ready.
        reader = os.open("out", os.O_RDONLY | os.O_NONBLOCK)
        while True:
            ready = select.select([reader, self.ours], [], [])[0]
            if self.ours in ready:
                self.read()
            if reader in ready and not os.read(reader, 1 << 20):
                break
        os.close(reader)
        while self.read():
            pass
        os.close(self.ours)
        assert self.process.wait() == 0, (self.process.returncode, self.said)
        return self.said


WIPE = b"\r\x1b[K"


def drawn(said):
    """Whole lines that were drawn, one for each wipe."""
    return [part for part in said.split(WIPE)[1:-1]]


# 40 columns, and then other widths. The program asks for the width each time.
job = Job(terminal=40)
job.wait_for(rb"merge runs: .*\x1b\[K")
assert b"left" in job.said or b"%" in job.said, job.said
lines = drawn(job.said)
assert lines and all(len(line) <= 39 for line in lines), lines
job.resize(120)
job.wait_for(rb"merge runs: [^\r]* of [^\r]*\r")
job.resize(12)
job.wait_for(WIPE.replace(b"[", rb"\[") + rb"[^\r]{1,11}\r\x1b\[K[^\r]{1,11}\r\x1b\[K[^\r]{1,11}\r")
lines = [len(line) <= 11 for line in drawn(job.said)]
assert all(lines[lines.index(True):]), job.said  # the wider lines were drawn before
# Another line appears above the progress line, in full, and the progress line is drawn again. On request the whole
# progress text is printed.
job.resize(60)
job.process.send_signal(signal.SIGUSR1)
said = job.wait_for(rb"\x1b\[K(merge runs: [^\r]*)\r\nm[^\r]*\r")
assert not re.search(rb"[^K\n]merge runs: ", said), said
said = job.end()
# A job that took long enough ends with a summary.
assert re.fullmatch(rb"(sorted .*)?", said.rsplit(WIPE, 1)[1], re.DOTALL), said
assert not re.search(rb"\x1b\[[0-9;]*m", said), "colours"

# Notes of the job next to the progress line, and the summary of a job that took more than a few seconds.
begin = time.monotonic()
job = Job("--log-level", "debug", terminal=80)
job.wait_for(rb"merge runs: [^\r]*\r")
time.sleep(max(0, begin + 3.5 - time.monotonic()))
text = job.end()
assert re.search(rb"(\n|\x1b\[K)sorted 3.8 MiB \(500.0 k records\) in ", text), text
assert b"gpusort: info: done" in text, text
for line in text.split(b"\r\n"):
    assert line.count(b"gpusort: ") <= 1 and not re.search(rb"[^K]gpusort: ", line), line

# A terminal that cannot draw.
for settings, options in (({"TERM": "dumb"}, []), ({"NO_COLOR": "1"}, ["--progress=never"])):
    job = Job(*options, terminal=80, **settings)
    job.end()
    assert job.said == b"", job.said
for terminal, settings in ((80, {"TERM": "dumb"}), (None, {})):
    job = Job("--progress=always", "--no-fsync", terminal=terminal, **settings)
    said = job.end().replace(b"\r\n", b"\n")
    assert b"\r" not in said and b"\x1b" not in said, said
    lines = said.decode().splitlines()
    assert lines[-2].startswith("merge runs: 100 %, "), lines
    # The summary comes last.
    summary = r"sorted 3.8 MiB \(500.0 k records\) in .* s, .*/s; [0-9]+ runs, memory .*B, temp files .*B; limited by "
    assert re.match(summary, lines[-1]), lines

# SIGUSR1 asks for the progress, whatever --progress says, and the job continues.
job = Job("--progress=never")
first = os.open("out", os.O_RDONLY)
assert os.read(first, 8), "it has begun to write"
job.process.send_signal(signal.SIGUSR1)
said = job.wait_for(rb"\n")
assert re.fullmatch(rb"merge runs: \d+ %, [^\r\x1b]*\n", said), said
while os.read(first, 1 << 20):
    pass
os.close(first)
while job.read():
    pass
assert job.process.wait() == 0
assert job.said.count(b"\n") == 1, job.said
job = Job("--log-format", "json")
first = os.open("out", os.O_RDONLY)
assert os.read(first, 8)
job.process.send_signal(signal.SIGUSR1)
event = json.loads(job.wait_for(rb"\n"))
assert event["event"] == "progress" and event["phase"] == "merge runs" and 0 <= event["percent"] <= 100, event
while os.read(first, 1 << 20):
    pass
os.close(first)
assert job.process.wait() == 0

# The length of a stream is unknown. Bytes that were read count before they are sorted.
process = subprocess.Popen([gpusort, "--device", "cpu", "--memory", "1G", "--log-level", "error", "--type", "u64",
                            "-", "sorted"],stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
with open("in.u64", "rb") as file:
    process.stdin.write(file.read())
process.stdin.flush()
said = []


def ask():
    process.send_signal(signal.SIGUSR1)
    said.append(process.stderr.readline().decode())
    assert re.fullmatch(r"(start|form runs)(: [\d.]+ .?i?B(, .*)?)?\n", said[-1]), said
    assert "%" not in said[-1] and "left" not in said[-1], said


wait_for("all that was read", lambda: said and said[-1].startswith("form runs: 3.8 MiB"), ask)
process.stdin.close()
assert process.wait() == 0

# A job with --resume-dir stops.
process = subprocess.Popen([gpusort, "--files0-from", "names", "--type", "u64", "--resume-dir", "kept", "-o", "sorted"],
                           stderr=subprocess.PIPE, env=env)
names = os.open("names", os.O_WRONLY)  # the job has opened the pipe for reading
process.send_signal(signal.SIGUSR1)
said = process.communicate()[1]
os.close(names)
assert process.returncode == 75, (process.returncode, said)
PY

# SIGUSR1 as the first event in the process, before any of its code, acts as it does later.
early=$bin/tests/libearly_signal.so
if [ -e "$early" ] && ! sanitized; then
  expect 0 env LD_PRELOAD="$early" "$bin/gpusort" in.u64 sorted
  expect 75 env LD_PRELOAD="$early" "$bin/gpusort" --resume-dir kept in.u64 sorted
  expect 0 "$bin/gpusort" --resume-dir kept in.u64 sorted
  expect 2 env LD_PRELOAD="$early" "$bin/gpusort" --nonsense
  expect 0 env LD_PRELOAD="$early" "$bin/gpusort_task" --version >/dev/null
  expect 0 env LD_PRELOAD="$early" "$bin/gpusort_task" runs --slice 0/1 --into parts in.u64
  # Under the name sort it acts as with GNU sort.
  ln -s "$bin/gpusort" sort
  expect 138 env LD_PRELOAD="$early" ./sort in.u64 -o sorted
  # If the caller ignores or blocks the signal, it stays ignored or blocked.
  expect 0 env --ignore-signal=USR1 LD_PRELOAD="$early" "$bin/gpusort" in.u64 sorted
  expect 0 env --block-signal=USR1 LD_PRELOAD="$early" "$bin/gpusort" --resume-dir kept in.u64 sorted
else
  echo "SKIPPED (a build with sanitizers): SIGUSR1 before main"
fi

# Explains the expected time, and leaves no files.
"$bin/gpusort" --explain=full --device cpu --memory 2M in.u64 sorted2 >plan
grep -Eq '^expected  *[0-9.]+ s: form runs [0-9.]+ s \(.*\), merge runs [0-9.]+ s \(.*\)' plan || fail "no times: $(cat plan)"
grep -Eq '^measured  *input .*/s.*of the input sorted at .*/s, merged at .*/s$' plan || fail "no rates: $(cat plan)"
[ ! -e sorted2 ] || fail "--explain=full wrote its output"
"$bin/gpusort" --explain --device cpu --memory 2M in.u64 sorted2 >plan
grep -Eq '^in short .*, about [0-9.]+ s, limited by' plan || fail "--explain says no time: $(cat plan)"
! grep -Eq '^(expected|measured)|form runs' plan || fail "--explain has words of --explain=full: $(cat plan)"
printf 'a,b\n1,"x\ny"\n0,z\n' >t.csv
"$bin/gpusort" --explain=full --device cpu -k a:int t.csv u.csv >plan
grep -Eq '^expected  *[0-9.]+ s' plan || fail "no times of a table: $(cat plan)"
"$bin/gpusort" --explain=full --type u64 - sorted2 <in.u64 >plan
grep -q '^expected  *nothing can be said: the input is a stream' plan || fail "a stream: $(cat plan)"
# All of several inputs are sampled. Unknown facts are not printed.
: >none.u64
"$bin/gpusort" --explain=full --device cpu none.u64 in.u64 -o sorted2 >plan
grep -q '^measured.*, [1-9][0-9.]* [KM]iB of the input sorted' plan || fail "an empty input in front: $(cat plan)"
python3 -c 'print("a" * (50 << 20))' >one-line
"$bin/gpusort" --explain=full --device cpu --max-record 60M --memory 1G one-line sorted2 >plan
grep -q '^expected  *nothing can be said: no record ends' plan || fail "a line that is longer than the sample: $(cat plan)"
rm one-line
# Kept runs go to the disk.
"$bin/gpusort" --explain=full --device cpu --resume-dir not/yet in.u64 sorted2 >plan
[ "$(stat -f -c %T .)" = tmpfs ] || grep -q '^measured.*, temp .* written' plan || fail "runs that are kept: $(cat plan)"
nothing_left
echo "watch: ok"
