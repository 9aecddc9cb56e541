# labels: any_build hours
# No test may depend on the number of cores, on open descriptors, or on the kind of file system. Tests that plan memory
# for threads, count syncs or count descriptors must pass with 64 cores, many descriptors, and in a tmpfs.
# GPUSORT_SLOW=1: all unit tests, with 1, 2, 16, 32 and 64 cores, in a tmpfs and on the disk.
. "$2/tests/cli/common.sh.inc"
if sanitized || [ ! -x "$bin/tests/src_tests" ]; then
  echo "SKIPPED: needs the unit tests, and a build without sanitizers"
  exit 77
fi
programs=(src_tests) cores=(64)
filter='ExternalSortLines.OfAnyLength*:ExternalSortLines.OfAStreamMay*:MemoryShares.*:Resume.*Output*:ProgramCodecTest.*'
if [ "${GPUSORT_SLOW-}" = 1 ]; then
  programs=(kernels_tests io_tests src_tests) cores=(1 2 16 32 64) filter='*'
fi
chmod go+x "$work"  # for tests that give up the rights of root
folders=("$work")
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
  if [ "${GPUSORT_SLOW-}" = 1 ]; then folders+=(/dev/shm); else folders=(/dev/shm); fi
fi
# The claimed number of cores is used: the plan shows it.
head -c 8000 /dev/zero >in.u64
for n in "${cores[@]}"; do
  LD_PRELOAD="$bin/tests/libclaim_cores.so" CLAIM_CORES=$n "$bin/gpusort" --memory 4G --explain in.u64 out.u64 >plan
  # With a CPU quota there are fewer.
  [ "$n" = 1 ] || [ "$(nproc)" = 1 ] || ! grep -q 'CPU, 1 thread$' plan || fail "not $n cores: $(cat plan)"
  for folder in "${folders[@]}"; do
    for program in "${programs[@]}"; do
      (
        # Opens some descriptors with gaps between them.
        for ((fd = 20; fd < 80; fd += 3)); do eval "exec $fd</dev/null"; done
        LD_PRELOAD="$bin/tests/libclaim_cores.so" CLAIM_CORES=$n TMPDIR=$folder "$bin/tests/$program" \
          --gtest_filter="$filter" >log 2>&1
      ) || fail "$program with $n cores in $folder: $(grep -A 12 -m 3 Failure log || tail -n 5 log)"
    done
  done
done
echo "cores: ok"
