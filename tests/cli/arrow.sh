# Sorting Arrow files and streams: all types, nulls, nested columns, dictionaries, codecs, several inputs, limits of
# memory, options and errors. pyarrow and polars make the inputs, and pyarrow reads the outputs.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
g=$bin/gpusort
parquet_python 'Arrow'
parquet_module 'Arrow'
python=$GPUSORT_PYTHON
check() { echo "$*" >>checks; }
check_all() { "$python" "$src/tests/cli/arrow.py" check <checks && rm checks; }
codec_of() {
  "$python" - "$1" <<'END'
import sys
data = open(sys.argv[1], "rb").read()
print("zstd" if b"\x28\xb5\x2f\xfd" in data else "lz4" if b"\x04\x22\x4d\x18" in data else "none")
END
}
"$python" "$src/tests/cli/arrow.py" make 200

# Files and streams, with each codec. The order of the rows and each type of a key.
for codec in None lz4 zstd; do
  expect 0 "$g" -k row:desc $codec.arrow out-$codec.arrow
  check out-$codec.arrow row:desc : $codec.arrow
  expect 0 "$g" -k row $codec.arrows out-$codec.arrows
  check out-$codec.arrows row : $codec.arrow
  [ "$(codec_of out-$codec.arrow)" = "$(codec_of $codec.arrow)" ] || fail "the codec of $codec.arrow is lost"
done
for key in $(seq 1 41); do
  few && [ $((key % 6)) != 1 ] && continue
  expect 0 "$g" -k c$key -k row:desc zstd.arrow key-$key.feather
  check key-$key.feather c$key row:desc : zstd.arrow
done
for key in 54 55 56 57; do
  expect 0 "$g" -k c$key:desc -k row lz4.arrow key-$key.arrow
  check key-$key.arrow c$key:desc row : lz4.arrow
done
check_all
check out-lz4.arrow row : lz4.arrow
check_all 2>/dev/null && fail 'the check of an output found nothing'
rm checks

# Names and contents tell the format. A stream is written only by name or if the input is named so.
cp None.arrows stream
expect 0 "$g" --format arrow -k row:desc stream stream.arrow
check stream.arrow row:desc : None.arrow
expect 0 "$g" --format arrow-stream -k row:desc stream stream.out
[ "$(head -c 6 stream.out)" != ARROW1 ] || fail 'the output is no stream'
check stream.out row:desc : None.arrow
cp None.arrow plain
expect 0 "$g" -k row:desc plain - >plain.out
check plain.out row:desc : None.arrow
cp None.arrow same.arrow
expect 0 "$g" -k row:desc -o same.arrow same.arrow
check same.arrow row:desc : None.arrow
if [ -e polars.arrow ]; then
  expect 0 "$g" -k k polars.arrow polars-out.arrow
  expect 0 "$g" -k k polars.arrows polars-out.arrows
  "$python" - <<'END'
import polars
wanted = polars.read_ipc("polars.arrow").sort("k", nulls_last=True).with_columns(polars.col("c").cast(str))
for got in polars.read_ipc("polars-out.arrow"), polars.read_ipc_stream("polars-out.arrows"):
    assert got.with_columns(polars.col("c").cast(str)).equals(wanted), got
END
fi

# Several inputs, an empty one, --check, --top, -u, -m, --split and --verify-output.
expect 0 "$g" -k c3 -k row -o four.arrow None.arrow none.arrow one.arrow zstd.arrow
check four.arrow c3 row : None.arrow none.arrow one.arrow zstd.arrow
expect 0 "$g" -k row none.arrow empty.arrow
check empty.arrow row : none.arrow
check_all
expect 1 "$g" --check -k k small.arrow
expect 0 "$g" -k k small.arrow sorted.arrow
expect 0 "$g" --check -k k sorted.arrow
expect 0 "$g" -m -k k -o merged.arrow sorted.arrow sorted.arrow
check merged.arrow k : sorted.arrow sorted.arrow
expect 0 "$g" -u -k k -o unique.arrow sorted.arrow sorted.arrow
check unique.arrow k : sorted.arrow
expect 0 "$g" --verify-output -k c12:desc zstd.arrow verified.arrow
expect 0 "$g" --top 2 -k k:desc small.arrow top.arrow
expect 0 "$g" --split 3 -k k large.arrow -o part
"$python" - <<'END'
import pyarrow.ipc as ipc
assert ipc.open_file("top.arrow").read_all()["k"].to_pylist() == [3, 2]
parts = [ipc.open_file(f"part-{i}.arrow").read_all()["k"].to_pylist() for i in range(3)]
assert parts[0] + parts[1] + parts[2] == sorted(n * 7919 % 300007 for n in range(300000))
END
expect 0 "$g" --explain -k k large.arrow out.arrow >explained
grep -q '300 record batches, lz4' explained || fail "$(cat explained)"

