# Tests --keep-order: the first of equal records in the order of the input, as awk '!seen[$0]++' writes them, for all
# formats, with all plans and after kills. What has no meaning is refused.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v awk >/dev/null && command -v uniq >/dev/null || { echo "NOT TESTED: there is no awk or no uniq"; exit 77; }
plans=("--threads 2" "--memory 16M --batch-bytes 20000" "--memory 5M --batch-bytes 9000 --fan-in 2 --threads 1")

"$bin/gpusort_gen" --type web-log --bytes 1M --seed 5 web.log
{ awk '{print $1, $9}' web.log; seq 1 4000; seq 1 3 5000; printf '\n\n\n'; awk 'BEGIN {for (i = 0; i < 3000; ++i) print "often"}'; seq 6000; printf 'no newline'; } >lines.txt
awk '!seen[$0]++' lines.txt >want.out
awk '!n[$0]++ {line[++m] = $0} END {for (i = 1; i <= m; ++i) printf "%7d %s\n", n[line[i]], line[i]}' lines.txt >count.out
awk '{n[$0]++; line[NR] = $0} END {for (i = 1; i <= NR; ++i) if (n[line[i]] == 1) print line[i]}' lines.txt >single.out
awk '{n[$0]++} n[$0] == 1 {line[++m] = $0} END {for (i = 1; i <= m; ++i) if (n[line[i]] > 1) print line[i]}' lines.txt >again.out
for plan in "${plans[@]}"; do
  expect 0 "$g" -u --keep-order $plan lines.txt got.out
  cmp -s want.out got.out || fail "-u differs with $plan"
  "$g" -u --keep-order $plan - - <lines.txt 2>/dev/null | cmp - want.out || fail "-u of a stream with $plan"
  expect 0 "$g" -u -r --keep-order $plan lines.txt got.out
  cmp -s want.out got.out || fail "-u -r differs with $plan"
  expect 0 "$g" --only-unique --keep-order $plan lines.txt got.out
  cmp -s single.out got.out || fail "--only-unique differs with $plan"
  expect 0 "$g" --only-duplicates --keep-order $plan lines.txt got.out
  cmp -s again.out got.out || fail "--only-duplicates differs with $plan"
  expect 0 "$g" --count --keep-order $plan lines.txt got.out
  cmp -s count.out got.out || fail "--count differs with $plan"
  for top in 1 7 100000; do
    expect 0 "$g" -u --keep-order --top $top $plan lines.txt got.out
    head -n $top want.out | cmp -s - got.out || fail "--top $top differs with $plan"
    expect 0 "$g" --count --keep-order --top $top $plan lines.txt got.out
    head -n $top count.out | cmp -s - got.out || fail "--count --top $top differs with $plan"
  done
done
expect 0 "$g" -u --keep-order --stats stats.json --trace trace.json --report page.html lines.txt got.out
grep -q "\"records_in\": $(($(wc -l <lines.txt) + 1))" stats.json || fail "the statistics have other records"
grep -q "\"records_out\": $(wc -l <want.out)" stats.json || fail "the statistics have another output"
[ "$(grep -o '"phase": "[a-z ]*"\|"name": "merge runs"' stats.json | wc -l)" -ge 2 ] || fail "a sort is missing in: $(cat stats.json)"
[ "$(grep -o 'merge runs' trace.json | wc -l)" -ge 2 ] || fail "a sort is missing in the trace"
expect 0 "$g" --explain -u --keep-order lines.txt got.out
split -n l/3 lines.txt piece.
for piece in piece.*; do sort "$piece" >"$piece.sorted"; done
cat piece.*.sorted | awk '!seen[$0]++' >want.merged
expect 0 "$g" -m -u --keep-order -o got.out piece.*.sorted
same got.out want.merged
expect 0 "$g" -u --keep-order -o got.out lines.txt lines.txt
same got.out want.out
gzip -c lines.txt >lines.txt.gz
expect 0 "$g" -u --keep-order lines.txt.gz got.gz
gzip -dc got.gz | cmp - want.out || fail "compressed files"
cp lines.txt in-place
expect 0 "$g" -u --keep-order -o in-place in-place
same in-place want.out
for short in "" "\n" "\n\n" "a" "a\nb\na\n" "a\r\na\r\na\n"; do
  printf "$short" >short
  awk '!seen[$0]++' short >want.short
  expect 0 "$g" -u --keep-order short got.out
  same got.out want.short
