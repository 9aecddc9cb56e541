#!/usr/bin/env bash
# labels: any_build
# The CUDA backend is a module. Tests a replacement module that needs no GPU: whole jobs through it, and its errors.
# Also tests the messages about a module that is missing, broken, of another kind, or of another version.
. "$2/tests/cli/common.sh.inc"
stand_in=$bin/tests/stand_in_module.so
[ -e "$stand_in" ] || { echo 'SKIPPED: a build without the module of tests: modules in place of the CUDA backend'; exit 77; }
gpu() { env GPUSORT_CUDA_MODULE="$module" "$bin/gpusort" --memory 64M "$@"; }
# refused WORDS: the module sorts nothing, the old output stays, and the CPU works as always.
refused() {
  echo old >out.log
  expect 7 gpu --device gpu in.log out.log
  says "$1"
  [ "$(wc -l <err)" = 1 ] || fail "more than one line: $(cat err)"
  [ "$(cat out.log)" = old ] || fail 'the output was touched'
  expect 0 env GPUSORT_CUDA_MODULE="$module" "$bin/gpusort" in.log out.log
  same want.log out.log
}

"$bin/gpusort_gen" --type web-log --bytes 12M --seed 1 in.log
"$bin/gpusort_gen" --type u64 --bytes 8M --seed 2 in.u64
expect 0 "$bin/gpusort" --device cpu in.log want.log
expect 0 "$bin/gpusort" --device cpu in.u64 want.u64

module=$stand_in
expect 0 gpu --device gpu --stats stats.json in.log out.log
same want.log out.log
grep -q '"backend": *"fake GPU"' stats.json || fail "not through the module: $(cat stats.json)"
expect 0 env GPUSORT_CUDA_MODULE="$module" "$bin/gpusort" --device gpu --memory 16M --gpu-memory 16M in.u64 out.u64
same want.u64 out.u64
# The given memory is too small for any plan: one message says so.
expect 6 gpu --device gpu --gpu-memory 8M in.log out.log
says 'error: GPU memory of [0-9.]* MiB is too small for lines of 4194304 bytes (--max-record)$'
[ "$(wc -l <err)" = 1 ] || fail "more than one line: $(cat err)"
# Several GPUs: all of them, some, and one that is lost.
backend() { [ "$(sed -n 's/.*"backend": *"\([^"]*\)".*/\1/p' stats.json)" = "$1" ] || fail "not by $1: $(cat stats.json)"; }
export STAND_IN_GPUS=3
expect 0 gpu --device gpu:0,1,2 --gpu-memory 32M --stats stats.json in.log out.log
same want.log out.log
backend 'fake GPU 0 + fake GPU 1 + fake GPU 2'
expect 0 gpu --device gpu:2,0 --stats stats.json --type u64 in.u64 out.u64
same want.u64 out.u64
backend 'fake GPU 2 + fake GPU 0'
STAND_IN='one lost' expect 7 gpu --device gpu:0,1,2 --stats stats.json in.log out.log
says 'error: fake: illegal address'
unset STAND_IN_GPUS
ln -s "$bin/gpusort" sort
GPUSORT_CUDA_MODULE=$module GPUSORT_DEVICE=gpu LC_ALL=C ./sort in.log | cmp - want.log || fail 'as sort'
as_sort() { env STAND_IN_GPUS=2 GPUSORT_CUDA_MODULE="$module" GPUSORT_DEVICE="$1" LC_ALL=C ./sort -S 8M -o out.log in.log; }
expect 0 as_sort gpu:1,0
cmp out.log want.log || fail 'as sort, by some GPUs'
expect 2 as_sort gpu:2
says 'there is no GPU 2'
# An exception from the module arrives with its type. Without a driver the message is that of --version.
STAND_IN=open expect 7 gpu --device gpu:3 in.log out.log
says 'there is no GPU 3: found 0'
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/nvidia0 ] && [ ! -e /dev/dxg ]; then
  says "error: there is no NVIDIA driver here; $module would use it; --device cpu sorts without it (there is no GPU 3"
  gpu --version >version
  grep -q "no GPU: there is no NVIDIA driver here; $module would use it$" version || fail "--version: $(cat version)"
fi
STAND_IN=lost expect 7 gpu --device gpu in.log out.log
says 'fake: illegal address'
STAND_IN=oom expect 6 gpu --device gpu in.log out.log
says 'out of memory'

STAND_IN=version refused 'is of gpusort 0.0.9+12345678, this program is gpusort [0-9.]*+[0-9a-f]\{8\}: install both'
module=$bin/tests/libno_tmpfile.so
refused "$module is no CUDA module of gpusort"
module=$work/cut.so
head -c 20 "$stand_in" >"$module"
refused 'cannot be loaded: .*cut.so: file too short'
for bytes in 100 3000 $(($(stat -c %s "$stand_in") / 2)); do
  head -c $bytes "$stand_in" >"$module"
  refused 'cut.so is not whole: install or copy it again'
done
module=$work/none.so
refused "there is no CUDA module: no $module; install the package gpusort-cuda"
module=''
grep -q "^backend: no GPU: there is no CUDA module: .*gpusort-cuda" <(GPUSORT_CUDA_MODULE=$work/none.so "$bin/gpusort" --version) ||
  fail '--version does not say that there is no module'
if [ ! -e "$bin/gpusort_cuda.so" ]; then refused "there is no CUDA module: no $bin/gpusort_cuda.so, no "; fi

# The module is found next to the program, and in the prefix that contains the program.
mkdir -p prefix/bin prefix/lib/gpusort
cp "$bin/gpusort" prefix/bin/
for place in prefix/bin prefix/lib/gpusort; do
  cp "$stand_in" $place/gpusort_cuda.so
  grep -qF "$work/$place/gpusort_cuda.so" <(prefix/bin/gpusort --version) || fail "not found in $place"
  expect 0 prefix/bin/gpusort --device gpu --memory 64M in.u64 out.u64
  rm $place/gpusort_cuda.so
done
same want.u64 out.u64

# The modules of codecs: without its module a codec is an error with a reason, and everything else works.
seq 10 >ten
"$bin/gpusort" ten ten.zst
mkdir alone
cp "$bin/gpusort" alone/
alone() { alone/gpusort --memory 64M "$@"; }
says_of_codec() {
  echo old >kept.zst
  expect 4 alone ten kept.zst
  says "$1"
  [ "$(cat kept.zst)" = old ] || fail "the output has changed: $1"
  expect 4 alone ten.zst kept
  says "$1"
  expect 0 alone ten kept
}
says_of_codec "there is no module of codec zst: no $work/alone/gpusort_zst.so, no $work/lib/gpusort/gpusort_zst.so and no .*; install gpusort"
cp "$bin/gpusort_zst.so" alone/
expect 0 alone ten.zst out
same out <(sort ten)
head -c 5000 "$bin/gpusort_zst.so" >alone/gpusort_zst.so
says_of_codec "the module of codec zst $work/alone/gpusort_zst.so is not whole"
sed 's/[0-9]\.[0-9]\.[0-9]+[0-9a-f]\{8\}/0.0.9+12345678/' "$bin/gpusort_zst.so" >alone/gpusort_zst.so
says_of_codec "the module of codec zst .* is of gpusort 0.0.9+12345678, this program is gpusort [0-9.]*+[0-9a-f]\{8\}: install both"
cp "$bin/gpusort_lz4.so" alone/gpusort_zst.so
says_of_codec "is no module of codec zst of gpusort: it has no gpusort_codec_zst"
