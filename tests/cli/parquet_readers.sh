# Sorts Parquet files of pyarrow, DuckDB and polars, and reads the results by all three: parquet_readers.py. Random
# schemas and data: GPUSORT_SEED chooses them. GPUSORT_SLOW=1: 1000 random cases.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
parquet_python 'Parquet of other writers'
parquet_module 'Parquet of other writers'
for reader in duckdb polars; do
  "$GPUSORT_PYTHON" -c "import $reader" 2>/dev/null || echo "SKIPPED: python3 has no $reader: Parquet of $reader"
done
count=100
[ "${GPUSORT_SLOW-}" != 1 ] || count=1000
if few; then count=12; fi
"$GPUSORT_PYTHON" "$src/tests/cli/parquet_readers.py" "$bin/gpusort" "$bin/gpusort_check" $count "${GPUSORT_SEED:-1}" >said ||
  fail "$(cat said)"
echo "parquet_readers: $(tail -n 1 said)"
