# Rows of Parquet that stay in memory while only their keys are sorted: the output has the same bytes as if the rows
# travelled with their keys, also if only a part of the rows fits into the memory for them.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
g=$bin/gpusort

parquet_python 'kept rows of Parquet'
parquet_module 'kept rows of Parquet'
python=$GPUSORT_PYTHON
"$python" - <<'END_OF_MAKE'
import decimal
import random
import pyarrow as pa
import pyarrow.parquet as pq
chance = random.Random(8)
count = 20000
some = lambda make: [make() if chance.random() < 0.8 else None for _ in range(count)]
table = pa.table({
    "row": pa.array(range(count), pa.int64()),
    "list": some(lambda: [chance.randbytes(2) for _ in range(chance.randrange(3))]),
    "text": some(lambda: chance.choice(["", "\n", "\x1d", "a" * chance.randrange(300)])),
    "number": some(lambda: chance.randrange(-5, 5)),
    "real": some(lambda: chance.choice([float("nan"), -0.0, 0.0, chance.random()])),
    "money": pa.array(some(lambda: decimal.Decimal(chance.randrange(9999)) / 100), pa.decimal128(30, 2)),
    "group": some(lambda: {"a": chance.randrange(9), "b": chance.choice([None, "x"])})})
pq.write_table(table.slice(0, 12000), "one.parquet", row_group_size=5000)
pq.write_table(table.slice(12000), "two.parquet", row_group_size=3000, compression="zstd")
pq.write_table(table.slice(0, 0), "none.parquet")
# The first row group lets the program expect rows of some 80 bytes.
long = 120000
keys = list(range(long))
chance.shuffle(keys)
texts = ["short" * 8] * 5000 + [f"{key % 100:0>1000}" for key in keys[5000:]]
pq.write_table(pa.table({"key": keys, "row": range(long), "again": range(long), "text": texts}), "long.parquet",
               row_group_size=5000, compression="zstd")
END_OF_MAKE

# kept_as WHAT OPTION...: requires that --explain says WHAT about the rows.
kept_as() {
  expect 0 "$g" --explain "${@:2}" >plan
  grep -q "^rows  *$1" plan || fail "rows are not '$1': $(grep '^rows' plan)"
}
for keys in '-k row' '-k text -k row' '-k number:desc -k text' '-k real -k money:desc' '-k money:nulls-first' '-r -k text'; do
  # shellcheck disable=SC2086
  set -- $keys --row-group-size 64K one.parquet two.parquet
  kept_as 'stay in memory' --memory 450M "$@" -o kept.parquet
  kept_as 'travel' --memory 64M "$@" -o whole.parquet
  expect 0 "$g" --memory 450M "$@" -o kept.parquet
  expect 0 "$g" --memory 64M "$@" -o whole.parquet
  same whole.parquet kept.parquet
done
for option in '-u' '--top 9' '--verify-output' '--split 2' '--keep-order -u' '-m' '--resume-dir state' '--minus two.parquet'; do
  # shellcheck disable=SC2086
  kept_as 'travel' --memory 450M -k number $option -o out.parquet one.parquet
done

# An empty input does not hide how large the rows are, and rows that are hardly more than their keys do not stay.
kept_as 'stay in memory' --memory 450M -k number -o out.parquet none.parquet one.parquet
kept_as 'travel' --memory 450M -k row -k text -k number -k real -k money -o out.parquet none.parquet

# Without keys there is nothing to go with references: the rows travel.
kept_as 'travel' --memory 450M --shuffle --seed 5 -o out.parquet one.parquet
expect 0 "$g" --memory 450M --shuffle --seed 5 -o out.parquet one.parquet
"$python" - <<'END_OF_CHECK'
import pyarrow.parquet as pq
found, rows = pq.read_table("out.parquet"), pq.read_table("one.parquet")
assert found["row"] != rows["row"] and found.sort_by("row")["text"] == rows["text"]
END_OF_CHECK

# The threads that read and that make keys come to a new input at about the same time.
"$python" - <<'END_OF_MANY'
import pyarrow as pa
import pyarrow.parquet as pq
for i in range(100):
    rows = range(i * 50, i * 50 + 50)
    pq.write_table(pa.table({"row": rows, "pad": ["x" * 60] * 50, "key": [row * 7919 % 1009 for row in rows]}), f"many{i}.parquet")
END_OF_MANY
for _ in 1 2 3 4 5; do
  expect 0 "$g" --memory 450M -k key -o out.parquet many?.parquet many??.parquet
  "$python" - <<'END_OF_CHECK'
import pyarrow.parquet as pq
found = pq.read_table("out.parquet")
assert found["row"].to_pylist() == sorted(range(5000), key=lambda row: row * 7919 % 1009)
END_OF_CHECK
done

# Limits and statistics are those of the rows, and not those of the references to them.
for memory in 64M 450M; do
  expect 3 "$g" --memory $memory --max-expanded 500K -k row -o out.parquet one.parquet
  says 'expands to more than 512000 bytes (--max-expanded)'
  expect 3 "$g" --memory $memory --max-record 300 -k row -o out.parquet one.parquet
  says 'one.parquet: a row takes [0-9]* bytes, more than 300: allow it with --max-record'
  expect 0 "$g" --memory $memory --stats stats -k row -o out.parquet one.parquet
  grep -oE '"(input|output)_bytes": *[0-9]+' stats >"stats.$memory"
done
same stats.64M stats.450M
# Little memory is never too little because of the rows that stay in memory.
for memory in 100M 140M 250M 270M 290M; do
  expect 0 "$g" --memory $memory -k row -o out.parquet one.parquet
done

# The store of the rows is full after about half of them.
kept_as 'stay in memory' --memory 450M -k key -o out.parquet long.parquet
expect 0 "$g" --memory 450M --threads 3 -k key -o out.parquet long.parquet
"$python" - <<'END_OF_CHECK'
import pyarrow.parquet as pq
assert pq.read_table("out.parquet").equals(pq.read_table("long.parquet").sort_by("key"))
END_OF_CHECK
nothing_left
