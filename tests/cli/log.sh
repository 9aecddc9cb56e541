# Tests --log-format json: every line on standard error is one object, however the job ends, and the last object tells
# the result.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
j=("$g" --log-format json)
export LC_ALL=C
cat >events.py <<'PY'
# Each line of standard input has FILE and expressions with \x1f between them. Prints "ok" or what is wrong: each line
# of FILE must be an event, and each expression must be true for the events.
import json, re, sys

def check(path, expressions):
    e = [json.loads(line) for line in open(path, encoding="utf-8", newline="\n")]
    for event in e:
        assert list(event)[:3] == ["ts", "level", "event"], event
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["ts"]), event
        assert event["level"] in ("debug", "info", "warning", "error"), event
        assert event["event"] in ("started", "plan", "phase", "progress", "note", "failed", "done"), event
    names = [event["event"] for event in e]
    def one(name):
        assert names.count(name) == 1, name
        return e[names.index(name)]
    for text in expressions:
        assert eval(text, {"e": e, "last": e[-1] if e else {}, "names": names, "one": one}), text

for request in sys.stdin:
    path, *expressions = request.rstrip("\n").split("\x1f")
    try:
        check(path, expressions)
        print("ok", flush=True)
    except Exception as error:
        print(repr(error).replace("\n", " "), flush=True)
PY
coproc checker { exec python3 -I events.py; }
exec {ask}>&"${checker[1]}" {answer}<&"${checker[0]}"
events() {
  local IFS=$'\x1f' said=''
  printf '%s\n' "$*" >&$ask
  read -r said <&$answer || true
  [ "$said" = ok ] || fail "$* $said ($(cat "$1"))"
}

"$bin/gpusort_gen" --type i32 --count 10000 --seed 1 in.bin
expect 0 "$g" in.bin want.bin

# A job that ends well: its events, and the same events in a log file.
expect 0 "${j[@]}" --memory 4M --threads 2 --batch-size 8000 --log-file log in.bin out.bin
same want.bin out.bin
events err 'names[0] == "started" and names[-1] == "done" and not {"failed", "progress"} & {*names}' \
  'one("started")["inputs"] == ["in.bin"] and one("started")["input_count"] == 1 and e[0]["output"] == "out.bin"' \
  'one("plan")["runs"] == 5 and one("plan")["memory"] > 0 and "CPU" in one("plan")["backend"].upper()' \
  '[p["phase"] for p in e if p.get("state") == "ends"] == ["start", "form runs", "merge runs", "publish"]' \
  '[p["phase"] for p in e if p.get("state") == "begins"] == ["start", "form runs", "merge runs", "publish"]' \
  'all(p["seconds"] >= 0 and p["bytes_read"] >= 0 for p in e if p.get("state") == "ends")' \
  'last["exit_code"] == 0 and last["records"] == 10000 and last["bytes"] == 40000 and last["runs"] == 5' \
  'last["temp_bytes_written"] > 0 and last["seconds"] > 0'
cmp -s err log || fail "the log file is not what was on standard error"
for level in warn error off; do
  expect 0 "${j[@]}" --log-level $level in.bin out.bin
  [ ! -s err ] || fail "--log-level $level: $(cat err)"
done
expect 0 "${j[@]}" --log-level debug in.bin out.bin
events err 'any(n["event"] == "note" and n["level"] == "debug" for n in e)'
expect 0 "${j[@]}" --no-fsync --device cpu --gpu-memory 1G in.bin out.bin
events err 'sum(n["event"] == "note" and n["level"] == "warning" for n in e) == 2'
# Reports go to the same place as without it.
expect 0 "${j[@]}" --explain in.bin out.bin >plan
grep -q '^in short' plan || fail "no plan: $(cat plan)"
events err 'names[-1] == "done"'
expect 0 "${j[@]}" --log-level debug --explain in.bin out.bin >plan
cp err explained
expect 0 "${j[@]}" --log-level debug --explain=full in.bin out.bin >plan
grep -q '^expected  *[0-9]' plan || fail "no sample was sorted: $(cat plan)"
# The sizes of the note "planned from ..." change with the free memory.
events err '[[str(n.get(k)).partition("planned from ")[0] for k in ("event", "phase", "state", "message")] for n in e] == '"$(
  python3 -c 'import json, sys
print([[str(json.loads(l).get(k)).partition("planned from ")[0] for k in ("event", "phase", "state", "message")]
       for l in sys.stdin])' <explained)"

# Progress consists of lines, never of a drawn line, on a terminal, too.
expect 0 "${j[@]}" --progress always --log-level warn in.bin out.bin
events err '{*names} == {"progress"}' 'e[-1]["bytes"] >= 0 and e[-1]["message"] and "bytes_per_second" in e[-1]' \
  '[p["bytes_total"] for p in e if p["phase"] == "form runs"][-1] == 40000'
python3 -I - "${j[@]}" --force in.bin out.bin >/dev/null <<'PY' || fail "a terminal"
import json, os, pty, sys
seen = []
def read(fd):
    seen.append(os.read(fd, 4096))
    return seen[-1]
assert os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", '"$@" >/dev/null', "sh", *sys.argv[1:]], read)) == 0
lines = b"".join(seen).replace(b"\r\n", b"\n").decode().splitlines()
events = [json.loads(line)["event"] for line in lines]
assert events[-1] == "done" and "progress" in events, events
PY

