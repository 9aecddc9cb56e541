#!/usr/bin/env bash
# labels: any_build
# CI runs the command that the README names. Time limits in tests are so long that a busy machine does not reach them:
# they only end a test that hangs.
. "$2/tests/cli/common.sh.inc"

[ "$(tail -n 1 "$src/.ci/run")" = 'exec "$(dirname "${BASH_SOURCE[0]}")/../tools/test"' ] ||
  fail ".ci/run does not call tools/test without options: $(tail -n 1 "$src/.ci/run")"
grep -q '^tools/test  *#' "$src/README.md" || fail 'README.md does not name tools/test'
expect 2 "$src/tools/test" --ci
says 'Usage: tools/test  '

# short FILE...: prints the limits that are below ten minutes.
short() {
  grep -noE '\btimeout( -[a-z] ?[A-Z0-9]*)* [0-9.]+|timeout=[0-9.]+|monotonic\(\) \+ [0-9.]+|\bTIMEOUT( =)? [0-9]+' "$@" /dev/null |
    sed -E 's/=([0-9.]+)$/ \1/' | awk '$NF + 0 < 600'
}
printf '%s\n' 'timeout 60 x' 'run(timeout=60)' 'end = time.monotonic() + 120' 'TIMEOUT 300' 'TIMEOUT = 20' \
  'timeout -s KILL 9 x' 'timeout 600 x' 'run(timeout=1200)' 'TIMEOUT 3600' >planted
[ "$(short planted | wc -l)" = 6 ] || fail "of nine limits that were planted, six of them short, it finds: $(short planted)"
# gpu_faults.sh tests limits itself. Some tasks of ray_test.py must be killed at any moment.
found=$(cd "$src/tests" && short CMakeLists.txt cli/*.sh cli/*.py cluster/*.sh cluster/*.py |
  grep -vE '^cli/(gpu_faults|ci)\.sh:|^cluster/ray_test\.py:.*KILL 0\.00$' || true)
[ -z "$found" ] || fail "limits of time below ten minutes: $found"
echo "ci: ok"
