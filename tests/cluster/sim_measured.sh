# What tools/cluster/gpusort-sim says of real jobs of 2 to 16 tasks is within 15 % of what they take.
. "$2/tests/cli/common.sh.inc"
[ -x "$bin/gpusort_task" ] || { echo "SKIPPED: no gpusort_task in $bin"; exit 77; }
"$src/tools/cluster/measure-sim" --bin "$bin" --dir "$work" --at-most 15
