# Inputs that are something else than the job reads: exit 3 with the command that serves them, before any output is touched.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

printf 'b\na\n' >plain.txt
printf 'old\n' >out
# refused WORDS ARGUMENT...: exit 3, the words in the message, one line, and the output as it was.
refused() {
  local words=$1
  shift
  expect 3 "$g" "$@"
  says "$words"
  [ "$(wc -l <err)" = 1 ] || fail "several lines: $(cat err)"
  [ "$(cat out)" = old ] || fail "the output was touched by: $*"
}
# everywhere WORDS FILE OPTION...: the file is refused alone, after another, through a pipe, compressed, by -m, --check,
# --explain, a job that can be resumed and a task; --force-format takes it.
everywhere() {
  local words=$1 file=$2
  shift 2
  refused "$words" "$@" "$file" out
  refused "$words" "$@" -o out "$file" "$file"
  refused "$words" "$@" -m -o out "$file"
  refused "$words" "$@" --check "$file"
  refused "$words" "$@" --explain "$file" out
  refused "$words" "$@" --resume-dir kept "$file" out
  refused "$words" "$@" - out <"$file"
  refused "$words" "$@" <(cat "$file") out
  gzip -c "$file" >"$file.gz"
  refused "$words" "$@" "$file.gz" out
  rm -rf task kept "$file.gz"
  expect 3 "$bin/gpusort_task" runs --slice 1/2 --into task "$@" "$file"
  says "$words"
}

# Compressed, under a name that does not tell. --format lines, --decompress none and the name sort take any bytes.
for tool in gzip bzip2 xz zstd lz4; do
  command -v $tool >/dev/null || { echo "NOT TESTED: there is no $tool"; continue; }
  $tool -c plain.txt >packed
  refused "compressed by $tool" packed out
  refused "compressed by $tool" --format csv packed out
  refused "compressed by $tool" - out <packed
  $tool -c packed >packed.gz
  LC_ALL=C sort packed >want
  for how in "--format lines" "--decompress none" --force-format; do
    expect 0 "$g" $how packed got
    same got want
  done
  (exec -a sort "$g" packed) >got
  same got want
done
gzip -c plain.txt >packed
everywhere 'compressed by gzip: give --decompress gz' packed
expect 0 "$g" --record-size 1 packed got
expect 0 "$g" --type u8 packed got
gzip -c plain.txt >packed
gzip -c packed >packed.txt.gz
refused 'compressed by gzip' packed.txt.gz out
"$g" --decompress gz packed - | cmp -s - <(printf 'a\nb\n') || fail "the advice does not sort it"

echo "kinds: ok"
