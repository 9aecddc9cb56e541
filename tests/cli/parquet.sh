# labels: first
# Sorting Parquet: types of keys, nested columns, nulls, several inputs, limits of memory, options and errors. pyarrow
# makes the inputs and reads the outputs.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
g=$bin/gpusort

# Without the module, each way to use Parquet says how to get it.
printf 'PAR1' >no.parquet
GPUSORT_PARQUET_MODULE=$work/none.so expect 2 "$g" -k a no.parquet out.parquet
says 'there is no module for Parquet.*tools/install-deps --parquet'
GPUSORT_PARQUET_MODULE=$work/none.so expect 2 "$g" --format parquet -k a no.parquet out.parquet
says 'there is no module for Parquet'
printf 'b\na\n' >lines.txt
GPUSORT_PARQUET_MODULE=$work/none.so expect 0 "$g" lines.txt lines.out

parquet_python 'Parquet'
parquet_module 'Parquet'
python=$GPUSORT_PYTHON
make() { "$python" "$src/tests/cli/parquet.py" make "$@"; }
# check OUTPUT KEY... : INPUT...: compares the output with the sorted rows of the inputs, at check_all.
check() { echo "$*" >>checks; }
check_all() { "$python" "$src/tests/cli/parquet.py" check <checks && rm checks; }

make a.parquet 700 1 row_group_size=300
make b.parquet 500 2 "compression='zstd'" "data_page_version='2.0'" use_dictionary=False
make none.parquet 0 3
make one.parquet 1 4

# Each type as a key, in both directions.
for key in i8 i32 i64 u32 u64 f32 f64 d9 d30 utc local day time text bytes fixed flag id word; do
  expect 0 "$g" -k $key -k row:desc a.parquet out-$key.parquet
  check out-$key.parquet $key row:desc : a.parquet
  few && continue
  expect 0 "$g" -k $key:desc b.parquet desc-$key.parquet
  check desc-$key.parquet $key:desc : b.parquet
done
expect 0 "$g" -k f64:desc -k d9:nulls-first -k text:desc:nulls-last a.parquet nulls.parquet
check nulls.parquet f64:desc d9:nulls_first text:desc:nulls_last : a.parquet
expect 0 "$g" -k text:nocase a.parquet out.parquet
expect 0 "$g" -k "#23:desc" a.parquet number.parquet
check number.parquet row:desc : a.parquet
expect 0 "$bin/gpusort_check" --format parquet -k '#23:desc' --against a.parquet number.parquet >checked
check_all
check number.parquet row : a.parquet
check_all 2>/dev/null && fail 'the check of an output found nothing'
rm checks

# Several inputs, an output that is an input, an empty input and one row.
expect 0 "$g" -k utc -k i32 -o four.parquet a.parquet none.parquet one.parquet a.parquet
check four.parquet utc i32 : a.parquet none.parquet one.parquet a.parquet
cp a.parquet same.parquet
expect 0 "$g" -k d30 -o same.parquet same.parquet
check same.parquet d30 : a.parquet
expect 0 "$g" -k i8 none.parquet out.parquet
[ ! -s err ] || fail "a message about an empty input: $(cat err)"
"$python" -c 'import pyarrow.parquet as pq; assert pq.read_table("out.parquet").num_rows == 0'
expect 0 "$g" -k i8 a.parquet - >stdout.parquet
check stdout.parquet i8 : a.parquet

# -u, --top, -m, --check, --minus and --explain.
expect 0 "$g" -u -k word -k flag a.parquet unique.parquet
check unique.parquet -u word flag : a.parquet
expect 0 "$g" --top 9 -k i64:desc a.parquet out.parquet
"$python" - <<'END'
import pyarrow.parquet as pq
values = pq.read_table("out.parquet")["i64"].to_pylist()
assert len(values) == 9
END
expect 0 "$g" -k i64 a.parquet sorted.parquet
expect 0 "$g" --check -k i64 sorted.parquet
expect 1 "$g" --check -k i64 a.parquet
expect 0 "$g" -m -k i64 -o merged.parquet sorted.parquet sorted.parquet
check merged.parquet i64 : sorted.parquet sorted.parquet
expect 3 "$g" -m -k i64 -o out.parquet a.parquet sorted.parquet
expect 0 "$g" -k row --minus one.parquet a.parquet out.parquet
"$python" -c 'import pyarrow.parquet as pq; assert pq.read_table("out.parquet").num_rows == 699'
expect 0 "$g" --explain -k i64 a.parquet out.parquet >explained
grep -q parquet explained || fail "$(cat explained)"
expect 0 "$g" --stats stats.json -k i64 a.parquet out.parquet
grep -q '"records_in": *700' stats.json || grep -q '"records": *700' stats.json || fail "$(cat stats.json)"

