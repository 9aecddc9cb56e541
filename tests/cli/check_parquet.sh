# labels: any_build
# Tests gpusort_check on Parquet: orders that are right, and each kind of fault.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
parquet_python 'gpusort_check on Parquet'
check() { "$bin/gpusort_check" --format parquet "$@" >report; }
reports() { grep -q -- "$1" report || fail "no '$1' in: $(cat report)"; }

cat >make.py <<'PY'
import pyarrow as pa
import pyarrow.parquet as pq

nan, inf = float("nan"), float("inf")
table = pa.table({
    "id": pa.array([3, 1, 2, 1, None, 2], pa.int32()), "n": pa.array([1, 2, 3, 4, 5, 6], pa.uint64()),
    "f": [0.0, -0.0, nan, inf, None, -inf], "s": ["b", "a", "B", "line\nbreak", "", None],
    "l": [[1], [], None, [None], [1, 2], [2, 1]], "t": [{"x": "a", "y": None}, None, {"x": None, "y": 1}] * 2,
    "m": pa.array([[("a", 1)], [], None, [("b", None)], [("a", 1), ("b", 2)], [("b", 2), ("a", 1)]], pa.map_(pa.string(), pa.int64()))})
schema = table.schema.set(0, table.schema.field(0).with_metadata({"PARQUET:field_id": "7"})).with_metadata({"from": "a test"})
table = table.cast(schema)


def write(name, rows, of=table, **options):
    pq.write_table(of.take(list(rows) or pa.array([], pa.int64())), name + ".parquet", **options)


by_id = [1, 3, 2, 5, 0, 4]
write("in", range(6))
write("first", [0, 1, 2])
write("second", [3, 4, 5])
write("out", by_id, row_group_size=4, sorting_columns=[pq.SortingColumn(0, False, False)])
write("desc", [4, 0, 2, 5, 1, 3])
write("unstable", [3, 1, 2, 5, 0, 4])
write("unique", [1, 2, 0, 4])
write("second_of_equal", [3, 2, 0, 4])
write("lost", [1, 3, 2, 5, 0])
write("twice", [1, 1, 2, 5, 0, 4])
write("swapped", [1, 3, 5, 0, 2, 4])
write("claim", range(6), sorting_columns=[pq.SortingColumn(0, False, False)])


def changed(name, column, values):
    at = table.schema.get_field_index(column)
    write(name, by_id, table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type)))


changed("zero", "f", [0.0, 0.0, nan, inf, None, -inf])
changed("nan", "f", [0.0, -0.0, -nan, inf, None, -inf])
changed("empty", "l", [[1], None, None, [None], [1, 2], [2, 1]])
changed("within", "l", [[1], [], None, [None], [2, 1], [2, 1]])
changed("moved", "s", ["ba", "", "B", "line\nbreak", "", None])
changed("text", "s", ["b", "a", "B", "line\nbreak", None, None])
changed("member", "t", [{"x": "a", "y": None}, {"x": None, "y": None}, {"x": None, "y": 1}] * 2)
write("name", by_id, table.rename_columns(["id", "n", "f", "s", "l", "t", "o"]))
write("type", by_id, table.set_column(1, "n", table["n"].cast(pa.int64())))
write("field_id", by_id, table.cast(schema.set(0, schema.field(0).with_metadata({"PARQUET:field_id": "8"}))))
write("metadata", by_id, table.replace_schema_metadata({"from": "another"}))
write("no_rows", [])
pq.write_table(pa.table({"k": [float(i) for i in [1, 2, 3]]}), "plain.parquet")
pq.write_table(pa.table({"g": [{"x": 1, "y": 2}] * 2, "k": [2, 1]}), "groups.parquet")
# The statistics of a column say that no value is greater than a number that is not the greatest.
pq.write_table(pa.table({"k": [1, 5, 0x1122334455667788]}), "numbers.parquet", compression="none")
data = open("numbers.parquet", "rb").read()
value = (0x1122334455667788).to_bytes(8, "little")
front = data.split(value)[0]
open("statistics.parquet", "wb").write(front + value + data[len(front) + 8:].replace(value, (77).to_bytes(8, "little")))
open("noise.parquet", "w").write("k\n1\n")
open("cut.parquet", "wb").write(open("in.parquet", "rb").read()[:-30])
PY
"$GPUSORT_PYTHON" make.py

