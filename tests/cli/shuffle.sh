# Tests --shuffle: the same records in an order that depends on the seed alone, for all formats and with all plans.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v sort >/dev/null || { echo "NOT TESTED: there is no sort"; exit 77; }
plans=("--threads 2" "--memory 16M --batch-bytes 200000" "--memory 4M --batch-bytes 9000 --fan-in 2 --threads 1")
# shuffled WANT OPTION...: sorts got.out, which must have the same lines as WANT, in another order.
shuffled() {
  if cmp -s got.out "$1"; then fail "nothing was shuffled: $*"; fi
  sort got.out | cmp -s - <(sort "$1") || fail "other records: $*"
}

"$bin/gpusort_gen" --type web-log --bytes 1M --seed 5 web.log
{ cat web.log; printf '\n\n\n'; seq 1 20000; printf 'no newline'; } >lines.txt
sed -e '$a\' lines.txt >ended.txt
expect 0 "$g" --shuffle --seed 1 lines.txt got.out
shuffled ended.txt
cp got.out want.out
for plan in "${plans[@]}"; do
  expect 0 "$g" --shuffle --seed 1 $plan lines.txt got.out
  cmp -s want.out got.out || fail "another order with $plan"
  "$g" --shuffle --seed 1 $plan - - <lines.txt >got.out
  cmp -s want.out got.out || fail "another order of a stream with $plan"
  expect 0 "$g" --shuffle --seed 1 --top 100 $plan lines.txt got.out
  head -n 100 want.out | cmp -s - got.out || fail "--top differs with $plan"
done
gzip -c lines.txt >lines.txt.gz
expect 0 "$g" --shuffle --seed 1 lines.txt.gz got.out
same got.out want.out
expect 0 "$g" --shuffle --seed 2 lines.txt got.out
shuffled ended.txt
if cmp -s want.out got.out; then fail "two seeds gave one order"; fi
expect 0 "$g" --shuffle lines.txt got.out
shuffled ended.txt
cp got.out other.out
expect 0 "$g" --shuffle --verbose lines.txt got.out
seed=$(sed -n 's/.*shuffled by --seed \([0-9]*\).*/\1/p' err)
if cmp -s other.out got.out; then fail "without a seed, the order was the same twice"; fi
expect 0 "$g" --shuffle --seed "$seed" lines.txt other.out
same got.out other.out
expect 0 "$g" --shuffle --seed 18446744073709551615 lines.txt got.out
shuffled ended.txt

# Several inputs, also the same one twice: equal lines do not stay together.
expect 0 "$g" --shuffle --seed 3 -o got.out web.log web.log
cat web.log web.log | sort | cmp - <(sort got.out) || fail "two inputs"
yes same | head -n 1000 >same.txt || true
seq 1 1000 | cat - same.txt >half.txt
expect 0 "$g" --shuffle --seed 3 half.txt got.out
runs=$(sed 's/[0-9][0-9]*/number/' got.out | uniq | wc -l)
[ "$runs" -gt 900 ] && [ "$runs" -lt 1100 ] || fail "equal lines stay together: $runs runs"

# Other records.
{ echo head; cat lines.txt; } >head.list
expect 0 "$g" --shuffle --seed 1 --header 1 head.list got.out
{ echo head; cat want.out; } | cmp - got.out || fail "a header"
tr '\n' '\0' <ended.txt >lines.nul
expect 0 "$g" --shuffle --seed 1 -z lines.nul got.out
tr '\n' '\0' <want.out | cmp - got.out || fail "lines that end with NUL"
seq 1 3000 | awk '{print $1 ",\"a\nb" $1 "\""}' | cat <(echo 'id,text') - >rows.csv
expect 0 "$g" --shuffle --seed 1 rows.csv got.out
cp got.out shuffled.csv
if cmp -s rows.csv got.out; then fail "rows were not shuffled"; fi
expect 0 "$g" -k id:int shuffled.csv got.out
same got.out rows.csv
expect 0 "$g" --shuffle --seed 1 --memory 4M --batch-bytes 9000 rows.csv got.out
same got.out shuffled.csv
seq 1 3000 | awk '{print "{\"id\":" $1 "}"}' >rows.jsonl
expect 0 "$g" --shuffle --seed 1 rows.jsonl got.out
shuffled rows.jsonl
expect 0 "$g" --format log --shuffle --seed 1 web.log got.out
shuffled web.log
printf 'Package: a\nVersion: 1\n\nPackage: b\n\nPackage: c\n\nPackage: d\n\nPackage: e\n\n' >packages
expect 0 "$g" --format paragraphs --shuffle --seed 1 packages got.out
shuffled packages
for type in u8 i32 u64; do
  "$bin/gpusort_gen" --type $type --count 30000 --seed 3 "in.$type"
  expect 0 "$g" --shuffle --seed 1 "in.$type" shuffled.$type
  if cmp -s "in.$type" shuffled.$type; then fail "numbers were not shuffled"; fi
  expect 0 "$g" --shuffle --seed 1 --memory 4M --batch-bytes 9000 --fan-in 2 --type $type - - <"in.$type" >got.out
  same got.out shuffled.$type
  expect 0 "$g" "in.$type" want.$type
  expect 0 "$g" shuffled.$type got.$type
  same got.$type want.$type
done
head -c 3003 in.u64 >odd.rec
expect 0 "$g" --shuffle --seed 1 --record-size 7 odd.rec got.out
expect 0 "$g" --record-size 7 got.out got.rec
expect 0 "$g" --record-size 7 odd.rec want.rec
same got.rec want.rec
expect 3 "$g" --shuffle --record-size 8 odd.rec got.out
says 'ends inside a record of 8 bytes'
: >empty
expect 0 "$g" --shuffle empty got.out
[ ! -s got.out ] || fail "an empty input"
expect 0 "$g" --shuffle --seed 1 --split 3 lines.txt part
expect 0 "$g" --shuffle --seed 1 lines.txt want.out
cat part-0.txt part-1.txt part-2.txt | cmp - want.out || fail "parts"

# After a kill the same command continues with the same order.
for after in 0.05 0.2 0.4; do
  rm -rf kept got.out
  kill_and_continue $after "$g" --shuffle --seed 1 --resume-dir kept --memory 4M --batch-bytes 90000 --fan-in 4 --checkpoint 64K lines.txt got.out
  same got.out want.out
done
rm -rf kept

for option in "-k 1" -r -u --count -n -s --locale --debug "-t ," "-R" --verify-output -c; do
  expect 2 "$g" --shuffle $option lines.txt got.out
  says 'no meaning with --'
done
expect 2 "$g" --shuffle -m -o got.out lines.txt
expect 2 "$g" --seed 1 lines.txt got.out
says 'without --shuffle'
expect 2 "$g" --shuffle --resume-dir kept lines.txt got.out
says 'needs --seed'
expect 2 "$bin/gpusort_task" runs --slice 0/1 --into tasks --shuffle --seed 1 lines.txt
says 'no meaning here'
printf 'INSERT INTO t VALUES (1);\n' >dump.sql
expect 2 "$g" --format mysqldump --shuffle dump.sql got.out
says 'no meaning with --format mysqldump'
nothing_left
echo "shuffle: ok"
