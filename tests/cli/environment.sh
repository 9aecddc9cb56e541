# Tests the surroundings of the program: closed standard streams, no environment, missing folders, no /proc, a clock
# that jumps, and a process that is stopped for a while. The bytes stay the same. GPUSORT_SLOW=1 stops the process for
# 30 s.
. "$2/tests/cli/common.sh.inc"
g=(timeout -s KILL 1000 "$bin/gpusort")
ln -s "$bin/gpusort" sort
s=(timeout -s KILL 1000 "$work/sort")
slow=${GPUSORT_SLOW:-0}
export LC_ALL=C
skip() { echo "SKIPPED: $*"; }
chmod 755 .
"$bin/gpusort_gen" --type i32 --bytes 1M --seed 1 in.bin
"${g[@]}" in.bin want.bin
seq 5000 -1 1 >in.txt
"${g[@]}" in.txt want.txt
"${s[@]}" in.txt >want.sort
printf abcdefghi >nine.u64
job=(--memory 4M --batch-size 100K --type i32 in.bin out.bin)
right() {  # right WHAT [FILE]
  same want.bin "${2:-out.bin}"
  rm -f "${2:-out.bin}"
}

# Closed standard streams in all eight combinations: opened files do not take their place, and no message goes to a
# file.
with_closed() {  # with_closed MASK COMMAND...: bit i closes descriptor i
  local mask=$1
  shift
  case $mask in
    0) "$@" ;;
    1) "$@" <&- ;;
    2) "$@" >&- ;;
    3) "$@" <&- >&- ;;
    4) "$@" 2>&- ;;
    5) "$@" <&- 2>&- ;;
    6) "$@" >&- 2>&- ;;
    7) "$@" <&- >&- 2>&- ;;
  esac
}
for mask in {0..7}; do
  names=(g s)
  [ "$slow" != 0 ] || [ $((mask % 3)) = 1 ] || names=(g)
  code=0
  with_closed $mask "${g[@]}" --stats stats --log-file log --log-level debug --no-fsync "${job[@]}" 2>err.$mask || code=$?
  [ $code = 0 ] || fail "streams closed by mask $mask: exit $code"
  right
  [ "$(head -n 1 stats)$(tail -n 1 stats)" = '{}' ] || fail "statistics with streams closed by mask $mask: $(cat stats)"
  if grep -av '^[-0-9T:.]*Z [a-z]*: ' log; then fail "a log with streams closed by mask $mask"; fi
  rm -f log stats
  # A failure: the message goes only to standard error, and an old output stays.
  for name in "${names[@]}"; do
    echo old >out.bin
    code=0
    if [ $name = g ]; then
      with_closed $mask "${g[@]}" --resume-dir kept --format binary --type u64 nine.u64 out.bin 2>err.$mask || code=$?
      [ $code = 3 ] || fail "exit $code instead of 3, mask $mask"
    else
      with_closed $mask "${s[@]}" -o out.bin in.txt missing 2>err.$mask || code=$?
      [ $code = 2 ] || fail "exit $code instead of 2, mask $mask"
    fi
    [ "$(cat out.bin)" = old ] || fail "the old output has: $(cat out.bin), mask $mask"
    rm -rf kept
  done
  if [ ${#names[@]} = 2 ]; then
    with_closed $mask "${s[@]}" -S1M -o out.txt in.txt 2>err.$mask || fail "sort, streams closed by mask $mask: exit $?"
    cmp -s want.sort out.txt || fail "sort with streams closed by mask $mask"
  fi
  rm -f out.txt out.bin
done
[ "$(cat nine.u64)" = abcdefghi ] || fail "an input was written"

# Environment and folders.
expect 0 env -i "${g[@]}" "${job[@]}"
right
expect 0 env -u HOME -u LANG -u LC_ALL -u TMPDIR "${g[@]}" --locale -o out.txt in.txt
same want.txt out.txt
mkdir -m 555 home
HOME=$work/home XDG_CACHE_HOME=$work/home expect 0 "${g[@]}" "${job[@]}"
right
[ -z "$(ls -A home)" ] || fail "something was made in HOME"
HOME=/no/such TERM= LANG=xx_YY.nothing LC_ALL= expect 0 "${g[@]}" "${job[@]}"
right
expect 0 bash -c 'mkdir gone && cd gone && rmdir ../gone && exec "$@"' bash "${g[@]}" --memory 4M "$work/in.bin" "$work/out.bin"
right
expect 2 bash -c 'mkdir gone && cd gone && rmdir ../gone && exec "$@"' bash "${g[@]}" "$work/in.bin" out.bin
says 'output.*: ENOENT'
expect 0 bash -c 'mkdir gone && cd gone && rmdir ../gone && exec "$@"' bash "${s[@]}" -o "$work/out.txt" "$work/in.txt"
cmp -s <("${s[@]}" in.txt) out.txt || fail "sort where there is no folder"
# Without a database of time zones no name is a zone. A database that cannot be read is an error.
printf 'ts\n2020-01-01 00:00:00 Europe/Berlin\n2020-01-01 00:00:00Z\n' >zoned.csv
TZDIR=/no/such expect 0 "$bin/gpusort" -k ts:timestamp zoned.csv out.csv
says '1 value is no timestamp'
TZDIR=$work/zoned.csv expect 4 "$bin/gpusort" -k ts:timestamp zoned.csv none.csv
says 'cannot read the time zones: .*zoned.csv: Not a directory'
[ ! -e none.csv ] || fail "an output without the zones of its times"
mkdir -p zones/Europe zones/right/Europe
z='\0\0\0\0'
printf "TZif$z$z$z$z$z$z$z$z\0\0\0\1\0\0\0\4\0\0\16\20\0\0CET\0" >zones/Europe/Berlin
cp zones/Europe/Berlin zones/right/Europe
ln -s /no/such zones/localtime
ln -s loop zones/loop
TZDIR=$work/zones expect 0 "$bin/gpusort" -k ts:timestamp zoned.csv out.csv
[ ! -s err ] || fail "links that lead nowhere beside a zone: $(cat err)"
sed -i 's/Europe/right\/Europe/' zoned.csv
TZDIR=$work/zones expect 0 "$bin/gpusort" -k ts:timestamp zoned.csv out.csv
says '1 value is no timestamp'
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
  mkdir -m 711 unread
  mkdir -m 777 open
  as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env -u TMPDIR)
  expect 0 bash -c 'cd unread && exec "$@"' bash "${as_nobody[@]}" "${g[@]}" --memory 4M "$work/in.bin" "$work/open/out.bin"
  right "an unreadable folder" open/out.bin
  expect 2 bash -c 'cd unread && exec "$@"' bash "${as_nobody[@]}" "${g[@]}" "$work/in.bin" out.bin
  says 'EACCES'
  mkdir -m 333 drop
  chown 65534 drop
  for out in out.bin "$work/drop/out.bin"; do
    code=0
    (cd drop && "${as_nobody[@]}" "${g[@]}" --memory 4M "$work/in.bin" $out) 2>err || code=$?
    [ $code = 0 ] || { [ $code = 2 ] && grep -q EACCES err; } || fail "a folder that can only be written: exit $code ($(cat err))"
  done
else
  skip "needs root and setpriv: folders that cannot be read"
fi

# Without /proc.
cat >no_proc.sh <<'SCRIPT'
  mount --make-rprivate / && mount -t tmpfs none /proc || exit 77
  umask 027
  "$@" --memory 4M in.bin out.bin && cmp want.bin out.bin && [ "$(stat -c %a out.bin)" = 640 ] || exit 1
  "$@" --memory 4M --stats stats --log-file log --resume-dir kept --verify-output in.bin out.bin && cmp want.bin out.bin || exit 2
  cat in.bin | "$@" --memory 4M --type i32 - - | cat >out.bin && cmp want.bin out.bin || exit 3
  "$@" --memory 4M --split 2 in.bin part && cat part-0.bin part-1.bin | cmp - want.bin || exit 4
  if setfacl -m u:65534:r,g::---,m::r out.bin 2>/dev/null; then
    getfacl -cn out.bin >acl && "$@" --memory 4M in.bin out.bin && getfacl -cn out.bin | cmp - acl || exit 5
  fi
  ./sort -S1M -o out.txt in.txt && ./sort <in.txt | cmp - out.txt || exit 6
SCRIPT
code=77
[ "$(id -u)" != 0 ] || sanitized || { code=0; unshare -m bash no_proc.sh "${g[@]}" >said 2>&1 || code=$?; }
[ $code != 77 ] || skip "needs root, unshare, and no sanitizer: a system without /proc"
[ $code = 77 ] || [ $code = 0 ] || fail "without /proc: step $code ($(tail -n 3 said))"
rm -rf out.* part* kept stats log

# The time of day jumps by years with each reading: lines may have strange times, but nothing else changes.
if sanitized; then
  skip "sanitizers do not load after another library: a clock that jumps"
else
  jumps=(env LD_PRELOAD="$bin/tests/libjumping_clock.so")
  expect 0 "${jumps[@]}" "${g[@]}" --log-format json --progress always --stats stats --log-file log --verify-output "${job[@]}"
  right
  expect 0 "${jumps[@]}" "${g[@]}" --resume-dir kept --checkpoint 1M "${job[@]}"
  right
  expect 0 "${jumps[@]}" "${g[@]}" --device cpu --memory 4M in.bin - >out.bin
  right
  python3 -I - <<'PY' || fail "times of a clock that jumps"
import json, re
events = [json.loads(line) for line in open("log")]
assert len({event["ts"][:4] for event in events}) > 1, "the clock did not jump"
for event in events:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["ts"]), event
    assert 0 <= event.get("seconds", 0) < 600, event
