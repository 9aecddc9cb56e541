# tools/cluster/gpusort-sim: jobs that a person can calculate, and what must hold whatever the rates.
. "$2/tests/cli/common.sh.inc"
python3 "$src/tests/cluster/sim_test.py" "$src"
