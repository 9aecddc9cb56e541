# Sorting Parquet by curves through several columns: the order of zorder and hilbert, the places of nulls, NaN, strings
# and several inputs, and errors. pyarrow makes the inputs and reads the outputs.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
g=$bin/gpusort
printf 'a,b\n2,1\n1,2\n' >table.csv
expect 2 "$g" -k 'zorder(a,b)' table.csv out.csv
says 'curves are keys of Parquet'
parquet_python 'curves of Parquet'
parquet_module 'curves of Parquet'
curves() { "$GPUSORT_PYTHON" "$src/tests/cli/parquet_curves.py" "$@"; }
curves make

# Each step on the Hilbert curve goes to a neighbour.
expect 0 "$g" -k 'hilbert(x0,x1)' grid2.parquet out.parquet
curves grid out.parquet
expect 0 "$g" -k 'hilbert(#1, x1, "x2")' grid3.parquet out.parquet
curves grid out.parquet
expect 0 "$g" -r -k 'hilbert(x0,x1,x2,x3,x4)' grid5.parquet out.parquet
curves grid out.parquet

# The bits of the cells stand one after the other, for each type, with nulls and NaN, from one file and from several.
for pair in 'i64 f64' 'word time' 'u64 day' 'i16 d9' 'd30 f32' 'word flag' 'url i16'; do
  read -r one other <<<"$pair"
  expect 0 "$g" -k "zorder($one,$other)" types.parquet out.parquet
  curves zorder out.parquet $pair : types.parquet
done
expect 0 "$g" -k 'zorder(i64,f64,word,time,d9,day,u64,row)' -o out.parquet first.parquet none.parquet second.parquet
curves zorder out.parquet i64 f64 word time d9 day u64 row : types.parquet
expect 0 "$g" --memory 64M --batch-bytes 1M --device cpu -k 'zorder(time,i64)' -o out.parquet second.parquet first.parquet
curves zorder out.parquet time i64 : second.parquet first.parquet

expect 0 "$g" -k 'zorder(i64,f64)' hidden.parquet out.parquet
says "column 'f64' of DOUBLE: row groups with NaN have no least"
curves zorder out.parquet i64 f64 : hidden.parquet

# A row group covers a small part of the plane.
expect 0 "$g" -k x points.parquet by-x.parquet
expect 0 "$g" -k 'zorder(x,y)' points.parquet by-zorder.parquet
expect 0 "$g" -k 'hilbert(x,y)' points.parquet by-hilbert.parquet
curves boxes by-x.parquet by-zorder.parquet by-hilbert.parquet

# A curve after a column: the footer names the column alone.
expect 0 "$g" -k flag -k 'hilbert(i64,f64)' types.parquet out.parquet
expect 0 "$g" --check -k flag out.parquet
"$GPUSORT_PYTHON" -c '
import pyarrow.parquet as pq
assert [s.column_index for s in pq.ParquetFile("out.parquet").metadata.row_group(0).sorting_columns] == [10]'
expect 0 "$g" -k 'zorder(i64,f64)' none.parquet out.parquet
expect 0 "$g" -k 'zorder(word,"row")' types.parquet out.parquet

refused() {
  expect 2 "$g" "${@:2}"
  says "$1"
}
refused 'a curve has 2 to 8 columns' -k 'zorder(i64)' types.parquet out.parquet
refused 'a curve has 2 to 8 columns' -k 'zorder(i64,u64,i16,f64,f32,word,time,day,d9)' types.parquet out.parquet
refused 'leave .:desc. out' -k 'zorder(i64,f64):desc' types.parquet out.parquet
refused ') ends it' -k 'hilbert(i64,f64' types.parquet out.parquet
refused "the column 'i64' twice" -k 'hilbert(i64,#1)' types.parquet out.parquet
refused "there is no column 'i46'" -k 'hilbert(i46,f64)' types.parquet out.parquet
refused 'have no order and cannot be keys' -k 'hilbert(list,f64)' types.parquet out.parquet
refused 'an input has no statistics' -k 'zorder(i64,f64)' -o out.parquet types.parquet bare.parquet
refused 'NaN hides its least and its greatest value' -k 'zorder(i64,f64)' nan.parquet out.parquet
for option in -u --only-unique --only-duplicates '--union first.parquet' '--minus first.parquet'; do
  # shellcheck disable=SC2086  # an option and its value
  refused "${option%% *} cannot be combined with a curve" $option -k 'zorder(i64,f64)' types.parquet out.parquet
done
refused 'cannot be combined with a curve' -m -k 'zorder(i64,f64)' -o out.parquet types.parquet
refused 'cannot be combined with a curve' --check -k 'zorder(i64,f64)' types.parquet
nothing_left
