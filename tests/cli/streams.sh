# labels: brief first
# Tests pipes as input and output, FIFOs, devices, closed ends, and signals during a stall.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

"$bin/gpusort_gen" --type u64 --count 300000 --seed 2 in.u64
expect 0 "$g" in.u64 want.u64
expect 0 "$bin/gpusort_check" --type u64 --against in.u64 want.u64
cat in.u64 | "$g" --type u64 - - | cat >got.u64
same want.u64 got.u64
cat in.u64 | "$g" --type u64 --memory 4M - got2.u64
same want.u64 got2.u64
"$g" --memory 4M in.u64 - >got3.u64
same want.u64 got3.u64
# A redirected file is written from where it stands, and the next program writes after it. Each write moves the place
# that all writers of the file share, so two jobs lose nothing.
{ printf head; "$g" --memory 4M in.u64 -; printf tail; } >around
{ printf head; cat want.u64; printf tail; } >want.around
same want.around around
printf head >appended
"$g" --memory 4M in.u64 - >>appended
head -c 2400004 want.around | cmp - appended || fail "appended records differ"
"$g" --memory 4M --log-level error in.u64 - >both 2>&1
same want.u64 both
seq 1 50000 >a
seq 50001 100000 >b
{ "$g" --format lines a - & "$g" --format lines b - & wait; } >of_two
[ "$(LC_ALL=C sort -u of_two | wc -l)" = 100000 ] || fail "two jobs with one standard output lost lines"
# In memory (tmpfs), pages are made in advance. They change no byte.
if shm=$(mktemp -d /dev/shm/gpusort-cli-XXXXXX 2>/dev/null); then
  trap 'chmod -R u+rwx "$work" 2>/dev/null || true; rm -rf "$shm" "$work"' EXIT
  { printf head; "$g" --memory 4M in.u64 -; printf tail; } >"$shm/around"
  same want.around "$shm/around"
  printf head >"$shm/appended"
  cat in.u64 | "$g" --type u64 --memory 4M - - >>"$shm/appended"
  head -c 2400004 want.around | cmp - "$shm/appended" || fail "appended records differ in memory"
  cat in.u64 | "$g" --type u64 --memory 4M - "$shm/named"
  same want.u64 "$shm/named"
  { "$g" --format lines a - & "$g" --format lines b - & wait; } >"$shm/of_two"
  [ "$(LC_ALL=C sort -u "$shm/of_two" | wc -l)" = 100000 ] || fail "two jobs with one standard output lost lines in memory"
  rm -rf "$shm"
fi
# An error of a stream ends the job, also if other threads still prepare what was read before.
gzip -c in.u64 >whole.gz
head -c 1000000 whole.gz >cut.u64.gz
head -c 79999 in.u64 >cut.u64
for _ in $(seq "$(few && echo 3 || echo 8)"); do
  expect 3 taskset -c 0 "$g" --memory 64M --threads 16 cut.u64.gz got.cut
  expect 3 taskset -c 0 "$g" --memory 8M --threads 16 --type u64 - got.cut < <(cat cut.u64 || :)
  expect 3 taskset -c 0 "$g" --memory 8M --check --type u64 - < <(cat cut.u64 || :)
done
[ ! -e got.cut ] || fail "a damaged stream made an output"
"$bin/gpusort_gen" --type orders-csv --bytes 3M --seed 5 in.csv
for options in "-k city" "-k city -u" "-k city --top 100" "-r"; do
  "$g" --memory 8M --format csv $options in.csv want.csv
  { echo head; "$g" --memory 8M --format csv $options <in.csv; echo tail; } >got.csv
  { echo head; cat want.csv; echo tail; } | cmp - got.csv || fail "$options <in.csv >got.csv differs"
