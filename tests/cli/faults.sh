# Tests full disks, limits, killed jobs, changing inputs, and short and failing system calls.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

"$bin/gpusort_gen" --type u64 --bytes 24M --seed 3 in.u64
expect 0 "$g" in.u64 want.u64
echo old >kept.u64
old_output() { [ "$(cat kept.u64)" = old ] || fail "a failed job changed its output ($1)"; }
spill=(--memory 8M --batch-size 1000000)

# The limit on file sizes counts as missing space.
(ulimit -f 4000; expect 5 "$g" in.u64 kept.u64)
says 'file-size limit of 4096000 bytes is reached: raise it (ulimit -f)'
(ulimit -f 4000; expect 5 "$g" in.u64 - >small.out)
says 'file-size limit of 4096000 bytes'
(ulimit -f 4000; expect 5 "$g" "${spill[@]}" --temp-dir . in.u64 - >/dev/null)
says 'no space for temporary runs.*file-size limit of 4096000 bytes'
rm small.out
old_output "ulimit -f"
if mkdir ram && mount -t ramfs ramfs ram 2>/dev/null; then
  expect 0 "$g" "${spill[@]}" --temp-dir ram in.u64 ram/out.u64
  same want.u64 ram/out.u64
  umount ram
else
  echo "SKIPPED: mounts are not allowed here: ramfs"
