# Lines, byte for byte as the system's sort gives them in the C locale: options, line ends, streams, spills, checks.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v sort >/dev/null || { echo "NOT TESTED: there is no sort"; exit 77; }

# same_as_sort OPTIONS... -- INPUT...: compares with sort, with plans that keep everything in memory, that spill, and
# that merge in levels, or with one of them in turn if a part of the cases is enough.
turns=0
same_as_sort() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  sort "${options[@]}" -- "$@" >want.out
  local plan at=0
  ((++turns))
  for plan in "--threads 2" "--memory 16M --batch-bytes 20000" "--memory 4M --batch-bytes 9000 --fan-in 2 --threads 1"; do
    if few && ((turns % 3 != at++ % 3)); then continue; fi
    expect 0 "$g" --format lines "${options[@]}" $plan -o got.out "$@"
    cmp -s want.out got.out || fail "sort ${options[*]} $* differs with $plan"
  done
}

"$bin/gpusort_gen" --type web-log --bytes 192K web.log
"$bin/gpusort_gen" --type web-log --bytes 64K --seed 5 --distinct 30 few.log
"$bin/gpusort_gen" --type web-log --bytes 64K --seed 6 --common-prefix 60 prefix.log
printf '3\n1\n\n2' >no_end.txt
printf 'b\0x\na\0y\na\0\na\n' >nuls.txt
printf 'b\r\na\r\n\r\na\n' >crlf.txt
printf '\n\n\n' >empty_lines.txt
: >empty.txt
printf '\377\200\n\1\n~\n' >bytes.txt
head -c 3000 /dev/zero | tr '\0' '\n' >many_empty.txt
{ head -c 150000 /dev/zero | tr '\0' x; echo; echo y; head -c 149999 /dev/zero | tr '\0' x; } >long.txt

for file in web.log few.log prefix.log no_end.txt nuls.txt crlf.txt empty_lines.txt empty.txt bytes.txt many_empty.txt long.txt; do
  same_as_sort -- $file
  same_as_sort -r -- $file
  same_as_sort -u -- $file
  turns=$((turns + 1))  # another plan for each option of the next file
done
for file in web.log few.log prefix.log no_end.txt crlf.txt; do
  same_as_sort -k1,1 -k4,4 -- $file
  same_as_sort '-t"' -k2,2 -- $file
  same_as_sort -k10,10n -s -- $file
  same_as_sort -k9,9nr -k1.3,1.5 -- $file
  same_as_sort -k4M -k7V -- $file
  same_as_sort -u -k1,1 -- $file
  same_as_sort -f -d -- $file
  same_as_sort -g -- $file
  same_as_sort -h -r -- $file
  same_as_sort -b -i -k2 -- $file
  same_as_sort --sort=version -- $file
done
same_as_sort -z -- nuls.txt
same_as_sort -z -k1 -u -- nuls.txt
same_as_sort -t '\0' -k2 -- nuls.txt
same_as_sort -k3,3 -s -- no_end.txt web.log empty.txt few.log no_end.txt

# Any memory is enough for any number of threads: fewer threads run if their memory for long lines would not fit.
"$bin/gpusort_gen" --type web-log --bytes 24M large.log
for threads in 1 16 64; do
  for memory in 3M 33M 64M 112M; do
    expect 0 "$g" --device cpu --threads $threads --memory $memory --explain large.log out
  done
done
rm large.log

# Names and options decide what a file is.
cp web.log plain
expect 0 "$g" plain out1
expect 0 "$g" web.log out2
sort web.log >want.out
same out1 want.out
same out2 want.out
expect 0 "$g" - out3 <web.log
same out3 want.out
"$g" web.log - >out4
same out4 want.out
cat web.log | "$g" --memory 4M --batch-bytes 9000 - - >out5
same out5 want.out
cp web.log here.log
expect 0 "$g" here.log here.log
same here.log want.out
printf 'few.log\0web.log\0' >names
expect 0 "$g" --files0-from names -o out6
sort few.log web.log >want2.out
same out6 want2.out
"$bin/gpusort_gen" --type u32 --count 1000 n.u32
expect 2 "$g" -o out n.u32 web.log
says 'give --format'
expect 0 "$g" --format lines n.u32 out7
sort n.u32 >want3.out
same out7 want3.out

# -R keeps equal keys together, and the random source decides the order.
printf '%s' 0123456789abcdef >source
sort -R --random-source=source few.log >want.out
expect 0 "$g" -R --random-source source few.log out8
same out8 want.out

# With enough memory -V and -R make their keys once.
for options in -V '-V -u' '-r -V' '-s -k9,9V -k10,10n' '-R --random-source=source' '-k4M -k7V -z'; do
  for file in web.log prefix.log nuls.txt; do
    sort $options -- $file >want.out
    expect 0 "$g" --format lines $options --device cpu --memory 2G --batch-bytes 20000 -o got.out $file
    cmp -s want.out got.out || fail "sort $options $file differs with keys"
  done
