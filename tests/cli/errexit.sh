# labels: any_build
# Tests common.sh.inc: if errexit ends a script, a message says where, also if stderr is a file or closed. Expected
# failures print nothing.
. "$2/tests/cli/common.sh.inc"
run() {
  code=0
  printf '. "$2/tests/cli/common.sh.inc"\n%s\necho went on\n' "$1" >script.sh
  TMPDIR=$work bash script.sh "$bin" "$src" >out 2>err || code=$?
}
# ends CODE SAYS TEXT: runs the script TEXT, which must exit with CODE and print SAYS.
ends() {
  run "$3"
  [ "$code" = "$1" ] && [ ! -s out ] || fail "$3: exit $code, $(cat out err)"
  says "$2"
}
ends 1 'script.sh, line 2 (called from 0): exit 1 .*: false$' false
ends 3 'line 4 .*exit 3 ' $'(\nexit 3\n) 2>/dev/null'
ends 1 'line 3 (called from 5 0): exit 1 .*: read -r' $'f() {\nread -r x </dev/null\n}\nf 2>/dev/null'
ends 1 'line 2 .*: false$' '{ false; } 2>hidden'
ends 1 'line 3 .*: cd /no/such' $'(true\ncd /no/such; true) 2>hidden'
ends 141 'exit 141 \[141 0\]' 'yes | head -n 1 >hidden'
ends 4 'exit 4 .*: x=' 'x=$(exit 4)'
ends 1 '^FAIL: this$' '(fail this) 2>/dev/null'
run 'false || true; if ! (false; true); then :; fi; x=$(false; true); ! true; while false; do :; done; [ 1 = 2 ] && :
expect 1 false; (exit 3) || code=$?; [ $code = 3 ]; false & wait $! || true'
[ "$code" = 0 ] && [ ! -s err ] && [ -s out ] || fail "what is expected: exit $code, $(cat out err)"
run 'exit 77'
[ "$code" = 77 ] && [ ! -s err ] || fail "a script that skips: exit $code, $(cat err)"
run 'rm -rf "$work"'
[ "$code" = 0 ] || fail "a script without its folder: exit $code, $(cat err)"
left=$(find . -name 'gpusort-cli-*')
[ -z "$left" ] || fail "left behind: $left"