fi
if mkdir small && mount -t tmpfs -o size=10m tmpfs small 2>/dev/null; then
  trap 'cd /; umount "$work/small" 2>/dev/null || true; rm -rf "$work"' EXIT
  expect 5 "$g" "${spill[@]}" --temp-dir small in.u64 kept.u64
  says 'small'
  expect 5 "$g" "${spill[@]}" --temp-dir small --no-space-check in.u64 kept.u64
  says 'small'
  expect 5 "$g" in.u64 small/out.u64
  says 'small.*needed [0-9]* bytes.*free\|needed [0-9]* bytes.*free in.*small'
  [ -z "$(ls -A small)" ] || fail "left on the full disk: $(ls -A small)"
  old_output "full temp disk"
  # Output and runs on one tmpfs: space that the output has reserved is not free, even during the reservation.
  mount -o remount,size=40m small
  expect 5 env -u TMPDIR "$g" "${spill[@]}" in.u64 small/out.u64
  says 'temporary runs'
  mount -o remount,size=80m small
  expect 0 env -u TMPDIR "$g" "${spill[@]}" --verify-output in.u64 small/out.u64
  same want.u64 small/out.u64
  { echo zzz head; seq 200000 | tac; } >lines.txt
  { echo zzz head; seq 200000 | LC_ALL=C sort; } >want.txt
  expect 0 "$g" --header 1 --verify-output lines.txt small/lines.txt
  same want.txt small/lines.txt
  expect 0 "$g" --format lines -u lines.txt small/lines.txt
  LC_ALL=C sort -u lines.txt | cmp -s - small/lines.txt || fail "-u to a tmpfs differs from sort -u"
  rm small/*
  mount -o remount,size=10m small
  mkdir other
  expect 0 "$g" "${spill[@]}" --temp-dir small --temp-dir other --no-space-check in.u64 two.u64
  same want.u64 two.u64
else
  echo "SKIPPED: mounts are not allowed here: full disks"
fi

# Few file descriptors, and no environment.
(ulimit -n 24; expect 0 "$g" "${spill[@]}" in.u64 few.u64)
same want.u64 few.u64
expect 0 env -i "$g" "${spill[@]}" in.u64 env.u64
same want.u64 env.u64
if sanitized; then
  echo "SKIPPED: sanitizers reserve terabytes of addresses: ulimit -v"
else
  (ulimit -v 1000000; expect 0 "$g" "${spill[@]}" in.u64 limited.u64)
  same want.u64 limited.u64
fi

# If a thread is refused, the job uses fewer threads or ends with exit 6; it never waits for ever.
if sanitized; then
  echo "SKIPPED: sanitizers have threads of their own, and do not load after another library: threads that are refused"
else
  exits() {
    local code=0
    "$@" 2>err || code=$?
    [ $code = 6 ] || [ $code = 0 ] || fail "exit $code from: $* ($(cat err))"
    if [ $code = 6 ]; then says 'ulimit -u'; else same want.u64 threads.u64; fi
    rm -f threads.u64
    cat err >>errs
  }
  # A job that spills starts about 21 threads, and a job that does not spill starts 13.
  step=3
  [ "${GPUSORT_SLOW:-0}" = 0 ] || step=1
  for ((first = 1; first <= 22; first += step)); do
    for last in $first 1000; do
      refused=(timeout 600 env LD_PRELOAD="$bin/tests/librefuse_threads.so" REFUSE_FIRST=$first REFUSE_LAST=$last)
      exits "${refused[@]}" "$g" --threads 4 "${spill[@]}" in.u64 threads.u64
      [ $first -gt 13 ] || exits "${refused[@]}" "$g" --threads 4 in.u64 threads.u64
    done
  done
  grep -q 'refused . of 4 threads' errs || fail "nothing said of refused threads: $(sort errs | uniq -c)"
  if [ "$(id -u)" = 0 ] && setpriv --reuid $((60000 + $$ % 5000)) --clear-groups true 2>/dev/null; then
    chmod 777 .
    limited() { setpriv --reuid $((60000 + $$ % 5000)) --clear-groups env -u TMPDIR bash -c "ulimit -u $1"'; shift; exec "$@"' bash "$@"; }
    for threads in 1 3 5 8; do exits limited $threads "$g" --threads 4 "${spill[@]}" in.u64 threads.u64; done
    for threads in 12 24; do
      expect 0 limited $threads "$g" --threads 4 "${spill[@]}" in.u64 threads.u64
      same want.u64 threads.u64
      expect 0 limited $threads "$g" --threads 4 in.u64 threads.u64
      same want.u64 threads.u64
    done
    chmod 700 .
  else
    echo "SKIPPED: needs root and setpriv: ulimit -u"
  fi
fi

# Killed at any time: no file is left, and the old output is complete.
for delay in 0.01 0.03 0.06 0.1 0.15; do
  for signal in KILL TERM; do
    "$g" "${spill[@]}" --temp-dir . in.u64 kept.u64 2>/dev/null &
    pid=$!
    sleep $delay
    kill -$signal $pid 2>/dev/null || true
    wait $pid || true
    if cmp -s kept.u64 want.u64; then echo old >kept.u64; fi
    old_output "SIG$signal after $delay"
    left=$(find . -maxdepth 1 -name '.*' -type f)
    # Just before the rename the complete output has its hidden name.
    [ $signal = TERM ] || [ -z "$left" ] || { same want.u64 "$left"; rm "$left"; left=''; }
    [ -z "$left" ] || fail "SIG$signal left $left"
  done
done

# Injected errors of system calls.
if ! sanitized && command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  strace -f -o /dev/null -e trace=pread64 -e inject=pread64:error=EINTR:when=3+5 "$g" "${spill[@]}" in.u64 eintr.u64 ||
    fail "EINTR was not survived"
  same want.u64 eintr.u64
  code=0
  strace -f -o /dev/null -e trace=pwrite64 -e inject=pwrite64:error=ENOSPC:when=7+ "$g" "${spill[@]}" in.u64 kept.u64 2>err || code=$?
  [ $code = 5 ] || fail "exit $code instead of 5 at ENOSPC: $(cat err)"
  old_output ENOSPC
  code=0
  strace -f -o /dev/null -e trace=pread64 -e inject=pread64:error=EIO:when=4 "$g" "${spill[@]}" in.u64 kept.u64 2>err || code=$?
  [ $code = 4 ] || fail "exit $code instead of 4 at EIO: $(cat err)"
  old_output EIO
  code=0
  strace -f -o /dev/null -e trace=fsync -e inject=fsync:error=EIO:when=1 "$g" "${spill[@]}" in.u64 kept.u64 2>err || code=$?
  [ $code = 4 ] || fail "exit $code instead of 4 at a failed fsync: $(cat err)"
  old_output fsync
  # A write that the disk only claims to have made.
  code=0
  strace -f -o /dev/null -e trace=pwrite64 -e inject=pwrite64:retval=65536:when=9 "$g" "${spill[@]}" --block-size 64K in.u64 kept.u64 2>err || code=$?
  [ $code = 8 ] || fail "exit $code instead of 8 at a lost write: $(cat err)"
  old_output "lost write"
  says 'at [0-9]'
  # Without O_TMPFILE the new output has a name. A second signal ends the job at once and still leaves no file.
  mkfifo silent
  named=(--type u64 --threads 1 silent kept.u64)
  # Calls are counted for each thread. The first run finds the number of the call to fail, after which the input is
  # opened.
  strace -ff -o calls -e trace=openat "$g" "${named[@]}" &
  job=$!
  exec 9>silent
  pkill -TERM -P $job
  wait $job || true
  exec 9>&-
  nth=$(grep -hn O_TMPFILE calls.* | sed -n '1s/:.*//p')
  strace -f -o /dev/null -e trace=openat -e inject=openat:error=EOPNOTSUPP:when="$nth" "$g" "${named[@]}" &
  job=$!
  exec 9>silent
  [ -n "$(find . -maxdepth 1 -name '.gpusort-*')" ] || fail "no hidden output where O_TMPFILE is missing"
  for signal in STOP TERM HUP CONT; do pkill -$signal -P $job; done
  wait $job || true
  exec 9>&-
  nothing_left
  old_output "two signals"
  strace -f -o calls -e trace=openat,open "$g" "${spill[@]}" --temp-dir . in.u64 opened.u64
  ! grep -q "$work" <(grep 'O_CREAT' calls | grep -v O_EXCL) || fail "a file was created without O_EXCL"
else
  echo "SKIPPED: no strace, or a sanitizer that cannot be traced: injected system call errors"
fi
code=0
cp in.u64 moving.u64
"$g" --memory 8M -m -o kept.u64 moving.u64 2>err || code=$?
[ $code = 3 ] || fail "exit $code instead of 3: -m of an unsorted file ($(cat err))"
says 'moving.u64'
nothing_left
echo "faults: ok"
