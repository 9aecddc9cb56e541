# labels: any_build
# Parquet files with empty pages, small files of large rows, whose decoded blocks must fit into --memory, and field ids.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
g=$bin/gpusort

parquet_python 'limits of Parquet'
parquet_module 'limits of Parquet'
python=$GPUSORT_PYTHON
limits() { "$python" "$src/tests/cli/parquet_limits.py" "$@"; }
limits make

expect 0 "$g" -k key empty.parquet out.parquet
"$python" - <<'END'
import pyarrow.parquet as pq
found = pq.read_table("out.parquet").to_pydict()
assert found == {"key": [3, 4, 5], "list": [[6, 7], [2, 3, 4], [1]]}, found
END
expect 3 "$g" -k key cut.parquet out.parquet
says "column 'list': it ends after 6 of 7 values"

for name in text same late; do
  few && [ $name = late ] && continue
  expect 0 limits peak "$g" --device cpu --memory 64M -k key $name.parquet $name.out.parquet >peak
  [ "$(cat peak)" -lt 150 ] || fail "$name.parquet took $(cat peak) MB"
  expect 0 "$g" --device cpu --check -k key $name.out.parquet
done

# The decoder needs memory for the pages and dictionaries that it holds, and not for whole column chunks.
expect 0 limits peak "$g" --device cpu --memory 80M -k c0 wide.parquet out.parquet >peak
[ "$(cat peak)" -lt 180 ] || fail "wide.parquet took $(cat peak) MB"
expect 2 "$g" --device cpu --memory 128M -k c0 dictionaries.parquet out.parquet
says 'row group 0: decoding 8 columns takes too much memory: give at least --memory'
least=$(sed -n 's/.*--memory \([0-9]*\)M$/\1/p' err)
expect 0 limits peak "$g" --device cpu --memory "${least}M" -k c0 dictionaries.parquet out.parquet >peak
[ "$(cat peak)" -lt "$least" ] || fail "dictionaries.parquet took $(cat peak) MB of $least MB"

# The first advice is enough, for large dictionaries and for long rows.
"$python" - <<'END'
import pyarrow as pa, pyarrow.parquet as pq
words = [pa.array([f"{i} {n} " + "y" * 40 for n in range(30000)]) for i in range(8)]
table = pa.table({"k": pa.array([n * 7919 % 30000 for n in range(30000)]), **{f"c{i}": words[i] for i in range(8)}})
pq.write_table(table, "words.parquet", dictionary_pagesize_limit=1 << 30)
pq.write_table(pa.table({"k": [3, 1, 2], "t": ["a", "x" * 3000000, "b"]}), "long.parquet")
END
for name in words long; do
  memory=$([ $name = words ] && echo 16M || echo 64M)
  expect 2 "$g" --device cpu --memory $memory -k k $name.parquet out.parquet
  says "$name.parquet: .*: give at least --memory"
  expect 0 "$g" --device cpu --memory "$(sed -n 's/.*--memory \([0-9.]*[MG]\)$/\1/p' err)" -k k $name.parquet out.parquet
done
expect 3 "$g" --device cpu --max-record 1M -k k long.parquet out.parquet
says 'long.parquet: a row takes 3000017 bytes, more than 1048576: allow it with --max-record 3.3M$'
expect 0 "$g" --device cpu --max-record 3.3M -k k long.parquet out.parquet

# A row group that needs more than a GiB: the advice helps.
if [ "${GPUSORT_SLOW-}" = 1 ]; then
  limits large
  expect 2 "$g" --device cpu --memory 1G -k key huge.parquet out.parquet
  expect 0 "$g" --device cpu --memory "$(sed -n 's/.*--memory \([0-9]*M\)$/\1/p' err)" -k key huge.parquet out.parquet
fi

# Rows that are larger than row groups: the copies of the libraries count, and freed memory goes back to the system. With
# many cores, each thread has an arena of its own, and could keep what it frees there.
expect 0 limits peak env MALLOC_ARENA_MAX=256 "$g" --device cpu --threads 32 --memory 200M --row-group-size 256K -k key large.parquet out.parquet >peak
[ "$(cat peak)" -lt 260 ] || fail "large.parquet took $(cat peak) MB"

# The descriptions of row groups take little memory until the end of the file.
expect 0 limits peak "$g" --device cpu --memory 64M --row-group-size 100K -k c0 groups.parquet out.parquet >peak
[ "$(cat peak)" -lt 120 ] || fail "groups.parquet took $(cat peak) MB"
"$python" - <<'END'
import pyarrow.parquet as pq
file = pq.ParquetFile("out.parquet")
assert file.metadata.num_row_groups > 50, file.metadata
for name in ("c0", "c499"):
    assert file.read([name])[name].to_pylist() == [(row * 7919 + int(name[1:])) % 4000 for row in sorted(range(4000), key=lambda row: row * 7919 % 4000)]
END

# The Bloom filters of a row group are made for its rows, and not for a million of them.
expect 0 limits peak "$g" --device cpu --memory 64M --row-group-size 4K -k c0 filters.parquet out.parquet >peak
[ "$(cat peak)" -lt 150 ] || fail "filters.parquet took $(cat peak) MB"
"$python" - <<'END'
import pyarrow.parquet as pq
metadata = pq.ParquetFile("out.parquet").metadata
assert metadata.num_row_groups > 5, metadata
for group in map(metadata.row_group, range(metadata.num_row_groups)):
    assert all(group.column(i).bloom_filter_length > group.num_rows * 7 / 8 for i in range(50)), group
END

for other in id2 id0; do
  expect 3 "$g" -k key -o out.parquet id1.parquet $other.parquet
  says "column 1 is 'key' with the field id 1 and with"
done
expect 0 "$g" -k key -o out.parquet id1.parquet id1.parquet
nothing_left
