# labels: hours
# Tests tools/cluster/gpusort-sim: jobs that can be calculated by hand, and properties that hold for all rates.
. "$2/tests/cli/common.sh.inc"
python3 "$src/tests/cluster/sim_test.py" "$src"
