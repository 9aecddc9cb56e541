#!/usr/bin/env bash
# labels: hours
# Tests gpusort_task on random dumps: see dumps_test.py.
. "$2/tests/cli/common.sh.inc"
python3 "$src/tests/cluster/dumps_test.py" "$bin" "${DUMPS_SEED:-1}" "${DUMPS:-$(few && echo 6 || echo 40)}"
nothing_left
