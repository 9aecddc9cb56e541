# labels: any_build
# Tests tools/plot-bench: it draws a small made-up table, draws the same picture each time, and says what it cannot
# draw. The pictures of data/bench are those of its data, and their text is readable.
. "$2/tests/cli/common.sh.inc"
plot=$src/tools/plot-bench

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
  for theme in light dark; do
    python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "one/$name-$theme.svg" || fail "$name-$theme.svg is no SVG"
  done
done
# No rival of MergeRuns in the table: no plot.
[ ! -e one/runs-light.svg ] || fail 'runs-light.svg without its rival'
for label in 'tiled, branch-free' gpusort::MergeKeys 'Test GPU, 2026-11-21, abc123'; do
  grep -qF "$label" one/improvements-i32-dark.svg || fail "improvements-i32-dark.svg does not name: $label"
done
grep -qF 'parallel, up to 2 threads' one/cmp-light.svg || fail 'cmp-light.svg lacks a curve'
expect 0 "$plot" --out two made.json
for name in one/*.svg; do same "$name" "two/${name#one/}"; done

echo '{"device": "x", "rows": []}' >other.json
expect 1 "$plot" --out three other.json
says 'other.json'
expect 1 "$plot" --out three missing.json
expect 2 "$plot"
expect 2 "$plot" --frobnicate made.json
[ ! -e three ] || fail 'a failed run left a folder'

# The pictures of data/bench.
expect 0 "$plot" --out drawn "$src/data/bench/h200-kernels.json" "$src/data/bench/h200-cores-merge.json"
for picture in drawn/*; do
  cmp "$picture" "$src/data/bench/plots/${picture#drawn/}" || fail "${picture#drawn/} is not what tools/plot-bench makes of data/bench"
done
grep -o 'plots/[^")]*[.]svg' "$src/data/bench/README.md" | while read -r picture; do
  [ -s "$src/data/bench/$picture" ] || fail "data/bench/README.md names $picture, which is not there"
done
for picture in "$src"/data/bench/plots/*-light.svg; do
  grep -qF "${picture##*/}" "$src/data/bench/README.md" "$src/README.md" || fail "no page shows or names ${picture##*/}"
done
python3 - drawn/* <<'PY'
import sys
from xml.etree import ElementTree

def luminance(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(w * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip((0.2126, 0.7152, 0.0722), parts))

for path in sys.argv[1:]:
    ground, *shapes = [e for e in ElementTree.parse(path).getroot() if not e.tag.endswith("title")]
    width, places, curves = float(ground.get("width")), {}, 0
    for shape in shapes:
        if not shape.tag.endswith("text"):
            curves += shape.get("stroke-width") == "2.5" and "stroke-dasharray" not in shape.attrib
            continue
        low, high = sorted((luminance(ground.get("fill")), luminance(shape.get("fill"))))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (path, shape.attrib)
        # Letters are at most 0.55 of their height wide, as a mean.
        size = 0.55 * float(shape.get("font-size", 14)) * len(shape.text)
        begin = float(shape.get("x")) - {"end": size, "middle": size / 2, None: 0}[shape.get("text-anchor")]
        assert 0 <= begin and begin + size <= width + 1, (path, shape.text)
        # Labels of curves begin at one place, and no two of them overlap.
        if shape.get("text-anchor") is None and begin > 100:
            assert all(abs(y - float(shape.get("y"))) > 14 for x, y in places if x == begin), (path, shape.text)
            places[begin, float(shape.get("y"))] = shape.text
    panels = sum(shape.get("font-size") == "16" for shape in shapes)
    assert 1 <= curves <= 4 * panels, (path, curves, panels)
PY