done

# Sorted inputs, and the checks that find them sorted.
sort -k4,4 web.log >a.log
sort -k4,4 few.log >b.log
same_as_sort -m -k4,4 -- a.log b.log
expect 3 "$g" -m -o out a.log web.log
says 'not sorted: the line at byte'
expect 0 "$g" -c -k4,4 a.log
expect 1 "$g" -c web.log
says "not sorted: line $(sort -c web.log 2>&1 | cut -d: -f3) (byte "
expect 1 "$g" -C web.log
[ ! -s err ] || fail "-C spoke: $(cat err)"
expect 0 "$g" -C -k4,4 a.log
expect 1 "$g" -c -u -k1,1 a.log

# Long lines among short lines that get keys: longer than the blocks of keyed lines.
awk 'BEGIN { for (i = 0; i < 90; ++i) { n = i % 3 ? i : 20000 * i; s = "ab c-"; while (length(s) < n) s = s s; print i * 37 % 50 substr(s, 1, n) } }' >longs
LC_ALL=C sort -k1,1g -k2 longs >want
expect 0 "$g" -k1,1g -k2 --format lines --memory 32M --max-record 2M longs got
same want got
"$g" -k1,1g -k2 --memory 32M --max-record 2M --batch-bytes 3M --fan-in 2 - got <longs
same want got

# A line as long as all planned memory; its keys come in addition.
head -c 1000000 /dev/zero | tr '\0' 1 >one
echo >>one
expect 0 "$g" -g --format lines one got
same one got
{ head -c 65535 /dev/zero | tr '\0' 7; echo; seq 3000; } >mixed
LC_ALL=C sort -g mixed >want
expect 0 "$g" -g --format lines --max-record 64K --batch-bytes 4K --memory 16M mixed got
same want got
expect 0 "$g" -g --format lines --max-record 1200K --batch-bytes 4K --fan-in 2 --memory 16M mixed got
same want got

# A line that is too long is named by its start, and the old output stays.
echo old >kept
expect 3 "$g" --max-record 100000 long.txt kept
says 'the line at byte 0 '
expect 3 "$g" --max-record 149999 --memory 8M - kept <long.txt
says 'the line at byte 0 '
[ "$(cat kept)" = old ] || fail "a refused job changed its output"
expect 2 "$g" --memory 1M --max-record 2M web.log out
says 'too small'
expect 0 "$g" --stats stats.json --memory 16M --batch-bytes 20000 --verify-output web.log out
grep -q '"records_in": *'"$(wc -l <web.log)" stats.json || fail "the statistics count other lines"
"$g" --explain=full web.log out >plan.txt
grep -q "what is left over in temp files" plan.txt || fail "the plan keeps no way for runs that were not planned"

# Of short lines, a batch has fewer bytes than its memory. The plan knows that: as many runs as are made.
seq 3000000 | sed 's/.*\(..\)$/\1/' >short.txt
for options in '--memory 16M' '--memory 1G' '--memory 64M -k1,1g' '--memory 64M' '--memory 16M -n'; do
  if few && [ "$options" = '--memory 64M' ]; then break; fi
  expect 0 "$g" --device cpu $options --stats stats.json short.txt out
  made=$(sed -n 's/.*"runs": *\([0-9]*\).*/\1/p' stats.json)
  planned=$("$g" --device cpu $options --explain=full short.txt | sed -n 's/^runs  *\([0-9]*\)$/\1/p')
  [ $((8 * made)) -le $((9 * planned + 9)) ] && [ $((8 * planned)) -le $((9 * made + 9)) ] ||
    fail "$options: $planned runs of short lines are planned, and $made are made"
done

# A few short lines at one end of a log do not make the plan spill what fits in memory.
"$bin/gpusort_gen" --type web-log --bytes 20M long.log
for end in first last; do
  if [ $end = first ]; then head -c 200000 /dev/zero | tr '\0' '\n' | cat - long.log >uneven.log
  else head -c 200000 /dev/zero | tr '\0' '\n' | cat long.log - >uneven.log; fi
  expect 0 "$g" --device cpu --threads 4 --memory 192M --stats stats.json uneven.log out
  grep -q '"written": 0' stats.json || fail "a log with short lines at the $end place is spilled"
done
# Records that are longer than the sample of --explain.
head -c 5000000 /dev/zero | tr '\0' x | fold -w 700000 >wide.txt
"$g" --device cpu --memory 1G --explain wide.txt >plan.txt
grep -q "nothing can be said" plan.txt && fail "--explain says nothing about long lines"

expect 0 python3 "$src/tests/cli/lines_random.py" "$g" "$(few && echo 20 || echo 60)" "${GPUSORT_SEED:-1}"
nothing_left
echo "lines: ok"