done
{ echo '# head'; cat lines.txt; } >head.list
expect 0 "$g" --header 1 -u --keep-order head.list got.out
{ echo '# head'; cat want.out; } | cmp - got.out || fail "a header"
expect 0 "$g" --header-prefix '#' -u --keep-order head.list got.out
{ echo '# head'; cat want.out; } | cmp - got.out || fail "lines of a header"
sed 's/ /\n/;s/7/\x1d/g' lines.txt | tr '\n' '\0' >lines.nul
tr '\0' '\1' <lines.nul | tr '\n' '\2' | tr '\1' '\n' | awk '!seen[$0]++' | tr '\n' '\0' | tr '\2' '\n' >want.nul
for plan in "${plans[@]}"; do
  expect 0 "$g" -z -u --keep-order $plan lines.nul got.out
  same got.out want.nul
  expect 0 "$g" -z --count --keep-order $plan lines.nul got.out
  tr '\n\0' '\1\n' <got.out | sed 's/^ *[0-9]* //' | tr '\1\n' '\n\0' | cmp - want.nul || fail "counts before lines that end with NUL"
done
# Newlines and control characters in lines that end with NUL, and long lines.
awk 'BEGIN {for (i = 0; i < 600; ++i) printf "%s\n\035n%d\001", i % 7 ? "a" : "\035", i * 7 % 300}' | tr '\001' '\000' >odd.nul
awk 'BEGIN {for (i = 0; i < 600; ++i) {r = sprintf("%s\n\035n%d\001", i % 7 ? "a" : "\035", i * 7 % 300); if (!s[r]++) printf "%s", r}}' |
  tr '\001' '\000' >want.out2
expect 0 "$g" -z -u --keep-order odd.nul got.out
same got.out want.out2
for ((i = 0; i < 30; ++i)); do
  head -c 200000 /dev/zero | tr '\0' "$((i % 3))"
  printf '\n%s\n' "$((i % 5))"
done >long.txt
awk '!seen[$0]++' long.txt >want.out2
for plan in "" "--memory 8M --batch-bytes 9000"; do
  expect 0 "$g" -u --keep-order $plan long.txt got.out
  same got.out want.out2
done

# Keys say what is equal.
awk '!seen[$2]++' lines.txt >want.out2
expect 0 "$g" -u -t ' ' -k 2,2 --keep-order lines.txt got.out
same got.out want.out2
expect 0 "$g" -u -t ' ' -k 2:text --keep-order lines.txt got.out
same got.out want.out2
seq 1 3000 | awk '{printf "%s%d.%s %s\n", $1 % 3 ? "0" : "", $1 % 500, $1 % 2 ? "0" : "", $1 % 4 ? "Word" : "wORD"}' >numbers
awk '!seen[$1 + 0]++' numbers >want.out2
expect 0 "$g" -u -n --keep-order numbers got.out
same got.out want.out2
awk '!seen[$1 + 0, tolower($2)]++' numbers >want.out2
for plan in "${plans[@]}"; do
  expect 0 "$g" -u -k1,1n -k2,2fr --keep-order $plan numbers got.out
  same got.out want.out2
done
expect 0 "$g" -u -k1,1V -k2,2f --keep-order numbers got.out
awk '{sub(/^0*/, "", $1); sub(/0$/, "", $1)} !seen[$1, tolower($2)]++' numbers | wc -l >count.want
[ "$(wc -l <got.out)" -ge "$(cat count.want)" ] || fail "versions: $(wc -l <got.out) records"

# Rows and other records.
seq 1 3000 | awk '{print $1 % 700 ",\"a\nb" $1 "\""}' | cat <(echo 'id,text') - >rows.csv
seq 1 700 | awk '{print $1 % 700 ",\"a\nb" $1 "\""}' | cat <(echo 'id,text') - >want.csv
for plan in "${plans[@]}"; do
  expect 0 "$g" -u -k id:int --keep-order $plan rows.csv got.csv
  same got.csv want.csv
  expect 0 "$g" --count -k id:int --keep-order $plan rows.csv got.csv
  awk 'NR == 1 {print "count," $0; next} /,/ {$0 = (++row <= 200 ? 5 : 4) "," $0} {print}' want.csv | cmp - got.csv ||
    fail "counts of rows with $plan"