stats = json.load(open("stats"))
assert 0 < stats["seconds"] < 600, stats
assert all(0 <= phase["seconds"] < 600 for phase in stats["phases"]), stats
PY
  mkfifo pipe
  "${jumps[@]}" "$bin/gpusort" -o out.bin pipe 2>err & waits=$!
  exec 9>pipe
  kill -TERM $waits
  code=0
  wait $waits || code=$?
  exec 9>&-
  [ $code = 143 ] || fail "exit $code by SIGTERM, with a clock that jumps"
fi

# Stopped for a while, as by Ctrl-Z or a scheduler.
seconds=2
[ "$slow" = 0 ] || seconds=30
"$bin/gpusort_gen" --type i32 --bytes 8M --seed 2 in.bin
"${g[@]}" in.bin want.bin
pids=()
for options in '' '--resume-dir kept --checkpoint 1M --verify-output' '--progress always --compress-temp lz4'; do
  out=out.${#pids[@]}
  "$bin/gpusort" $options --type i32 --memory 4M in.bin $out 2>err.$out & pids+=($!)
done
sleep 0.03
kill -STOP "${pids[@]}" 2>/dev/null || true
sleep $seconds
kill -CONT "${pids[@]}" 2>/dev/null || true
for i in "${!pids[@]}"; do
  wait "${pids[$i]}" || fail "stopped and continued: exit $? ($(cat err.out.$i))"
  right "stopped" out.$i
done
nothing_left
echo "environment: ok"
