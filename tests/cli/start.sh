#!/usr/bin/env bash
# labels: any_build
# Tests that the program starts fast: it needs only the C library and the unwinder, loads nothing before its first use,
# and starts no thread for small inputs. If a late load fails, a message says so.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
if ! grep -q '^GPUSORT_QUICK_START:BOOL=ON' "$bin/CMakeCache.txt"; then
  echo 'SKIPPED: a build with shared libraries: what the program loads at its start'
  exit 77
fi
needed=$(readelf -d "$g" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sort | xargs)
[ "$needed" = 'libc.so.6 libgcc_s.so.1' ] || fail "the program needs: $needed"

seq 10 | shuf >ten
ln -s "$g" sort
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  for command in './sort ten' "$g --version" "$g --help"; do
    strace -f -o calls $command >out
    ! grep -E '^[0-9]+ +clone|open.*gpusort_.*[.]so|libz|liblzma|libzstd|nvidia.*open' calls || fail "a thread, or a library, for $command"
  done
  strace -f -o calls "$g" ten one.gz
  ! grep -E 'open.*lib(bz2|lzma|zstd|lz4)' calls || fail 'the library of another codec than gz'
  strace -o calls ./sort ten >out
  ! grep -E '/(proc|sys)/.*(cgroup|cpu)' calls || fail 'ten lines are sorted by one core, however many there are'
else
  echo 'SKIPPED: what a start loads: strace cannot be used'
fi

# A library of the same name that is not a valid library is found first.
mkdir broken
for codec in gz bz2 xz zst lz4; do
  library=$(readelf -d "$bin/gpusort_$codec.so" | sed -n 's/.*(NEEDED).*\[\(lib\(z\|bz2\|lzma\|zstd\|lz4\)\.so.*\)\]/\1/p')
  [ -n "$library" ] || { echo "SKIPPED: the module of codec $codec contains its library"; continue; }
  echo none >"broken/$library"
  expect 4 env LD_LIBRARY_PATH="$PWD/broken" "$g" ten "out.$codec"
  says "the module of codec $codec cannot be loaded: .*/broken/lib"
  [ ! -e "out.$codec" ] || fail "an output for $codec"
  expect 0 "$g" ten "out.$codec"
  expect 4 env LD_LIBRARY_PATH="$PWD/broken" "$g" "out.$codec" lines
  says "the module of codec $codec cannot be loaded"
  rm "broken/$library"
done
