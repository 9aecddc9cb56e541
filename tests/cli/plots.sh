#!/usr/bin/env bash
# labels: any_build nightly
# Tests tools/plot-bench: it draws a small made-up table, draws the same picture each time, and says what it cannot
# draw.
. "$2/tests/cli/common.sh.inc"
plot=$src/tools/plot-bench
if ! /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
  echo 'skipped: matplotlib is missing (tools/install-deps --plots)'
  exit 77
fi

row() {  # WHAT TYPE SHAPE ITEMS NAME KIND MS
  printf '{"what": "%s", "type": "%s", "shape": "%s", "inputs": "random", "items": %s, "name": "%s", "kind": "%s", "ms": %s}' \
    "$@"
}
{
  echo '{"program": "gpusort_bench", "date": "2026-11-21T00:00:00Z", "commit": "abc123", "machine": {"gpu": "Test GPU"}, "rows": ['
  for items in 1024 1048576; do
    row merge i32 1:1 $items gpusort::MergeKeys gpusort 0.01; echo ,
    row merge i32 1:1 $items thrust::merge rival 0.08; echo ,
    row merge i32 1:1 $items tiled textbook 0.04; echo ,
    row merge i32 1:1 $items 'tiled, branch-free' textbook 0.02; echo ,
    row sort i32 all $items gpusort::SortKeys gpusort 0.1; echo ,
    row cmp i32 1:1 $items sequential textbook 2; echo ,
    row cmp i32 1:1 $items 'parallel, up to 2 threads' textbook 1; echo ,
  done
  row runs i64 '16 equal runs' 1024 gpusort::MergeRuns gpusort 1
  echo ']}'
} >made.json

expect 0 "$plot" --out one made.json
for name in speedup-i32 improvements-i32 merge-throughput sort-throughput cmp; do
  [ -s "one/$name.svg" ] || fail "no $name.svg"
  grep -q '<svg' "one/$name.svg" || fail "$name.svg is no SVG"
done
# No rival of MergeRuns in the table: no plot.
[ ! -e one/runs.svg ] || fail 'runs.svg without its rival'
for label in 'tiled, branch-free' gpusort::MergeKeys 'Test GPU, 2026-11-21, abc123'; do
  grep -qF "$label" one/improvements-i32.svg || fail "improvements-i32.svg does not name: $label"
done
grep -qF 'parallel, up to 2 threads' one/cmp.svg || fail 'cmp.svg lacks a curve'
expect 0 "$plot" --out two made.json
for name in one/*.svg; do same "$name" "two/${name#one/}"; done

echo '{"device": "x", "rows": []}' >other.json
expect 1 "$plot" --out three other.json
says 'other.json'
expect 1 "$plot" --out three missing.json
expect 2 "$plot"
expect 2 "$plot" --frobnicate made.json
[ ! -e three ] || fail 'a failed run left a folder'