done
head -c -1 rows.csv | "$g" --format csv -u -k id:int --keep-order - - | cmp - want.csv || fail "rows of a stream"
seq 1 3000 | awk '{print "{\"id\":" $1 % 700 ", \"n\":" $1 "}"}' >rows.jsonl
expect 0 "$g" -u -k id:int --keep-order rows.jsonl got.out
head -n 700 rows.jsonl | cmp - got.out || fail "JSON Lines"
awk '{print substr($4, 2, 20), NR}' web.log >times.txt
awk '!seen[$9]++' web.log >want.log
expect 0 "$g" --format log -u -k status:int --keep-order web.log got.out
same got.out want.log
printf 'Package: a\nVersion: 1\n\nPackage: c\n\nPackage: a\nVersion: 2\n\nPackage: b\n\nPackage: c\n\n' >packages
printf 'Package: a\nVersion: 1\n\nPackage: c\n\nPackage: b\n\n' >want.out2
expect 0 "$g" --format paragraphs -u -k Package --keep-order packages got.out
same got.out want.out2
for type in u8 i32 u64 f64; do
  "$bin/gpusort_gen" --type $type --count 9000 --seed 3 "once.$type"
  cat "once.$type" "once.$type" >"in.$type"
  size=${type#?}
  od -An -v -w$((size / 8)) -tx1 "in.$type" | awk '!seen[$0]++' >want.hex
  for plan in "${plans[@]}"; do
    expect 0 "$g" -u --keep-order $plan "in.$type" "got.$type"
    od -An -v -w$((size / 8)) -tx1 "got.$type" | cmp - want.hex || fail "numbers of type $type with $plan"
  done
done
od -An -v -w8 -tx1 in.u64 | awk '!seen[$2]++' >want.hex
expect 0 "$g" -u --record-size 8 --key 1:u8:desc --keep-order in.u64 got.out
od -An -v -w8 -tx1 got.out | cmp - want.hex || fail "binary records by a field"

# Counts are written record by record: all counted lines of the windows would take much more memory than the records.
peak() {
  python3 -c 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
awk 'BEGIN {for (i = 0; i < 1048576; ++i) printf "%05x\n", i * 7919 % 1048576}' >distinct.txt
awk '{printf "%7d %s\n", 1, $0}' distinct.txt >want.out2
for plan in "16 --threads 2" "24 --threads 8"; do
  counted=$(peak "$g" --count --keep-order --device cpu --memory ${plan/ /M } -o got.out distinct.txt)
  same got.out want.out2
  # The program itself takes a few MiB beside --memory.
  sanitized || [ "$counted" -le $(((${plan%% *} + 8) * 1024)) ] || fail "--count takes $counted KiB with --memory $plan"
done
rm distinct.txt got.out

# After a kill the same command continues, in both sorts.
for option in -u:want.out --count:count.out; do
  command=("$g" ${option%:*} --keep-order --resume-dir kept --memory 4M --batch-bytes 9000 --fan-in 2 lines.txt got.out)
  for after in $(few && echo 0.05 0.15 0.5 || echo 0.02 0.05 0.1 0.15 0.2 0.3 0.5); do
    rm -rf kept got.out
    kill_and_continue $after "${command[@]}"
    same got.out ${option#*:}
    [ ! -e kept ] || fail "the folder of the job is left"
  done
done
expect 0 "${command[@]}" --keep-resume-dir
[ -e kept ] || fail "the folder of the job is gone"
expect 0 "$g" --status --resume-dir kept
rm -rf kept

expect 2 "$g" --keep-order lines.txt got.out
says 'needs -u, --count, --sum, --only-unique, --only-duplicates, --minus or --intersect'
cp lines.txt both.txt
expect 2 "$g" -u --keep-order --resume-dir kept both.txt both.txt
says 'is an input and a part of the output'
cmp lines.txt both.txt || fail "the refused job changed its input"
[ ! -e kept ] || fail "the refused job made a folder"
rm both.txt
expect 2 "$g" --count --keep-order in.u64 got.u64
says 'no form for binary records'
"$g" --explain -u --keep-order lines.txt got.out | grep -q 'they need temp space' || fail "--explain knows of no temp space"
for options in "--count --by count --top 3:--by count and --keep-order exclude each other" "--split 2:--split has no meaning" \
  "--debug:--debug cannot be combined" "--verify-output:--verify-output has no meaning" "-c:no meaning with --check" \
  "-g:-g has no meaning with --keep-order" "--locale:--locale has no meaning with --keep-order" \
  "--shuffle:no meaning with --shuffle"; do
  expect 2 "$g" -u --keep-order ${options%%:*} lines.txt got.out
  says "${options#*:}"
done
expect 2 "$bin/gpusort_task" runs --slice 0/1 --into tasks -u --keep-order lines.txt
says 'no meaning here'
printf 'INSERT INTO t VALUES (1);\n' >dump.sql
expect 2 "$g" --format mysqldump -u --keep-order dump.sql got.out
says 'no meaning with --format mysqldump'
ln -s "$g" sort
for option in --keep-order; do
  if ./sort -u $option lines.txt >/dev/null 2>err; then fail "sort takes $option"; fi
  says 'unrecognized option'
done
nothing_left
echo "keep_order: ok"