# The codec of the output.
expect 0 "$g" --compress zstd:5 -k i64 a.parquet out.parquet
"$python" -c '
import pyarrow.parquet as pq
group = pq.ParquetFile("out.parquet").metadata.row_group(0)
assert {group.column(i).compression for i in range(group.num_columns)} == {"ZSTD"}'
expect 2 "$g" --compress xz -k i64 a.parquet out.parquet
says "'xz': Parquet is compressed by"
expect 2 "$g" --compress zstd:99 -k i64 a.parquet out.parquet
says 'the levels of zstd are 1 to 22'
expect 2 "$g" --compress snappy lines.txt lines.out
says "'snappy' is none of"

# Bloom filters stay.
"$python" - <<'END'
import pyarrow as pa
import pyarrow.parquet as pq
pq.write_table(pa.table({"a": [3, 1, 2], "b": ["x", "z", "y"]}), "bloom.parquet", bloom_filter_options={"b": True})
END
expect 0 "$g" -k a bloom.parquet out.parquet
"$python" - <<'END'
import pyarrow.parquet as pq
group = pq.ParquetFile("out.parquet").metadata.row_group(0)
assert group.column(0).bloom_filter_offset is None and group.column(1).bloom_filter_offset is not None
END

# Row groups and parts.
make large.parquet 20000 5 row_group_size=2000
expect 0 "$g" --row-group-size 256K -k i64 large.parquet out.parquet
check out.parquet i64 : large.parquet
check_all
"$python" -c '
import pyarrow.parquet as pq
assert 5 < pq.ParquetFile("out.parquet").num_row_groups < 30, pq.ParquetFile("out.parquet").num_row_groups'
expect 2 "$g" --row-group-size 64K lines.txt lines.out
expect 0 "$g" --split 3 --compress zstd -k i64 -k row -o part a.parquet one.parquet
"$python" - <<'END'
import json
import pyarrow as pa
import pyarrow.parquet as pq
parts = [pq.read_table(f"part-{i}.parquet") for i in range(3)]
pq.write_table(pa.concat_tables(parts), "joined.parquet")
assert min(part.num_rows for part in parts) > 100, [part.num_rows for part in parts]
manifest = json.load(open("part.manifest.json"))
assert [part["records"] for part in manifest["parts"]] == [part.num_rows for part in parts]
END
expect 0 "$g" --check -k i64 -k row joined.parquet
expect 0 "$g" --split 5 -k i64 -o few one.parquet
"$python" -c 'import pyarrow.parquet as pq; assert [pq.read_table(f"few-{i}.parquet").num_rows for i in range(5)].count(0) == 4'

# The bytes of the output do not depend on the number of threads. Cases: many row groups, one row group, a dictionary
# that becomes too large, and Bloom filters, which lie after the pages of their row group.
"$python" - <<'END'
import pyarrow as pa
import pyarrow.parquet as pq
numbers = pa.array([row * 7919 % 200003 for row in range(200000)])
pq.write_table(pa.table({"i64": numbers, "b": [f"{row % 7}" for row in range(200000)]}), "wide.parquet")
pq.write_table(pa.table({"i64": numbers}), "filtered.parquet", bloom_filter_options={"i64": True}, row_group_size=30000)
END
make single.parquet $(few && echo 8000 || echo 20000) 6
same_bytes() {
  local threads
  for threads in 1 $(few || echo 2) 5; do
    expect 0 "$g" --device cpu --threads $threads -k i64 "$@" threads-$threads.parquet
    cmp threads-1.parquet threads-$threads.parquet || fail "--threads $threads gives other bytes: $*"
  done
}
same_bytes large.parquet
same_bytes --row-group-size 100K --compress zstd:5 single.parquet
same_bytes wide.parquet
same_bytes filtered.parquet
"$python" - <<'END'
import pyarrow.parquet as pq
metadata = pq.ParquetFile("threads-5.parquet").metadata
chunks = [metadata.row_group(i).column(0) for i in range(metadata.num_row_groups)]
assert len(chunks) == 7
for this, after in zip(chunks, chunks[1:]):
    assert this.data_page_offset < this.bloom_filter_offset < after.data_page_offset, (this, after)
