# Sorts damaged and encrypted Parquet files: parquet_damage.py. GPUSORT_SEED chooses the damages. GPUSORT_SLOW=1: 2000
# damages.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/parquet.sh.inc"
parquet_python 'damaged Parquet'
parquet_module 'damaged Parquet'
count=200
[ "${GPUSORT_SLOW-}" != 1 ] || count=2000
if few; then count=25; fi
"$GPUSORT_PYTHON" "$src/tests/cli/parquet_damage.py" "$bin/gpusort" $count "${GPUSORT_SEED:-1}" >said || fail "$(cat said)"
echo "parquet_damage: $(tail -n 1 said)"
