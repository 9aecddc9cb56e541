# labels: hours
# Fails every system call and every allocation of memory, once and from then on, in small jobs of all kinds
# (every_call.py, fail_calls.cpp). GPUSORT_FAULTS is the number of faults to try (default 150, at places that a printed
# seed chooses). GPUSORT_SLOW=1 tries all.
. "$2/tests/cli/common.sh.inc"
command -v python3 >/dev/null || { echo "NOT TESTED: there is no python3"; exit 77; }
faults=${GPUSORT_FAULTS:-150}
[ "${GPUSORT_SLOW:-0}" = 0 ] || faults=0
options=()
if sanitized; then
  # The library of ASan must come first. It provides the memory functions.
  asan=$(ldd "$bin/gpusort" | awk '/libasan/ { print $3 }')
  [ -n "$asan" ] || { echo "NOT TESTED: TSan does not load after another library"; exit 77; }
  options=(--preload "$asan")
fi
python3 "$src/tests/cli/every_call.py" "$bin/gpusort" "$bin/tests/libfail_calls.so" "$faults" "${options[@]}" || exit 1
echo "every_call: ok"
