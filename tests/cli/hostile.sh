# labels: hours serial
# Hostile inputs and limits: the result is the right output, or a clear error with its documented exit code, and never a
# crash or a hang. GPUSORT_SLOW=1 uses the large sizes.
. "$2/tests/cli/common.sh.inc"
g=(timeout -s KILL 1200 "$bin/gpusort")
export LC_ALL=C
command -v sort >/dev/null || { echo "NOT TESTED: there is no sort"; exit 77; }
slow=${GPUSORT_SLOW:-0}
shopt -s extglob
# expect_one_of CODES COMMAND...: for results that depend on the machine. An error must have a message.
expect_one_of() {
  local codes=$1 got=0
  shift
  "$@" 2>err || got=$?
  case " $codes " in *" $got "*) ;; *) fail "exit $got, none of $codes, from: $* ($(tail -n 3 err))" ;; esac
  [ "$got" = 0 ] || [ -s err ] || fail "exit $got without a word from: $*"
}

# One line without an end: of NULs in a sparse file, and from a pipe.
nuls=64M lines=20M
[ "$slow" = 0 ] || { nuls=10G lines=200M; g[3]=1200; }
truncate -s $nuls nuls
echo old >kept
expect 3 "${g[@]}" --memory 256M nuls kept
says 'nuls: the line at byte 0 is longer than 16777216 bytes'
expect 3 "${g[@]}" --memory 256M -c nuls
says 'the line at byte 0'
(truncate -s 17M some; expect 3 "${g[@]}" --memory 256M - kept <some)
says ' -: the line at byte 0 '
{ echo first; cat some; } >second
expect 3 "${g[@]}" --memory 256M second kept
says 'the line at byte 6 '
[ "$(cat kept)" = old ] || fail "a refused job changed its output"
expect 0 "${g[@]}" --memory 512M --max-record 20M some out
{ cat some; echo; } | cmp -s - out || fail "a line of 17 MiB is changed"
expect 2 "${g[@]}" --memory 64M --max-record 20M some out
says 'give at least --memory'
# A check keeps two lines: it says how much memory they need, and keeps to that.
for input in some -; do
  for order in "" --locale --debug; do
    [ "$order" != --debug ] || [ $input = some ] || continue
    to=-c
    [ "$order" != --debug ] || to="-o out"
    expect 2 "${g[@]}" $order --memory 16M --max-record 20M $to $input <some
    says 'give at least --memory'
    memory=$(sed -n 's/.*give at least --memory \([0-9.]*[KMG]\).*/\1/p' err)
    expect 0 "${g[@]}" $order --memory "$memory" --max-record 20M $to $input <some
  done
done
rm -f some second out
# This file as a list of empty lines, and as records.
truncate -s $lines nuls
expect 0 "${g[@]}" -z --memory 64M --stats stats.json nuls out
same nuls out
grep -q "\"records_out\": $(stat -c %s nuls)" stats.json || fail "empty lines are lost"
expect 0 "${g[@]}" -z -u nuls out
[ "$(stat -c %s out)" = 1 ] || fail "-u keeps $(stat -c %s out) empty lines"
expect 0 "${g[@]}" -z --top 5 --memory 64M nuls out
[ "$(stat -c %s out)" = 5 ] || fail "--top 5 keeps $(stat -c %s out) empty lines"
expect 0 "${g[@]}" --type u64 nuls out
same nuls out
rm -f nuls out

# same_as_sort OPTIONS... FILE: compares the result with that of sort.
same_as_sort() {
  sort "$@" >want.out
  local plan
  for plan in "--threads 2" "--memory 4M --batch-bytes 700 --fan-in 2"; do
    expect 0 "${g[@]}" --format lines $plan -o got.out "$@"
    cmp -s want.out got.out || fail "sort $* differs with $plan"
  done
}

