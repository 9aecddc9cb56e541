# labels: any_build
# The README's table of jobs and its pictures must be the output of tools/plot-bench for the current data/bench. They
# must be readable: text has a contrast of at least 4.5, bars of 3, and every shape is inside the picture.
. "$2/tests/cli/common.sh.inc"
mkdir -p root/data
cp -r "$src/data/bench" root/data/bench
cp "$src/README.md" root
rm -f root/data/bench/plots/jobs-*
expect 0 "$src/tools/plot-bench" --jobs root
for file in README.md data/bench/plots/jobs-light.svg data/bench/plots/jobs-dark.svg; do
  cmp "$src/$file" "root/$file" || fail "$file is not what tools/plot-bench --jobs makes of data/bench"
done
python3 - root/data/bench/plots/jobs-*.svg <<'PY'
import sys
from xml.etree import ElementTree

def luminance(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(w * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4) for w, c in zip((0.2126, 0.7152, 0.0722), parts))

for path in sys.argv[1:]:
    ground, *shapes = [e for e in ElementTree.parse(path).getroot() if not e.tag.endswith("title")]
    width, height = float(ground.get("width")), float(ground.get("height"))
    for shape in shapes:
        low, high = sorted((luminance(ground.get("fill")), luminance(shape.get("fill"))))
        text = shape.tag.endswith("text")
        assert (high + 0.05) / (low + 0.05) >= (4.5 if text else 3), (path, shape.attrib)
        # Letters are at most 0.55 of their height wide, as a mean.
        size = 0.55 * float(shape.get("font-size", 14)) * len(shape.text) if text else float(shape.get("width"))
        begin = float(shape.get("x")) - (size if shape.get("text-anchor") == "end" else 0)
        assert -8 <= begin and begin + size <= width + 1 and float(shape.get("y")) < height, (path, shape.text)
PY
# A message names what is missing.
rm root/data/bench/h200-tables.json
expect 1 "$src/tools/plot-bench" --jobs root
says 'h200-tables.json'
echo nothing >root/README.md
cp "$src/data/bench/h200-tables.json" root/data/bench
expect 1 "$src/tools/plot-bench" --jobs root
says 'JOBS'