# Right ones.
expect 0 check -k id --stable --against in.parquet out.parquet
reports '^records:    6$'
reports '^duplicates: 2$'
reports '^order:      ok$'
reports '^stable:     ok$'
expect 0 check -k id --stable --against first.parquet second.parquet out.parquet
expect 0 check -k id:desc --against in.parquet desc.parquet
expect 0 check -k id -r --stable --against in.parquet desc.parquet
expect 0 check -k '#1' -k n out.parquet
expect 0 check -k '#2:desc' groups.parquet  # a group is one column, as for gpusort
expect 0 check -k id --unique --against in.parquet unique.parquet
expect 0 check --any-order --against in.parquet unstable.parquet
expect 0 check -k id --against in.parquet unstable.parquet
expect 0 check -k id --against no_rows.parquet no_rows.parquet
expect 0 check plain.parquet
expect 0 check -k id:desc:nulls-last -k n:desc --stable --against no_rows.parquet no_rows.parquet

# Faults.
wrong() {
  local message=$1
  shift
  expect 1 check "$@"
  says "$message"
}
wrong "not in order: row 1 is out of order with the row before it: key 'id' is 1 after 3" -k id in.parquet
wrong "row 5 is out of order with the row before it: key 'id:nulls-first' is null after 3" -k id:nulls-first out.parquet
wrong 'has the key of the row before' -k id --unique out.parquet
wrong 'row 0 is not the next of the inputs with its key' -k id --stable --against in.parquet unstable.parquet
wrong 'row 0 is not the first of the records with its key' -k id --unique --against in.parquet second_of_equal.parquet
wrong 'has 5 records, the input 6' -k id --against in.parquet lost.parquet
wrong 'the records are not those of the input' -k id --against in.parquet twice.parquet
wrong 'not in order: row 4' -k id --against in.parquet swapped.parquet
for change in zero nan empty within moved text member; do
  wrong 'the records are not those of the input' --any-order --against in.parquet $change.parquet
done
wrong 'the schema is not that of ' -k id --against in.parquet name.parquet
wrong "'optional int64 field_id=-1 n;' instead of 'optional int64 field_id=-1 n (Int(bitWidth=64, isSigned=false));'" \
  -k id --against in.parquet type.parquet
wrong 'field_id=8 id' -k id --against in.parquet field_id.parquet
wrong 'the key-value metadata is not that of ' -k id --against in.parquet metadata.parquet
wrong "row group 0: sorting_columns is wrong: row 1 is out of order .* is 1 after 3" --any-order --against in.parquet claim.parquet
wrong "row group 0, column 'k': the values are from 1 to 1234605616436508552, and the statistics say 1 to 77" statistics.parquet

# Some versions of Arrow write blanks into the JSON of a type. An unsigned number is one in any form.
"$GPUSORT_PYTHON" -B - "$src/tools/check" <<'PY'
import sys
from types import SimpleNamespace as Fake
sys.path.insert(0, sys.argv[1])
import parquet
for blank in ("", " "):
    for sign, want in (("false", 2**32 - 1), ("true", -1)):
        text = f'{{"Type":{blank}"Int","bitWidth":{blank}32,"isSigned":{blank}{sign}}}'
        leaf = Fake(physical_type="INT32", logical_type=Fake(type="INT", to_json=lambda: text))
        assert parquet.raw_value(leaf, -1) == want, (text, parquet.raw_value(leaf, -1))
PY

# What cannot be checked.
refused() {
  local message=$1
  shift
  expect 2 check "$@"
  says "$message"
}
refused 'nested, which cannot be a key' -k l in.parquet
refused "no column 'x'; the columns are id, n, f, s, l, t, m" -k x in.parquet
refused 'nested, which cannot be a key' -k '#1' groups.parquet
refused 'the file has 2 columns' -k '#3' groups.parquet
refused 'cannot be checked as timestamp' -k id:timestamp in.parquet
refused "'ip' cannot be checked for Parquet" -k s:ip in.parquet
refused '--delimiter has no meaning with --format parquet' --delimiter ';' in.parquet
refused '--checksum has no meaning with --format parquet' --checksum in.parquet
refused 'FILE cannot be standard input' -k id -
expect 3 check -k k noise.parquet
says "'noise.parquet': "
expect 3 check cut.parquet
says "'cut.parquet': "
expect 4 check -k id absent.parquet
says "'absent.parquet': No such file or directory"

# Without pyarrow, or without python3.
printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$GPUSORT_PYTHON" >bare
chmod +x bare
GPUSORT_PYTHON=./bare refused 'needs a python3 that has pyarrow and numpy' -k id in.parquet
GPUSORT_PYTHON=./nothing refused "needs a python3 that has pyarrow and numpy: './nothing': No such file" -k id in.parquet
echo 'check_parquet: ok'