# Memory: a spill gives the same bytes with any number of threads, and one large batch is refused if it does not fit.
for threads in 1 2 5; do
  expect 0 "$g" --device cpu --memory 48M --threads $threads -k k large.arrow spilled-$threads.arrow
  cmp spilled-1.arrow spilled-$threads.arrow || fail "--threads $threads gives other bytes"
done
check spilled-1.arrow k : large.arrow
expect 0 "$g" --device cpu -k k batch.arrow batch-out.arrow
check batch-out.arrow k : large.arrow
check_all
expect 2 "$g" --device cpu --memory 24M --threads 1 -k k batch.arrow out.arrow
says 'a record batch takes too much memory: give at least --memory'

# The first advice is enough for several dictionaries and for long rows.
"$python" - <<'END_OF_MAKE'
import pyarrow as pa
words = pa.array([f"{n} " + "y" * 40 for n in range(30000)]).dictionary_encode()
table = pa.table({"k": pa.array([n * 7919 % 30000 for n in range(30000)]), **{f"c{i}": words for i in range(8)}})
for name, codec in ("words.arrow", None), ("words.arrows", "zstd"):
    new = pa.ipc.new_file if name == "words.arrow" else pa.ipc.new_stream
    with new(name, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as file:
        file.write_table(table)
long = pa.table({"k": [3, 1, 2], "t": ["a", "x" * 3000000, "b"]})
with pa.ipc.new_file("long.arrow", long.schema) as file:
    file.write_table(long)
# The last row of the record batch is damaged.
text = pa.array([b"a"] * 299999 + [b"\xff"])
text = pa.Array.from_buffers(pa.string(), len(text), text.buffers())
text = pa.ListArray.from_arrays(range(300001), text)
damaged = pa.table({"k": pa.array([n * 7919 % 300007 for n in range(300000)]), "t": text})
with pa.ipc.new_file("text-damaged.arrow", damaged.schema) as file:
    file.write_table(damaged)
batch = pa.record_batch({"k": [2, 1]})
for name, new in ("noted.arrow", pa.ipc.new_file), ("noted.arrows", pa.ipc.new_stream):
    with new(name, batch.schema) as file:
        file.write_batch(batch)
        file.write_batch(batch, custom_metadata={"made": "today"})
END_OF_MAKE
for name in words.arrow words.arrows long.arrow; do
  expect 2 "$g" --device cpu --memory 48M --threads 1 -k k $name out.arrow
  says "$name: .*: give at least --memory"
  expect 0 "$g" --device cpu --memory "$(sed -n 's/.*--memory \([0-9.]*[MG]\)$/\1/p' err)" --threads 1 -k k $name out.arrow
done
expect 3 "$g" -k k text-damaged.arrow out.arrow
says "text-damaged.arrow: record batch 0: column 't': .*UTF8"
for name in noted.arrow noted.arrows; do
  expect 0 "$g" -k k $name out.arrow
  says "warning: $name: the metadata of record batches is not kept"
done
expect 0 "$g" -k k small.arrow out.arrow
[ ! -s err ] || fail "$(cat err)"

# Options and keys of lines: the message has a key of the file.
advised() {
  expect 2 "$g" "${@:2}" out.arrow
  says "$1\$"
}
advised "-n is for lines, and 'small.arrow' is Arrow: give -k NAME, such as -k k" -n small.arrow
advised "give -k NAME, such as -k t:natural" -rV small.arrow
advised "'2,2nr' is a key of lines, and 'small.arrow' is Arrow: give -k NAME, such as -k t:decimal:desc" -k2,2nr small.arrow
advised "'2:int' is a key of lines, .*, such as -k t" -k 2:int small.arrow
advised "-n is for lines, and 'try.parquet' is Parquet: give -k NAME, such as -k k" -n try.parquet
advised 'leave it out' -n -k k small.arrow

# Codecs.
expect 0 "$g" --compress zstd:5 -k k batch.arrow out.arrow
[ "$(codec_of out.arrow)" = zstd ] || fail 'the output is not zstd'
expect 0 "$g" --compress none -k row zstd.arrow out.arrow
[ "$(codec_of out.arrow)" = none ] || fail 'the output is compressed'
expect 2 "$g" --compress snappy -k k small.arrow out.arrow
says "'snappy': Arrow is compressed by none, lz4 or zstd"

# Jobs that are refused.
for name in union interval runs none empty nothing inside; do
  expect 3 "$g" -k k refused-$name.arrow out.arrow
  says "column 'bad' of .* cannot be sorted"
done
expect 3 "$g" -k k -o out.arrow small.arrow other.arrow
says "column 2 is 't' of string and of large_string"
expect 2 "$g" -k k small.arrow out.parquet
says 'the inputs are Arrow, and cannot be written as Parquet yet'
expect 2 "$g" -k k try.parquet out.arrow
says 'the inputs are Parquet, and cannot be written as Arrow yet'
expect 2 "$g" -k k -o out.arrow small.arrow try.parquet
says 'means arrow, and .* means parquet'
expect 2 "$g" -k k --row-group-size 1M small.arrow out.arrow
expect 2 "$g" -k 'zorder(k,t)' small.arrow out.arrow
says 'curves are keys of Parquet'
expect 2 "$g" -k c42 None.arrow out.arrow
says 'lists and maps'
expect 2 "$g" -k k --format arrow - out.arrow <small.arrow
says 'standard input: Arrow is read at several places of a file'
printf 'FEA1....FEA1' >old.feather
expect 3 "$g" -k k old.feather out.arrow
says 'a Feather file of version 1'
printf 'no Arrow at all' >text.arrow
expect 3 "$g" -k k text.arrow out.arrow

# A stream that another one follows, rows without columns, dictionaries inside of others, and unknown types.
"$python" - <<'END_OF_MAKE'
import pyarrow as pa
def write(name, table):
    with pa.ipc.new_stream(name, table.schema) as stream:
        stream.write_table(table)
words = pa.array(["a", "b", "a"]).dictionary_encode()
for i in "12":
    write(f"s{i}.arrows", pa.table({"k": [3, 1, 2]}))
    write(f"x{i}.arrows", pa.table({"k": [3, 1, 2]}, schema=pa.schema(
        [pa.field("k", pa.int64(), metadata={"ARROW:extension:name": f"foo{i}"})])))
write("bad1.arrows", pa.table({"bad": pa.StructArray.from_arrays([words], ["w"])}))
write("bad2.arrows", pa.table({"bad": pa.ExtensionArray.from_storage(pa.opaque(words.type, "x", "v"), words)}))
empty = pa.RecordBatch.from_struct_array(pa.array([{}, {}, {}], pa.struct([])))
with pa.ipc.new_stream("nothing.arrows", empty.schema) as stream:
    stream.write_batch(empty)
END_OF_MAKE
cat s1.arrows s2.arrows >both.arrows
expect 3 "$g" -k k both.arrows out.arrow
says 'other data after the end of the stream, at offset'
expect 0 "$g" -k k -o out.arrows s1.arrows s2.arrows
for i in 1 2; do
  expect 3 "$g" bad$i.arrows out.arrow
  says "column 'bad' of .* cannot be sorted: rows cannot hold dictionaries inside of"
done
expect 3 "$g" nothing.arrows out.arrow
says 'it has no columns'
expect 3 "$g" -k k -o out.arrow x1.arrows x2.arrows
says "column 1 is 'k' of int64 as foo1 and of int64 as foo2"
expect 0 "$g" --shuffle -o out.arrow s1.arrows

# Damaged files.
"$python" "$src/tests/cli/arrow.py" damage zstd.arrow "$g" $(few && echo 8 || echo 40)
"$python" "$src/tests/cli/arrow.py" damage None.arrow "$g" $(few && echo 8 || echo 40)
"$python" "$src/tests/cli/arrow.py" damage lz4.arrows "$g" $(few && echo 8 || echo 40)
