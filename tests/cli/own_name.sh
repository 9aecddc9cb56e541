# Tests GNU sort's options under gpusort's own name: --debug, +F -F, --check=WORD, --locale, and every long name.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
unset POSIXLY_CORRECT _POSIX2_VERSION LANG LANGUAGE LC_COLLATE LC_CTYPE LC_NUMERIC LC_TIME LC_MESSAGES
export LC_ALL=C
command -v sort >/dev/null || { echo "NOT TESTED: there is no sort"; exit 77; }
"$bin/gpusort_gen" --type web-log --bytes 64K --distinct 300 web.log
printf '3 b\n1 a\n\n2\tc\n10 JAN\n-5 feb\n' >table
printf 'x  2 c\ny 10 b\nz  1 a\nx  2 c\n' >fields

# --debug: the same annotations and warnings as sort's, except for the program name at the start.
debug() {
  sort --debug "$@" fields >want.out 2>want.err
  expect 0 "$g" --debug "$@" fields got.out
  same want.out got.out
  sed -n 's/^sort: //;s/^note numbers/numbers/;p' want.err >want.said
  sed -n 's/^gpusort: //p' err >got.said
  same want.said got.said
}
debug
debug -k2n
debug -k2,2 -s
debug -k2b,2 -k1,1r
debug -k3.2,3.4 -r
debug -t ' ' -k2,2g -u
debug -n -k1,1
debug +1 -2
expect 2 "$g" --debug -c fields
expect 2 "$g" --debug --verify-output fields out
sort --debug -k2n fields >want.out 2>want.err
expect 0 "$g" --debug -k2n --memory 1M --batch-bytes 100 --fan-in 2 --compress-temp lz4 fields got.out
same want.out got.out
expect 2 "$g" --debug --type u8 fields out

# Keys of the old syntax, if the requested standard has them.
old() {
  sort "$@" fields table >want.out
  expect 0 "$g" -o got.out "$@" fields table
  same want.out got.out
}
old +1 -2
old +1
old +0.1 -1.2 +1n -2
old -k3 +1n -2 -k1,1
old +2b -s
old -r +1 -2.0 -u
cp fields +1
sort -- +1 >want.out
expect 0 "$g" -o got.out -- +1
same want.out got.out
sort ./+1 >want.out
expect 0 "$g" -o got.out ./+1
same want.out got.out
_POSIX2_VERSION=200112 expect 0 "$g" -o got.out +1
same want.out got.out
expect 2 "$g" -o +1 -k
expect 0 "$g" -o +2 fields
same +2 want.out
rm +1 +2
expect 2 "$g" +1x -o out fields
expect 2 "$g" --type u8 +1 -2 fields out
says 'is a key of lines'

# --check=WORD.
sort web.log >sorted.log
expect 0 "$g" --check=quiet sorted.log
expect 1 "$g" --check=quiet web.log
[ ! -s err ] || fail "--check=quiet spoke"
expect 1 "$g" --check=silent web.log
[ ! -s err ] || fail "--check=silent spoke"
expect 1 "$g" --check=diagnose-first web.log
says 'not sorted'
expect 2 "$g" --check=loud web.log
says 'none of'

# Long names and values in the form that GNU sort accepts.
long() {
  sort "$@" fields table >want.out
  expect 0 "$g" "$@" --output=got.out fields table
  same want.out got.out
}
long --key=2 --ignore-leading-blanks
long --dictionary-order --ignore-case
long --general-numeric-sort --reverse
long --ignore-nonprinting --stable --key=1,1
long --numeric-sort --unique
long --human-numeric-sort
long --month-sort --key=2
long --version-sort
long --field-separator=' ' --key=2,2n
long --sort=numeric --batch-size=2 --parallel=2 --buffer-size=20M --temporary-directory=. --temporary-directory="$work"
for size in 10M 100m 30000K 30000000b 30000 1% 1G 1T 1P 1E; do long --buffer-size=$size; done
for size in 1Z 2E x -1 1Kb; do expect 2 "$g" -S $size fields out; done
long -t, -t, -S 10M -S 10M
expect 2 "$g" -S 10M -S 20M fields out
expect 0 "$g" -o web.log web.log
same web.log sorted.log
printf 'fields\0table\0' | "$g" --files0-from=- --output=got.out
sort fields table >want.out
same got.out want.out
# Bytes of a pipe that were read before the list are not read again. A socket is accepted as well.
printf 'x\nfields\0table\0' >names
(read -r x; expect 0 "$g" --files0-from=- --output=rest.out) <names
same rest.out want.out
python3 -c 'import socket, subprocess, sys
ours, theirs = socket.socketpair()
ours.send(b"fields\0table\0")
ours.close()
sys.exit(subprocess.run(sys.argv[1:], stdin=theirs).returncode)' "$g" --files0-from=- --output=socket.out ||
  fail "--files0-from=- from a socket"
same socket.out want.out
head -c 100 /dev/zero >source
long -R --random-source=source
for ((i = 0; i < 40; ++i)); do echo $i; done >numbers
for word in -T --temp-dir; do
  expect 2 "$g" $word missing fields out
done

# --locale: the order of sort in a locale, which is made here.
export LOCPATH=$work
for name in en_US de_DE sv_SE; do
  if ! localedef -i $name -f UTF-8 ./$name.UTF-8 2>/dev/null; then
    echo "SKIPPED: no locale can be made here (package locales)"
    echo "own name: ok"
    exit 0
  fi
