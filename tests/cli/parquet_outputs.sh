# Options for outputs of Parquet: --target-size, --verify-output, --keep-order, --resume-dir with a kill, names without
# an extension, rows in messages, and --explain. pyarrow makes the inputs and reads the outputs.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
g=$bin/gpusort

# --target-size: the number of parts, of any format.
"$bin/gpusort_gen" --type u64 --count 100000 --seed 1 in.u64
expect 0 "$g" --target-size 250000 -o part in.u64
[ "$(echo part-*.u64)" = 'part-0.u64 part-1.u64 part-2.u64 part-3.u64' ] || fail "parts: $(echo part-*)"
expect 0 "$g" in.u64 want.u64
cat part-*.u64 | cmp - want.u64 || fail 'the parts are not the output'
expect 0 "$g" --target-size 1G -o one in.u64
same want.u64 one-0.u64
[ ! -e one-1.u64 ] || fail 'a second part'
printf 'a\n' | gzip >in.gz
refused() {
  expect 2 "$g" "${@:2}"
  says "$1"
}
refused 'exclude each other' --target-size 1M --split 2 -o part in.u64
refused "the size of 'in.gz' is not known, because it is compressed" --target-size 1M -o part in.gz
refused 'the size of standard input is not known' --target-size 1M -o part - <in.u64
refused '--target-size makes 800 files, and 256 are possible: give at least 3.1K' --target-size 1000 -o part in.u64
refused '--target-size needs a file' --target-size 1M in.u64

parquet_python 'outputs of Parquet'
parquet_module 'outputs of Parquet'
python=$GPUSORT_PYTHON
"$python" - <<'END_OF_MAKE'
import random
import pyarrow as pa
import pyarrow.parquet as pq
chance = random.Random(3)
count = 60000
table = pa.table({
    "a": pa.array([chance.randrange(10**9) for _ in range(count)], pa.int64()),
    "text": [chance.randbytes(9).hex() + "\n\x00" for _ in range(count)],
    "few": pa.array([chance.choice([None, 1, 2, 3]) for _ in range(count)], pa.int32()),
    "row": pa.array(range(count), pa.int32())})
pq.write_table(table, "in.parquet", row_group_size=10000)
END_OF_MAKE
rows() {
  "$python" -c 'import sys, pyarrow.parquet as pq
print(*[pq.ParquetFile(name).metadata.num_rows for name in sys.argv[1:]])' "$@"
}
column() {
  "$python" -c 'import sys, pyarrow.parquet as pq
print(*pq.read_table(sys.argv[1])[sys.argv[2]].to_pylist())' "$@"
}

# If a row group cannot be written, the thread that writes it ends the job.
for threads in 1 3; do
  expect 5 "$g" --device cpu --threads $threads --row-group-size 100K -k a -o /dev/full in.parquet
  says 'write /dev/full at 0: ENOSPC'
done

# Parts of Parquet have ranges of the key that do not overlap.
size=$(stat -c %s in.parquet)
expect 0 "$g" --target-size $((size / 3)) --verify-output -k a -o part in.parquet
[ "$(echo part-*.parquet)" = 'part-0.parquet part-1.parquet part-2.parquet part-3.parquet' ] || fail "$(echo part-*)"
"$python" - <<'END_OF_CHECK'
import json
import pyarrow.parquet as pq
parts = [pq.read_table(f"part-{i}.parquet")["a"].to_pylist() for i in range(4)]
assert sum(parts, []) == sorted(pq.read_table("in.parquet")["a"].to_pylist())
assert all(one[-1] < other[0] for one, other in zip(parts, parts[1:])) and min(map(len, parts)) > 5000
assert [p["records"] for p in json.load(open("part.manifest.json"))["parts"]] == [len(part) for part in parts]
END_OF_CHECK

# --verify-output reads the rows again.
expect 0 "$g" --verify-output -k text in.parquet out.parquet
expect 0 "$g" --check -k text out.parquet
expect 0 "$g" --verify-output -u -k few -k 'text:desc' in.parquet out.parquet
expect 0 "$g" --verify-output -k 'hilbert(a,few)' in.parquet curve.parquet
[ "$(rows curve.parquet)" = 60000 ] || fail "$(rows curve.parquet)"