done
head -c 80000 in.u64 | "$g" --type u64 -u --memory 4M --batch-size 8000 - - >got4.u64
expect 0 "$bin/gpusort_check" --type u64 --unique got4.u64
# One byte at a time.
head -c 2000 in.u64 | python3 -c '
import os, sys
while True:
    b = os.read(0, 1)
    if not b: break
    os.write(1, b)' | "$g" --type u64 - - >slow.u64
expect 0 "$bin/gpusort_check" --type u64 slow.u64
[ "$(stat -c %s slow.u64)" = 2000 ] || fail "bytes were lost one at a time"
mkfifo fifo
cat in.u64 >fifo &
expect 0 "$g" --type u64 fifo got5.u64
same want.u64 got5.u64
expect 3 sh -c "head -c 12 in.u64 | '$g' --type u64 - -"
says 'offset 8'
expect 0 "$g" --type u64 - empty.out </dev/null
[ ! -s empty.out ] || fail "no input gave some output"
expect 0 "$g" in.u64 /dev/null
expect 5 "$g" in.u64 /dev/full
# -m of a stream: its order is checked while it is read.
expect 0 "$g" -m --type u64 -o merged.u64 - <want.u64
same want.u64 merged.u64
expect 3 "$g" -m --type u64 -o merged.u64 - <in.u64
says '-: not sorted: record'
# A stream that is never spilled needs no temp directory. A directory that an option names must be usable.
head -c 1024 in.u64 | TMPDIR=/nonexistent "$g" --type u64 - short.u64 || fail "a short stream asked for a temp directory"
expect 0 "$bin/gpusort_check" --type u64 short.u64
expect 2 sh -c "head -c 1024 in.u64 | '$g' --temp-dir /nonexistent --type u64 - short.u64"
says '/nonexistent'
expect 2 sh -c "cat in.u64 | TMPDIR=/nonexistent '$g' --memory 2M --type u64 - short.u64"
says 'temporary directory /nonexistent'
# A consumer that leaves ends the job silently by SIGPIPE.
set +e
"$g" in.u64 - 2>pipe_err | head -c 100 >/dev/null
codes=("${PIPESTATUS[@]}")
set -e
[ "${codes[0]}" = 141 ] || fail "exit ${codes[0]} instead of 141 when the consumer left"
[ ! -s pipe_err ] || fail "noise on a closed pipe: $(cat pipe_err)"

# stalled SIGNAL WANT COMMAND...: starts the command, waits, and sends the signal. The command must end within half a
# second. A busy machine gets ten times as long, and ten tries.
stalled() {
  local signal=$1 want=$2 pid begin end code try
  shift 2
  for try in {1..10}; do
    "$@" 2>/dev/null &
    pid=$!
    sleep 0.4
    kill -0 $pid 2>/dev/null || fail "ended before the signal: $*"
    begin=$(date +%s%N)
    kill "-$signal" $pid
    code=0
    wait $pid || code=$?
    end=$(date +%s%N)
    [ "$code" = "$want" ] || fail "exit $code instead of $want after SIG$signal: $*"
    [ $(((end - begin) / 1000000)) -ge 5000 ] || return 0
  done
  fail "took $(((end - begin) / 1000000)) ms to end after SIG$signal, and as long before: $*"
}
echo old >kept.u64
mkfifo silent1 silent2 silent3 nobody
sleep 3600 >silent1 2>/dev/null 200>&- & holder1=$!
stalled TERM 143 "$g" --type u64 silent1 kept.u64
sleep 3600 >silent2 2>/dev/null 200>&- & holder2=$!
stalled INT 130 env --default-signal=INT "$g" --type u64 silent2 kept.u64
stalled HUP 129 "$g" --type u64 silent3 kept.u64
stalled TERM 143 "$g" in.u64 nobody
mkfifo stuck
sleep 3600 <stuck >/dev/null 2>&1 200>&- & holder3=$!
stalled TERM 143 "$g" in.u64 stuck
kill $holder1 $holder2 $holder3 2>/dev/null || true
[ "$(cat kept.u64)" = old ] || fail "a stopped job changed its output"
nothing_left
echo "streams: ok"
