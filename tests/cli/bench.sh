#!/usr/bin/env bash
# labels: any_build nightly serial
# Tests gpusort_bench: usage errors, a small run on the host, and on the GPU if there is one, with the JSON of each.
. "$2/tests/cli/common.sh.inc"
b=$bin/gpusort_bench
if [ ! -x "$b" ]; then
  echo 'skipped: a build without benchmarks'
  exit 77
fi

grep -q 'rowcol' <("$b" --help) || fail '--help does not name the subcommands'
expect 2 "$b"
expect 2 "$b" frobnicate
expect 2 "$b" cmp frobnicate
expect 2 "$b" cmp --types i99
says 'i99'
expect 2 "$b" cmp --types k16
expect 2 "$b" cmp --sizes 3..9
expect 2 "$b" cmp --sizes 12..9
expect 2 "$b" cmp --sizes 9
expect 2 "$b" cmp --step 0
expect 2 "$b" cmp --repetitions 5
expect 2 "$b" cmp --inputs conflict
expect 2 "$b" cmp --textbook maybe
expect 2 "$b" cmp --json
expect 2 "$b" cmp --nonsense 1
expect 2 "$b" cmp --json no/such/dir/x.json
says 'no/such/dir'

# rows FILE WORD...: prints how many rows of FILE contain every word.
rows() {
  local file=$1 pattern=$2
  grep '^  {' "$file" | grep -c -- "$pattern" || true
}
expect 0 "$b" cmp --types i32 --sizes 8..14 --step 3 --inputs random,equal --json cmp.json --commit abc123 >table
grep -q 'sequential' table || fail 'no table'
grep -q '"commit": "abc123"' cmp.json || fail 'the JSON has no commit'
# Sizes 2^8, 2^11 and 2^14, two distributions each.
[ "$(rows cmp.json '"name":"std::merge"')" = 6 ] || fail "not six rows of std::merge: $(cat cmp.json)"
[ "$(rows cmp.json '"items":2048')" -ge 8 ] || fail 'too few rows of one size'
[ "$(rows cmp.json '"name":"sequential, branch-free"')" = 6 ] || fail 'no textbook rows'
expect 0 "$b" cmp --types i32 --sizes 8..8 --textbook off --json plain.json >table
[ "$(rows plain.json 'branch-free')" = 0 ] || fail '--textbook off kept textbook rows'
[ "$(rows plain.json '"samples":21')" -ge 3 ] || fail 'fewer than 21 samples of a short merge'
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; [json.load(open(name)) for name in sys.argv[1:]]' cmp.json plain.json || fail 'broken JSON'
fi

gpu=(merge sort runs search rowcol --quick --sizes 7..13 --step 3)
case $(sed -n 's/^GPUSORT_CUDA:[A-Z]*=//p' "$bin/CMakeCache.txt") in
  OFF)
    expect 2 "$b" "${gpu[@]}"
    says 'without CUDA'
    ;;
  *)
    code=0
    "$b" "${gpu[@]}" --inputs random,sorted,reversed,equal,conflict --conflict-items 5 --conflict-run 160 \
      --json gpu.json >table 2>err || code=$?
    if [ "$code" = 7 ]; then
      says 'no GPU'
      echo 'bench: no GPU here: only its absence was tested'
      exit 0
    fi
    [ "$code" = 0 ] || fail "exit $code: $(tail -n 3 err)"
    for name in gpusort::MergeKeys gpusort::MergePairs thrust::merge cub::DeviceMerge circular 'double buffer' \
      gpusort::SortPairs cub::DeviceRadixSort gpusort::MergeRuns 'WideCoRank, 32 threads' 'column merge' copy; do
      [ "$(rows gpu.json "\"name\":\"$name\"")" -gt 0 ] || fail "no row of $name"
    done
    [ "$(rows gpu.json '"inputs":"conflict"')" -gt 0 ] || fail 'no conflict inputs'
    ;;
esac
