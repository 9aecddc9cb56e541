#!/usr/bin/env bash
# labels: any_build nightly
# The registers, spills and shared memory of each kernel must be those in data/kernels-sm90.txt. With another compiler,
# or in a build without sm_90, the test is skipped.
. "$2/tests/cli/common.sh.inc"

skip() {
  echo "skipped: $*"
  exit 77
}

kept=$src/data/kernels-sm90.txt
[ "$(sed -n 's/^GPUSORT_CUDA:[A-Z]*=//p' "$bin/CMakeCache.txt")" = ON ] || skip 'a build without CUDA'
[ -e "$kept" ] || fail 'data/kernels-sm90.txt is missing: tools/kernel-resources --update'
"$src/tools/kernel-resources" "$bin" >now || fail 'no table from this build'
grep -qv '^#\|^$' now || skip 'this build is not for sm_90'
compiler() { sed -n '1s/.*by nvcc \([0-9.]*\):.*/\1/p' "$1"; }
[ -n "$(compiler now)" ] || fail 'the table does not say which nvcc'
[ "$(compiler now)" = "$(compiler "$kept")" ] ||
  skip "nvcc $(compiler now) here, nvcc $(compiler "$kept") in data/kernels-sm90.txt"
if ! diff -U 0 "$kept" now >changes; then
  echo 'registers  stack  spill stores  spill loads  shared  barriers  kernel'
  grep '^[-+] *[0-9]' changes | sort -k8 | sed -n 1,40p
  fail "$(grep -c '^+ *[0-9]' changes || true) kernels changed (-: kept, +: now). If that is meant: tools/kernel-resources --update, and say why in the commit"
fi
echo "kernel_resources: $(grep -c '^ *[0-9]' now) kernels as in data/kernels-sm90.txt"
