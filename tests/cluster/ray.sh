#!/usr/bin/env bash
# labels: hours first
# Tests tools/cluster/gpusort-ray: see ray_test.py.
. "$2/tests/cli/common.sh.inc"
python=$src/build/ray/bin/python3
[ -x "$python" ] || python=python3
if ! "$python" -c 'import ray' 2>/dev/null; then
  few && fail "there is no Ray: tools/install-deps --tests"
  echo "SKIPPED: there is no Ray (tools/install-deps --tests): gpusort-ray"
  exit 77
fi
few=(alone own_cluster_dies runs_node_dies tasks_die stopped)
few || few=()
"$python" "$src/tests/cluster/ray_test.py" "$bin" "$src" "$work" ${few[@]+"${few[@]}"}