# -u --keep-order keeps the first rows, in the order of the input.
expect 0 "$g" -u --keep-order -k few in.parquet out.parquet
want=$("$python" -c 'import pyarrow.parquet as pq
values = pq.read_table("in.parquet")["few"].to_pylist()
print(*sorted(values.index(value) for value in set(values)))')
[ "$(column out.parquet row)" = "$want" ] || fail "$(column out.parquet row) instead of $want"
"$python" -c 'import pyarrow.parquet as pq
assert pq.ParquetFile("out.parquet").metadata.row_group(0).sorting_columns == ()'
head_of() { "$python" -c 'import pyarrow.parquet as pq
pq.write_table(pq.read_table("in.parquet").slice(100, 59000), "head.parquet")'; }
head_of
expect 0 "$g" --keep-order -k row --minus head.parquet in.parquet out.parquet
[ "$(column out.parquet row)" = "$(seq -s ' ' 0 99) $(seq -s ' ' 59100 59999)" ] || fail "$(column out.parquet row)"

# --resume-dir: a job that is killed again and again ends with the same bytes.
expect 0 "$g" --memory 64M --device cpu -k text in.parquet want.parquet
resume_job() { exec "$g" --resume-dir job --memory 64M --batch-bytes 1M --device cpu -k text -o out.parquet in.parquet; }
rm -f out.parquet
kills=0
for pause in 0.05 0.1 0.15 0.2 0.3 0.4; do
  (resume_job) 2>err &
  sleep $pause
  kill -KILL $! 2>/dev/null && kills=$((kills + 1))
  wait $! 2>/dev/null || true
  [ ! -e out.parquet ] || break
done
(resume_job) 2>err || fail "exit $?: $(cat err)"
[ ! -e job ] || fail "a job that is done left $(ls -A job)"
[ "$(column out.parquet row)" = "$(column want.parquet row)" ] || fail 'a job that was killed has other rows'
echo "parquet_outputs: $kills kills"
# An input that changes between two attempts is noticed.
rm out.parquet
(resume_job) 2>err &
sleep 0.2
kill -KILL $! 2>/dev/null || true
wait $! 2>/dev/null || true
if [ -d job ]; then
  cp in.parquet kept.parquet
  touch -d yesterday in.parquet
  code=0
  (resume_job) 2>err || code=$?
  [ $code != 0 ] || fail 'a job went on with another input'
  rm -r job
fi

# Files whose names tell nothing.
cp in.parquet part-00000-c000
expect 0 "$g" -k a -o out.parquet part-00000-c000 in.parquet
[ "$(rows out.parquet)" = 120000 ] || fail "$(rows out.parquet)"
expect 0 "$g" -k a part-00000-c000 out
[ "$(rows out)" = 60000 ] || fail "$(rows out)"
printf 'PAR1 is text\n' >text
expect 0 "$g" text out.txt
same text out.txt

# Messages count rows.
expect 1 "$g" --check -k row -k a curve.parquet
says 'curve.parquet: not sorted: row [0-9]* sorts before the previous one'
expect 3 "$g" -m -k row -o out.parquet in.parquet curve.parquet
says 'curve.parquet: not sorted: row [0-9]* sorts before the previous one; sort it without -m'

"$python" -c 'import pyarrow as pa, pyarrow.parquet as pq; pq.write_table(pa.table({"n": ["1", "x", "2"]}), "words.parquet")'
expect 0 "$g" -k n:int words.parquet out.parquet
says 'ordered as null, the first in row 2'

# A column without a name is ordered by its type, as other columns are.
"$python" -c 'import pyarrow as pa, pyarrow.parquet as pq; pq.write_table(pa.table({"": [2, 1]}), "unnamed.parquet")'
expect 0 "$g" -k '""' unnamed.parquet out.parquet
printf 'a,\n1,x9\n2,x10\n' >unnamed.csv
expect 0 "$g" -k '""' unnamed.csv out.csv
[ "$(tail -n 1 out.csv)" = 1,x9 ] || fail "$(cat out.csv)"

# --explain describes files and keys.
expect 0 "$g" --explain -k few:desc -k text in.parquet >said
for words in '60000 rows in 6 row groups, snappy, by parquet-cpp' '4 columns: a INT64' 'few INT32 .*as int desc nulls-first' \
  'text BYTE_ARRAY.* as text asc nulls-last' 'row groups  *end at 128.0 MiB' 'libraries take up to 300 MB'; do
  grep -q "$words" said || fail "no '$words' in $(cat said)"
done
expect 0 "$g" --explain words.parquet >said
for words in 'key: all columns by their types' 'decoded to rows' 'a file of columns, whose decoded size is not known'; do
  grep -q "$words" said || fail "no '$words' in $(cat said)"
done
nothing_left