done
ln -s "$g" sort
printf 'b\nA\na\nB\n_c\nc\n\303\244\nz\n,1\n1,5\n1.4\n10\nMai\nDez\nJan\n\377\n\n"q"\n' >words
awk 'BEGIN { for (i = 0; i < 6000; ++i) print i * 7919 % 1000 "," i % 7 " wOrd" i * 31 % 50 " " i % 3 }' >>words
sort words >words.c
round=0
in_locale() {
  sort "$@" >want.out
  local plan plans=("" "--memory 2M --fan-in 2 --batch-bytes 8K" "--memory 8M --fan-in 2 --batch-bytes 8K"
    "--threads 1 --verify-output" "--compress-temp zst --batch-bytes 20K")
  if few; then plans=("${plans[round++ % 5]}" "${plans[round % 5]}"); fi
  for plan in "${plans[@]}"; do
    expect 0 "$g" --locale $plan --stats stats.json -o got.out "$@"
    cmp -s want.out got.out || fail "--locale $* in $LC_ALL differs"
  done
  expect 0 ./sort "$@" >got.out
  cmp -s want.out got.out || fail "sort $* in $LC_ALL differs"
}
for LC_ALL in en_US.UTF-8 de_DE.UTF-8 sv_SE.UTF-8 C; do
  in_locale words
  in_locale -r words
  in_locale -u -f words
  in_locale -n words
  in_locale -M -s words
  in_locale -k2,2 -k1,1n words
  in_locale -d words table fields
  in_locale -h -k1 words
done
# All letters and pairs of letters, under either name.
for c in 9z 10 10k 10K 9m 9M -5k -1m '3 k' abc ABC a-b A.b ' ab' jan JAN ' mar' 1e3 1E3 0x1f inf f1.10 F1.9 1,500 1500 \
  1,5 .5 -0 '' '  ' 1.5m 1.5K 1,000k 007 +4 A10 a10 _a; do
  echo "$c"
done >mixed
# Letters with a special order in Swedish: å, ä, ö after z; v and w.
for c in z zz Z å Å ä Ä ö Ö a aa o v w va wa vb wb V W é e ü y æ ø ñ; do
  echo "$c"
  echo "2$c 1"
  echo "x${c}x ${c}10"
done >swedish
for LC_ALL in de_DE.UTF-8 sv_SE.UTF-8; do
  for order in "" -r -u -f -d -s "-k2,2" "-k1,1f -k2,2n" "-V" "-u -f"; do in_locale $order swedish words; done
  sort swedish >got.$LC_ALL
done
! cmp -s got.de_DE.UTF-8 got.sv_SE.UTF-8 || fail "Swedish orders as German does"
letters=(b d f g h i M n R r V)
locale=0
for LC_ALL in C en_US.UTF-8; do
  locale=$((locale + 1))
  for ((i = 0; i < ${#letters[@]}; ++i)); do
    for ((j = i; j < ${#letters[@]}; ++j)); do
      # If a part of the cases is enough: each pair in one of the two locales.
      if few && (((i + j + locale) % 2)); then continue; fi
      order=(-s -k "1.1${letters[i]}${letters[j]}")
      [[ ${order[2]} != *R* ]] || order+=(--random-source=source)
      code=0
      sort "${order[@]}" mixed >want.out 2>want.err || code=$?
      expect $code ./sort "${order[@]}" mixed >got.out
      same want.out got.out
      expect $code "$g" --format lines --locale "${order[@]}" mixed - >got.out
      same want.out got.out
    done
  done
done
LC_ALL=en_US.UTF-8
sort words >sorted
expect 0 "$g" --locale -c sorted
expect 1 "$g" --locale -c words.c
says "words.c: not sorted: line $(sort -c words.c 2>&1 | cut -d: -f3) (byte [0-9]*) sorts before the previous one"
in_locale -m sorted sorted
expect 3 "$g" --locale -m -o out sorted words.c
says 'words.c: not sorted: the line'
# A pipe and a compressed file, merged; compressed output; statistics.
gzip -kf sorted
sort -m sorted sorted >want.out
expect 0 "$g" --locale -m -o got.out.gz sorted.gz <(cat sorted)
gzip -dc got.out.gz | cmp - want.out || fail "--locale -m of streams into a compressed file"
expect 0 "$g" --locale --memory 8M --batch-bytes 8K --fan-in 2 --stats stats.json words got.out
grep -q '"temp": [1-9]' stats.json || fail "--locale did not spill"
sort words | head -n 5 >want.out || true
expect 0 "$g" --locale --top 5 words got.out
same got.out want.out
"$g" --locale --top 5 - - <words >got.out
same got.out want.out
{ echo 'a header'; cat sorted; } >want.out
{ echo 'a header'; cat words; } >headed
expect 0 "$g" --locale --header 1 --stats stats.json --verify-output -o got.out headed
same got.out want.out
grep -q '"header_lines": 1' stats.json || fail "no header in the statistics"
grep -q "\"records_in\": $(wc -l <words)" stats.json || fail "other lines in the statistics"
expect 0 "$g" --locale --header 1 -c got.out
sort --debug -k2,2 words >want.out 2>want.err
expect 0 "$g" --locale --debug -k2,2 words got.out
same got.out want.out
says 'sorting rules'
head -c 5000 /dev/zero | tr '\0' x >long
expect 3 "$g" --locale --max-record 4K long out
says 'the line at byte 0 '
expect 2 "$g" --locale --device gpu words out
expect 2 "$g" --locale --type u8 words out
"$g" --locale --explain words out >plan
grep -q '^in short' plan || fail "--explain does not plan a sort in a locale"
echo old >kept
expect 2 env LC_ALL=xx_XX.UTF-8 "$g" --locale words kept
says 'does not have the locale'
[ "$(cat kept)" = old ] || fail "a refused job changed its output"
nothing_left
echo "own name: ok"
