# labels: any_build nightly serial
# A disk that accepts all writes and fails when they must reach it: only fsync reports the errors. nbdkit keeps the disk
# in memory and fails its writes while a file exists. On top of nbdkit are nbdfuse, a loop device, and ext2 or ext4.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
for tool in nbdkit nbdfuse fusermount3 losetup mkfs.ext4 e2fsck; do
  command -v $tool >/dev/null || { echo "SKIPPED: no $tool (tools/install-deps --nightly): write-back errors"; exit 77; }
done
mkdir nbd mnt temp out
loop=
clean_up() {
  cd /
  umount "$work/mnt" 2>/dev/null || true
  [ -z "$loop" ] || losetup -d "$loop" 2>/dev/null || true
  fusermount3 -u "$work/nbd" 2>/dev/null || true
  kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
nbdkit -U "$work/socket" -f --filter=error memory 96M error-pwrite=EIO error-pwrite-rate=100% \
  error-pwrite-file="$work/bad" 2>/dev/null &
server=$!
trap clean_up EXIT
for _ in {1..500}; do [ ! -S socket ] || break; sleep 0.1; done
nbdfuse nbd/ --unix "$work/socket" 2>/dev/null &
for _ in {1..500}; do [ ! -e nbd/nbd ] || break; sleep 0.1; done
loop=$(losetup -f --show nbd/nbd 2>/dev/null) || { echo "SKIPPED: no FUSE or loop devices here: write-back errors"; exit 77; }

"$bin/gpusort_gen" --type u64 --bytes 8M --seed 3 in.u64
"$g" in.u64 want.u64
job=(--memory 4M --batch-bytes 500000 --log-level warn --type u64)
old_output() { [ "$(cat "$1")" = old ] || fail "a failed job changed its output: $1"; }
# Repairs the disk and empties the page cache.
well() {
  rm -f bad
  umount mnt
  e2fsck -fy "$loop" >/dev/null 2>&1 || true
  mount "$loop" mnt
}
for kind in ext2 ext4; do
  mkfs.$kind -q -F "$loop"
  mount "$loop" mnt
  # The output.
  echo old >mnt/kept.u64
  sync -f mnt
  touch bad
  expect 4 "$g" "${job[@]}" --temp-dir temp in.u64 mnt/kept.u64
  says 'mnt.*dmesg'
  well
  old_output mnt/kept.u64
  [ "$(ls mnt)" = "$(printf 'kept.u64\nlost+found')" ] || fail "left: $(ls -A mnt)"
  expect 0 "$g" "${job[@]}" --temp-dir temp in.u64 mnt/kept.u64
  umount mnt
  mount "$loop" mnt
  same want.u64 mnt/kept.u64
  rm mnt/kept.u64
  # Runs, which are not synced: the result is right, or there is an error.
  echo old >out/kept.u64
  sync -f mnt
  touch bad
  code=0
  "$g" "${job[@]}" --temp-dir mnt in.u64 out/kept.u64 2>err || code=$?
  case $code in
    0) same want.u64 out/kept.u64 ;;
    4 | 8) old_output out/kept.u64 ;;
    *) fail "exit $code with runs on a bad disk: $(cat err)" ;;
  esac
  well
  # Runs and output of a job that continues, from every state: with unwritten data in the cache, and without.
  for again in 0 1; do
    for delay in 0 0.03 0.06 0.1 0.2; do
      echo old >out/kept.u64
      resumed=("$g" "${job[@]}" --checkpoint 300000 --resume-dir mnt/job in.u64 out/kept.u64)
      { sleep $delay; touch bad; } &
      failing=$!
      code=0
      "${resumed[@]}" 2>err || code=$?
      wait $failing
      if [ $code = 0 ]; then
        same want.u64 out/kept.u64
      else
        [ $code = 4 ] || fail "exit $code with --resume-dir on a bad disk: $(cat err)"
        says 'mnt.*dmesg\|mnt.*EIO\|mnt.*read-only'
        old_output out/kept.u64
        rm -f bad
        if [ $again = 1 ] || [ $kind = ext4 ]; then well; fi
        code=0
        "${resumed[@]}" 2>err || code=$?
        # A failed write that no process has asked about is reported at the next sync, unless the file system was
        # mounted again.
        if [ $code = 4 ] && [ $again = 0 ] && [ $kind = ext2 ]; then
          code=0
          "${resumed[@]}" 2>err || code=$?
        fi
        if [ $code = 8 ]; then
          says 'remove'
          rm -rf mnt/job out/.gpusort-*
          expect 0 "${resumed[@]}"
        elif [ $code != 0 ]; then
          fail "exit $code when the disk is well again: $(cat err)"
        fi
        same want.u64 out/kept.u64
      fi
      well
      rm -rf mnt/job out/.gpusort-*
    done
  done
  umount mnt
done
nothing_left
echo "write_back: ok"
