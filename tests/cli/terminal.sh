# Questions and refusals at a terminal, and the behaviour of jobs without one: existing outputs and missing names.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
command -v python3 >/dev/null || { echo "NOT TESTED: there is no python3"; exit 77; }
# terminal CODE STREAMS TYPED COMMAND...: calls on_terminal.py. The output of the terminal is in the file shown.
terminal() {
  local want=$1 got=0
  shift
  timeout 600 python3 "$src/tests/cli/on_terminal.py" "$@" >shown 2>err || got=$?
  [ "$got" = "$want" ] || fail "exit $got instead of $want at a terminal: $* ($(cat shown err))"
}
shows() { grep -q -- "$1" shown || fail "no '$1' on the terminal: $(cat shown)"; }
fresh() { printf 'z\ny\nx\n' >b.log; }
kept() { [ "$(xargs <b.log)" = 'z y x' ] || fail "$1: b.log is '$(xargs <b.log)'"; }
replaced() { [ "$(xargs <b.log)" = 'a b' ] || fail "$1: b.log is '$(xargs <b.log)'"; fresh; }
printf 'b\na\n' >a.log
fresh

# An existing OUTPUT: only y replaces it. If standard output is redirected, a glob of the shell is the likely reason.
for answer in 'n\n' '\n' '\x04' 'no\n' 'x y\n' '\x03'; do
  code=2
  [ "$answer" != '\x03' ] || code=130
  terminal $code 012 "$answer" "$g" a.log b.log
  shows "the OUTPUT 'b.log' exists; replace it? (y/n)"
  [ $code = 130 ] || shows 'b.log: it exists, and is replaced only with --force, or if -o names it'
  kept "the answer $answer"
  terminal $code 02 "$answer" sh -c "'$g' *.log >out.txt"
  shows 'nothing goes to standard output (for several inputs give gpusort -o'
  kept "the answer $answer"
done
for answer in 'y\n' 'Y\n' 'yes\n' ' y\n'; do
  terminal 0 012 "$answer" "$g" a.log b.log
  replaced "the answer $answer"
done
terminal 2 012 'n\n' "$g" b.log b.log
kept "in place"
# A stream replaces no file, so there is no question.
terminal 0 02 '' sh -c "'$g' a.log /dev/stdout >streamed.log"
[ "$(xargs <streamed.log)" = 'a b' ] || fail "/dev/stdout: streamed.log is '$(xargs <streamed.log)'"
ln -s b.log link
terminal 2 012 'n\n' "$g" a.log link
kept "a link"
terminal 75 012 '\x03' "$g" --resume-dir kept a.log b.log
kept "a signal at the question"
# No question: options that say so, an output that is new or keeps nothing, and commands that write nothing.
for how in "--force a.log b.log" "-o b.log a.log"; do
  terminal 0 012 '' "$g" --progress never $how
  [ ! -s shown ] || fail "$how: $(cat shown)"
  replaced "$how"
done
terminal 2 012 '' "$g" --no-clobber a.log b.log
shows '--no-clobber keeps it'
kept "--no-clobber"
terminal 0 012 '' "$g" a.log new.log
terminal 0 012 '' "$g" a.log /dev/null
terminal 0 012 '' "$g" --explain a.log b.log
! grep -q replace shown || fail "--explain asks: $(cat shown)"
kept "--explain"
mkfifo pipe
cat pipe >from_pipe &
terminal 0 012 '' "$g" a.log pipe
wait $!
# Parts: one question for all of them.
terminal 0 012 '' "$g" --split 2 a.log part
terminal 2 012 'n\n' "$g" --split 3 a.log part
shows "'part-0.log' exists"
[ ! -e part-2.log ] || fail "parts after a no"
terminal 0 012 'y\n' "$g" --split 3 a.log part
# If no answer can be read, the job is refused: typed records, a job in the background, JSON on standard error.
for how in "- b.log" "/dev/stdin b.log" "--log-format json a.log b.log"; do
  terminal 2 012 '' "$g" $how
  shows 'replaced only with --force'
  ! grep -q '(y/n)' shown || fail "$how asks: $(cat shown)"
  kept "$how"
done
terminal 2 012 '' bash -c "set -m; '$g' a.log b.log & wait \$!"
shows 'replaced only with --force'
kept "in the background"
# Without a terminal as standard input and standard error there is no question.
terminal 0 0 '' "$g" a.log b.log
replaced "standard error is no terminal"
terminal 0 2 '' sh -c "'$g' a.log b.log </dev/null"
replaced "standard input is no terminal"
expect 0 "$g" a.log b.log </dev/null
[ ! -s err ] || fail "a job: $(cat err)"
replaced "a job"
rm new.log

# One input and no OUTPUT, or no name at all: the output is standard output, unless it is a terminal.
[ "$("$g" a.log | xargs)" = 'a b' ] || fail "one name"
[ "$("$g" - <a.log | xargs)" = 'a b' ] || fail "-"
[ "$("$g" <a.log | xargs)" = 'a b' ] || fail "no name"
[ "$("$g" -r <a.log | xargs)" = 'b a' ] || fail "an option and no name"
[ "$("$g" -m a.log </dev/null 2>err | xargs)" = '' ] || fail "-m of what is not sorted"
printf 'id,n\n10,b\n9,a\n' | "$g" -k id:int >got.csv
[ "$(xargs <got.csv)" = 'id,n 9,a 10,b' ] || fail "columns through pipes: $(cat got.csv)"
"$g" --explain a.log >plan
grep -q '^memory' plan || fail "--explain of one name: $(cat plan)"
[ -z "$("$g" </dev/null)" ] || fail "no input gives output"
expect 4 "$g" a.log >&-
expect 4 "$g" <&-
terminal 2 01 '' "$g"
terminal 2 0 '' "$g"
terminal 2 1 '' sh -c "'$g' <a.log"
for streams in 01 1; do
  terminal 2 $streams '' "$g" a.log
  grep -q "no output is given for 'a.log': gpusort INPUT OUTPUT, where - is standard output, or gpusort INPUT >OUTPUT" err || fail "$(cat err)"
done
terminal 0 1 '' "$g" a.log -
[ "$(xargs <shown)" = 'a b' ] || fail "- on a terminal: $(cat shown)"
terminal 0 012 '' "$g" --explain a.log
for options in "--split 2" "--resume-dir kept2" "--verify-output"; do
  expect 2 "$g" $options a.log
  says 'no output is given'
done
for options in --check "--check -r"; do
  expect 2 "$g" $options </dev/null
  says 'exactly one input'
done
cp a.log same.log
expect 2 sh -c "'$g' same.log >same.log"
says "'same.log' is standard output as well, and the shell has emptied it"
nothing_left
echo "terminal: ok"