# Errors: of the command line, with the option at any place, of files, and of the input.
for options in '--nonsense' '--memory 0' '--split 2' '-k'; do
  expect 2 "${j[@]}" $options in.bin
  events err 'one("failed") is last and last["exit_code"] == 2 and last["level"] == "error" and last["message"]'
done
expect 2 "$g" --nonsense --log-format=json in.bin out.bin
events err '"--nonsense" in one("failed")["message"]'
expect 2 "$g" --log-format xml in.bin out.bin
says "^gpusort: error: --log-format: 'xml' is none of: text, json"
expect 2 "$g" --nonsense -- --log-format=json in.bin
says '^gpusort: error: '
expect 2 "$g" -o --log-format json in.bin
says '^gpusort: error: '
expect 2 "${j[@]}" missing.bin out.bin
events err 'last["errno"] == "ENOENT" and last["path"] == "missing.bin" and names == ["started", "failed"]'
expect 5 "${j[@]}" in.bin - >/dev/full
events err 'last["event"] == "failed" and last["exit_code"] == 5 and last["errno"] == "ENOSPC"' \
  'last["path"] == "standard output" and last["offset"] == 0'
printf 'abcdefghi' >nine
expect 3 "${j[@]}" --type u64 nine out.bin
events err 'last["event"] == "failed" and last["exit_code"] == 3 and "offset 8" in last["message"]'
expect 2 "${j[@]}" --log-level off missing.bin out.bin
[ ! -s err ] || fail "--log-level off: $(cat err)"
if command -v strace >/dev/null && ! sanitized && strace -o /dev/null true 2>/dev/null; then
  strace -f -qq -o /dev/null -e trace=pread64 -e inject=pread64:error=EIO:when=1+ -P "$work/in.bin" \
    "${j[@]}" in.bin out.bin 2>err && fail "EIO was no error"
  events err 'last["exit_code"] == 4 and last["errno"] == "EIO" and last["path"] == "in.bin" and last["offset"] < 40000'
else
  echo "SKIPPED: no strace: errno, path and offset of a read that fails"
fi
# A negative answer of --check is not a failure.
expect 0 "${j[@]}" --check want.bin
events err 'last["event"] == "done" and last["exit_code"] == 0'
expect 1 "${j[@]}" --check in.bin
events err 'last["event"] == "done" and last["exit_code"] == 1 and last["level"] == "error" and "not sorted" in last["message"]'
expect 1 "${j[@]}" -C in.bin
events err 'last["event"] == "done" and last["exit_code"] == 1 and "message" not in last'
printf 'b\na\n' >lines
expect 0 "${j[@]}" --debug -k1,1n -k2n,1 lines - >marked
events err 'last["event"] == "done" and any(n["event"] == "note" and n["level"] == "warning" for n in e)'

# Signals: a first one while the job waits for its input, a second one, and one to a job with --resume-dir.
mkfifo pipe
stopped() {  # stopped SIGNAL...: gpusort with standard error in err; sets code
  env --default-signal "${j[@]}" -o out.txt pipe 2>err &  # INT is ignored in the background
  exec 9>pipe
  for signal in "$@"; do kill -"$signal" $!; done
  code=0
  wait $! 2>/dev/null || code=$?
  exec 9>&-
}
for signal in TERM INT RTMIN+3; do
  stopped $signal
  [ $code = $((128 + $(kill -l $signal))) ] || fail "exit $code by $signal"
  events err "one('failed') is last and last['signal'] == 'SIG$signal' and last['exit_code'] == $code" \
    'last["level"] == "error"'
done
(ulimit -c 0; stopped TERM TERM; events err 'last["event"] == "failed" and last["signal"] == "SIGTERM"')
if ! sanitized; then
  (ulimit -c 0; stopped SEGV; events err 'last["event"] == "failed" and last["signal"] == "SIGSEGV"')
fi
"$bin/gpusort_gen" --type i32 --bytes 4M more.bin
mkfifo unread
"${j[@]}" more.bin - >unread 2>err & job=$!
exec 3<unread
exec 3<&-
code=0
wait $job || code=$?
[ $code = 141 ] || fail "exit $code instead of 141"
events err 'last["event"] == "failed" and last["signal"] == "SIGPIPE"'
"$bin/gpusort_gen" --type i32 --bytes 8M large.bin
# A signal while the job forms runs. The job may have ended before the script looks.
for ((try = 0; try < 50; ++try)); do
  rm -f err
  "${j[@]}" --resume-dir kept --memory 4M large.bin out.bin 2>err & job=$!
  while kill -0 $job 2>/dev/null && ! grep -qs '"form runs","state":"begins"' err; do :; done
  stand_still $job || true
  grep -q '"form runs","state":"ends"' err || kill -TERM $job 2>/dev/null || true
  kill -CONT $job 2>/dev/null || true
  code=0
  wait $job || code=$?
  [ $code = 0 ] || break
done
[ $code = 75 ] || fail "exit $code instead of 75"
events err 'last["event"] == "failed" and last["exit_code"] == 75 and last["signal"] == "SIGTERM"' '"kept" in last["message"]'
expect 0 "${j[@]}" --resume-dir kept --memory 4M large.bin out.bin
events err 'last["event"] == "done" and last["records"] == 2 << 20'

# The option exists only under the name gpusort.
ln -s "$bin/gpusort" sort
expect 2 ./sort --log-format json lines
says '^sort: unrecognized option'
nothing_left
echo "log: ok"