END

# Little memory: runs go to temp files.
expect 0 "$g" --memory 64M --batch-bytes 1M --device cpu -k text -k row:desc large.parquet spilled.parquet
check spilled.parquet text row:desc : large.parquet

# Without -k, all columns are keys, unless one of them has no order.
"$python" - <<'END'
import pyarrow as pa
import pyarrow.parquet as pq
pq.write_table(pa.table({"a": [2, 1, None, 1], "b": ["x", "z", "y", None]}), "flat.parquet")
pq.write_table(pa.table({"a": pa.array([1], pa.int64()), "b": [1.5]}), "other.parquet")
pq.write_table(pa.table({"a": pa.array([1], pa.int64())}), "fewer.parquet")
END
expect 0 "$g" flat.parquet out.parquet
check out.parquet a b : flat.parquet
check_all
expect 2 "$g" a.parquet out.parquet
says '-k is needed: column .list'

# Errors, which leave an old output as it is.
printf old >kept.parquet
refused() {
  local code=$1 words=$2
  shift 2
  expect "$code" "$g" "$@"
  says "$words"
  [ "$(cat kept.parquet)" = old ] || fail "the output was touched by: $*"
}
refused 2 "there is no column 'none'" -k none a.parquet kept.parquet
refused 2 'groups, lists and maps and their parts have no order' -k struct.a a.parquet kept.parquet
refused 2 'groups, lists and maps and their parts have no order' -k list a.parquet kept.parquet
refused 2 'ordered as int: leave text out' -k i32:text a.parquet kept.parquet
refused 3 "flat.parquet and other.parquet differ: column 2 is 'b' of" -k a -o kept.parquet flat.parquet other.parquet
refused 3 '2 columns and 1 columns' -k a -o kept.parquet flat.parquet fewer.parquet
refused 3 'it is no Parquet file' --format parquet -k a lines.txt kept.parquet
refused 2 'give the name without the extension' -k i8 a.parquet kept.parquet.gz
refused 2 'a file' --format parquet -k i8 - kept.parquet <a.parquet
refused 2 'this is a stream' --format parquet -k i8 <(cat a.parquet 2>/dev/null || :) kept.parquet
refused 3 'give --format parquet' -k a --format csv a.parquet kept.parquet
refused 2 'debug is for lines, and .a.parquet. is Parquet: leave it out' --debug --format parquet -k i8 a.parquet kept.parquet
expect 2 "$bin/gpusort_task" runs --slice 1/2 --into task -k i8 a.parquet
says '--format parquet cannot be sorted by tasks yet'
refused 2 'has no meaning with --format parquet' --header 2 -k i8 a.parquet kept.parquet
refused 2 'has no meaning with --format parquet' --count -k i8 a.parquet kept.parquet

# Damaged files: exit 3 with the place.
head -c 5000 a.parquet >cut.parquet
refused 3 'cut.parquet: it is cut short' -k i8 cut.parquet kept.parquet
"$python" - <<'END'
import pyarrow as pa
import pyarrow.parquet as pq
pq.write_table(pa.table({"a": list(range(5000)), "b": ["x" * 9] * 5000}), "sums.parquet", write_page_checksum=True, use_dictionary=False, compression="none")
damaged = bytearray(open("sums.parquet", "rb").read())
damaged[20000] ^= 1
open("damaged.parquet", "wb").write(damaged)
END
refused 3 "damaged.parquet: row group 0, column 'a': .*CRC" -k a damaged.parquet kept.parquet
# Pages without a checksum may have other values, and the job then ends well.
cases=$([ -n "${GPUSORT_SLOW-}" ] && echo 1000 || echo 12)
"$python" "$src/tests/cli/parquet.py" damage a.parquet 1 "$cases"
for ((seed = 1; seed <= cases; ++seed)); do
  code=0
  "$g" -k i64 -k text wrong-$seed.parquet out.parquet 2>err || code=$?
  [ $code = 0 ] || { [ $code = 3 ] && grep -q 'wrong-[0-9]*.parquet: ' err; } || fail "seed $seed: exit $code: $(cat err)"
done
nothing_left