# Positions that no line has. Before 9.8 sort itself read outside of lines for these (CVE-2025-5278), so sort gets
# smaller positions with the same meaning.
most=18446744073709551615
printf 'b c d\na b\n\nzz\n  x\n' >fields
for key in $most.$most $most,$most 1.$most 1,1.$most $most.1,1 1.1,$most.$most ${most}0.1 2.$most,1.1n; do
  for order in "" "-t b -s"; do
    sort $order -k${key//$most*([0-9])/1000} fields >want.out
    expect 0 "${g[@]}" $order -k$key --memory 4M --batch-bytes 7 fields got.out
    same want.out got.out
  done
done

# Texts that are not numbers, and numbers that are too long for every machine type.
{
  printf '%s\n' inf -inf INFINITY 0x1p16383 1e4932 1e-4951 -1e99999 1e99999 -0 +0 0 . - + e 1e 0x
  printf '%s\n' ' 5' '-5' '5.' '.5' '-.5' 5K 5k -5K 1Y 1Z 1024K 1M '' '1,000' '1 000' 00000000000001
  printf '%0400d\n-%0400d\n' 1 1
  awk 'BEGIN { for (i = 0; i < 400; ++i) d = d i % 10; print d; print "-" d; print d ".5"; print d "." d; print "." d }'
} >numbers
for order in -g -n -h -gr -nr "-n -s" "-g -u" "-n -u" "-h -u" "-k1.2n" -V -M; do same_as_sort $order numbers; done
# NaNs come after texts that are not numbers. sort 9.1 compares uninitialized bytes of NaNs.
printf '%s\n' nan inf 1 -nan x NaN -inf 'nan(1)' '' >nans
printf '%s\n' '' x -nan NaN nan 'nan(1)' -inf 1 inf >want.out
expect 0 "${g[@]}" -g nans got.out
same want.out got.out

# Bytes that are not text: truncated and overlong UTF-8, surrogates, byte order marks, all byte values, CR LF.
printf '\377\376a\n\357\273\277b\nb\n\303\n\303\251\n\355\240\200\n\300\200\n\364\220\200\200\n\200\n\r\na\r\n\0\na\0b\na\n' >bytes
awk 'BEGIN { for (i = 1; i < 256; ++i) if (i != 10) printf "%c\n", i }' >>bytes
for order in "" -f -d -i -r -u -n -V "-k1.2" "-t $(printf '\303')  -k2"; do same_as_sort $order bytes; done
same_as_sort -z bytes

# Sorted inputs with long lines at the same place, and very little memory.
for i in 0 1 2 3 4 5 6 7; do
  for ((j = 0; j < 5; ++j)); do printf '%03d%0150000d\n' $((j * 8 + i)) 0; done >m$i
done
sort -m m? >want.out
for memory in 4M 8M 16M 64M; do
  expect 0 "${g[@]}" -m --memory $memory -o got.out m?
  same want.out got.out
done
cat m1 m0 >m8
expect 3 "${g[@]}" -m --memory 4M -o got.out m?
says 'm8: not sorted'
rm -f m?

# Few descriptors, little address space, little stack, no spare threads.
"$bin/gpusort_gen" --type web-log --bytes 2M web.log
sort web.log >want.out
spill=(--memory 8M --batch-bytes 100000)
split -n l/30 web.log part.
if sanitized; then
  echo "SKIPPED: UBSan opens a pipe to look at a pointer, and takes it for a wrong one if it cannot: ulimit -n"
else
  mkdir -p t1 t2 t3
  for n in 10 12 15 16 17 24 32; do
    (ulimit -n $n; expect 0 "${g[@]}" "${spill[@]}" --threads 8 -T t1 -T t2 -T t3 web.log got.out; same want.out got.out)
  done
  for n in 10 16 32; do
    (ulimit -n $n; expect 0 "${g[@]}" "${spill[@]}" web.log got.out; same want.out got.out)
    (ulimit -n $n; expect 0 "${g[@]}" "${spill[@]}" -o got.out part.*; same want.out got.out)
  done
  rm got.out
  (ulimit -n 5; expect_one_of "0 2 4" "${g[@]}" "${spill[@]}" web.log got.out)
  [ ! -e got.out ] || same want.out got.out
fi
if sanitized; then
  echo "SKIPPED: sanitizers reserve terabytes of addresses: ulimit -v"
else
  for kib in 30000 50000 70000 100000 150000 250000 500000 1000000; do
    for threads in 1 4 64; do
      rm -f got.out
      (ulimit -v $kib; expect_one_of "0 6 127" timeout -s KILL 1200 "$bin/gpusort" --threads $threads web.log got.out)
      [ ! -e got.out ] || same want.out got.out
      [ $kib -lt 100000 ] || [ -e got.out ] || fail "$kib KiB of addresses are not enough: $(cat err)"
    done
  done
fi
(ulimit -s 256; expect 0 "${g[@]}" "${spill[@]}" web.log got.out; same want.out got.out)
nothing_left
echo "hostile: ok"
