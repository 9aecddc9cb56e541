# Tests --count, --only-unique, --only-duplicates and --by count: the bytes of uniq, for lines and for rows, with all
# plans, after kills, and with other options. What has no meaning is refused.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v uniq >/dev/null && command -v awk >/dev/null || { echo "NOT TESTED: there is no uniq or no awk"; exit 77; }
plans=("--threads 2" "--memory 16M --batch-bytes 20000" "--memory 4M --batch-bytes 9000 --fan-in 2 --threads 1")

# Lines: many that occur once, many a few times, one very often, and empty ones.
"$bin/gpusort_gen" --type web-log --bytes 1M --seed 5 web.log
{ awk '{print $1, $9}' web.log; seq 1 4000; awk 'BEGIN {for (i = 0; i < 60000; ++i) print "often"}'; printf '\n\n\n'; } >lines.txt
sort lines.txt >sorted.txt
for plan in "${plans[@]}"; do
  for form in "--count:-c" "--only-unique:-u" "--only-duplicates:-d" "--count --only-duplicates:-cd" \
    "--count --only-unique:-cu" "-u --count:-c"; do
    uniq ${form#*:} sorted.txt >want.out
    expect 0 "$g" ${form%:*} $plan lines.txt got.out
    cmp -s want.out got.out || fail "${form%:*} differs from uniq ${form#*:} with $plan"
    for top in 1 7 100000; do
      head -n $top want.out | cmp -s - <("$g" ${form%:*} --top $top $plan lines.txt - 2>/dev/null) ||
        fail "${form%:*} --top $top differs with $plan"
    done
  done
  uniq -c sorted.txt | sort -s -k1,1nr >all.out
  head -n 50 all.out >want.out
  expect 0 "$g" --count --top 50 --by count $plan lines.txt got.out
  same got.out want.out
  uniq -cd sorted.txt | sort -s -k1,1nr >want.out
  expect 0 "$g" --count --only-duplicates --top 100000 --by count $plan lines.txt got.out
  same got.out want.out
done
uniq -c sorted.txt >want.out
"$g" --count - - <lines.txt | cmp - want.out || fail "--count of a stream"
expect 0 "$g" --count --stats stats.json lines.txt got.out
grep -q "\"records_out\": $(wc -l <want.out)" stats.json || fail "the statistics do not count the groups"
expect 0 "$g" --count --top 5 --by count --stats stats.json lines.txt got.out
grep -q '"records_out": 5' stats.json || fail "the statistics do not count the largest groups"
split -n l/3 sorted.txt piece.
expect 0 "$g" -m --count -o got.out piece.*
same got.out want.out
expect 0 "$g" --count lines.txt got.gz
gzip -dc got.gz | cmp - want.out || fail "--count and compression"
tr '\n' '\0' <lines.txt >lines.nul
expect 0 "$g" -z --count lines.nul got.out
tr '\n' '\0' <want.out | cmp - got.out || fail "--count of lines that end with NUL"
{ echo head; cat lines.txt; } >head.list
expect 0 "$g" --header 1 --count head.list got.out
{ echo head; cat want.out; } | cmp - got.out || fail "--count after a header"
expect 0 "$g" --verify-output --only-duplicates lines.txt got.out
for empty in "" "\n"; do
  printf "$empty" >short
  sort short | uniq -c >want.out
  expect 0 "$g" --count short got.out
  same got.out want.out
done

printf 'id\n1\n2\n' >once.csv
expect 0 "$g" --only-duplicates once.csv got.csv
echo id | cmp - got.csv || fail "duplicates of rows that are there once"
[ ! -s err ] || fail "a message: $(cat err)"

# Records that contain the byte that ends a line, to a stream and to a file: each count stands before its record.
awk 'BEGIN {for (i = 0; i < 900; ++i) printf "%d,\"a%s%d\"\n", i * 7 % 300, (i % 3 ? "\n" : "-"), i}' >broken.csv
sed '1i id,text' broken.csv >rows.csv
awk 'BEGIN {print "count,id,text"; for (k = 0; k < 300; ++k) {i = k * 43 % 300; printf "3,%d,\"a%s%d\"\n", k, (i % 3 ? "\n" : "-"), i}}' >want.out
for plan in "${plans[@]}"; do
  "$g" -k id:int --count $plan rows.csv - 2>/dev/null | cmp - want.out || fail "--count of CSV with newlines, with $plan"
  expect 0 "$g" -k id:int --count $plan rows.csv got.csv
  same got.csv want.out
  { head -n 1 want.out; grep -A1 '^3,[0-4],' want.out | head -n 8; } >top.out
  "$g" -k id:int --count --top 5 --by count $plan rows.csv - 2>/dev/null | cmp - top.out ||
    fail "--by count of CSV with newlines, with $plan"
done
awk 'BEGIN {for (i = 0; i < 600; ++i) printf "2026-01-01 10:%02d:%02d msg %d\n  second line\n", i % 200 / 60, i % 200 % 60, i}' >two.log
awk 'BEGIN {for (i = 0; i < 200; ++i) printf "      3 2026-01-01 10:%02d:%02d msg %d\n  second line\n", i / 60, i % 60, i}' >want.out
"$g" --format log --count two.log - 2>/dev/null | cmp - want.out || fail "--count of a log"
awk 'BEGIN {for (i = 0; i < 90; ++i) printf "%d\ta\\\n%d\n", i * 7 % 30, i}' >rows.my
awk 'BEGIN {for (k = 0; k < 30; ++k) printf "3\t%d\ta\\\n%d\n", k, k * 13 % 30}' >want.out
"$g" --format mysql -k '#1:int' --count rows.my - 2>/dev/null | cmp - want.out || fail "--count of rows of MySQL"
awk 'BEGIN {for (i = 0; i < 90; ++i) printf "%02d\nb%d\001", i * 7 % 30, i}' | tr '\001' '\000' >lines.nul
awk 'BEGIN {for (k = 0; k < 30; ++k) printf "      3 %02d\nb%d\001", k, k * 13 % 30}' | tr '\001' '\000' >want.out
"$g" -z -k 1:int --count lines.nul - 2>/dev/null | cmp - want.out || fail "--count of -z with typed keys"

# Keys: equal keys count, and the record is the first of the input.
awk '{n[$2]++; if (n[$2] == 1) first[$2] = $0} END {for (k in n) printf "%7d %s\n", n[k], first[k]}' lines.txt |
  sort -s -k3,3 >want.out
for plan in "${plans[@]}"; do
  expect 0 "$g" -k2,2 --count $plan lines.txt got.out
  sort -s -k3,3 got.out | cmp - want.out || fail "--count of keys differs with $plan"
done
printf 'B 1\na 2\nb 3\nA 4\nc 5\n' >case.txt
printf '      2 a 2\n      2 B 1\n      1 c 5\n' >want.out
expect 0 "$g" -f -k1,1 --count case.txt got.out
same got.out want.out
printf '      2 a 2\n      2 B 1\n      1 c 5\n' >want.out
expect 0 "$g" -k 1:nocase --count case.txt got.out
same got.out want.out
cut -d' ' -f1 web.log | sort | uniq -c | awk '{print $1}' >want.out
expect 0 "$g" --format log -k host --count web.log got.out
awk '{print $1}' got.out | cmp - want.out || fail "--count of a log"

# Rows: the count is the first column, and has a name.
printf '\xEF\xBB\xBFid,n\n1,a\n2,"b\nb"\n1,c\n2,d\n3,e\n' >rows.csv
printf '\xEF\xBB\xBFcount,id,n\n2,1,a\n2,2,"b\nb"\n1,3,e\n' >want.out
for plan in "" "--threads 1 --memory 4M --batch-bytes 9000"; do
  expect 0 "$g" -k id:int --count $plan rows.csv got.out
  same got.out want.out
done
printf '\xEF\xBB\xBFcount,id,n\n2,1,a\n' >want.out
expect 0 "$g" -k id:int --count --top 1 --by count rows.csv got.out
same got.out want.out
printf '\xEF\xBB\xBFid,n\n3,e\n' >want.out
expect 0 "$g" -k id:int --only-unique rows.csv got.out
same got.out want.out
"$g" --format tsv --no-header -k '#1' --count - - < <(printf 'x\t1\ny\t2\nx\t3\n') 2>/dev/null >got.out
printf '2\tx\t1\n1\ty\t2\n' | cmp - got.out || fail "--count of tsv without a header"
printf 'count;id\n7;1\n7;1\n' >counted.csv
expect 0 "$g" --delimiter ';' --count counted.csv got.out
says 'have a column count already'
printf 'count;count;id\n2;7;1\n' | cmp - got.out || fail "--count of rows with a column count"
"$g" --format pgcopy -k '#1:int' --count - - < <(printf '1\ta\n1\tb\n\\.\n') >got.out
printf '2\t1\ta\n\\.\n' | cmp - got.out || fail "--count of COPY"
seq 1 30000 | awk '{print ($1 * 7919 % 1000) "," $1}' >many.csv
awk -F, '{n[$1]++; if (n[$1] == 1) f[$1] = $0} END {for (k in n) print n[k] "," f[k]}' many.csv | sort -t, -k2,2n >want.out
for plan in "${plans[@]}"; do
  expect 0 "$g" --no-header -k '#1:int' --count $plan many.csv got.out
  same got.out want.out
done
printf '{"a":1,"b":2}\n { } \n{"a":1}\n{"a":3,"count":5}\n{}\n' >rows.jsonl
printf '{"count":2,"a":1,"b":2}\n{"count":1,"a":3,"count":5}\n {"count":2 } \n' >want.out
expect 0 "$g" -k a:int --count rows.jsonl got.out
same got.out want.out
says 'a text "count" already'
printf '[1]\n' >list.jsonl
expect 3 "$g" -k '[0]:int' --count list.jsonl got.out
says "no JSON object, so it has no place for the count: '\[1\]'"
same got.out want.out

# Binary records have no room for counts.
"$bin/gpusort_gen" --type u32 --count 20000 --seed 3 in.u32
cat in.u32 in.u32 >twice.u32
head -c 8000 in.u32 | cat - in.u32 >some.u32
expect 0 "$g" twice.u32 got.u32 --only-unique
[ ! -s got.u32 ] || fail "--only-unique kept numbers that occur twice"
od -An -v -tu4 -w4 some.u32 | sort -n | uniq -u >want.out
expect 0 "$g" --only-unique --memory 4M --batch-bytes 9000 some.u32 got.u32
od -An -v -tu4 -w4 got.u32 | cmp - want.out || fail "--only-unique of numbers"
expect 2 "$g" --count in.u32 got.u32
says 'no form for binary records'

# After a kill the same command continues, and counts each record once.
seq 1 400000 | awk '{print $1 * 7919 % 30011}' >long.txt
sort long.txt | uniq -c >want.out
for signal in KILL TERM; do
  for after in 0.05 0.2 0.4; do
    rm -rf kept got.out
    command=("$g" --count --resume-dir kept --memory 4M --batch-bytes 90000 --fan-in 4 --checkpoint 64K long.txt got.out)
    "${command[@]}" 2>/dev/null &
    job=$!
    sleep $after
    kill -$signal $job 2>/dev/null || true
    wait $job 2>/dev/null || true
    expect 0 "${command[@]}"
    [ -f got.out ] || fail "no output after a kill"
    same got.out want.out
  done
done
rm -rf kept

# Refused.
expect 2 "$g" --only-unique --only-duplicates lines.txt got.out
says 'exclude each other'
expect 2 "$g" --by count lines.txt got.out
says 'needs --count and --top N'
expect 2 "$g" --by size --count --top 1 lines.txt got.out
says "'size' is none of: count"
for option in --count --only-unique --only-duplicates; do
  expect 2 "$g" $option --split 2 lines.txt got.out
  says "$option cannot be combined with --split yet"
  expect 2 "$g" $option -c sorted.txt
  says "$option has no meaning with --check"
  printf 'INSERT INTO t VALUES (1);\n' >dump.sql
  expect 2 "$g" --format mysqldump $option dump.sql got.out
  says "$option has no meaning with --format mysqldump"
done
expect 2 "$g" --count --debug lines.txt got.out
expect 2 "$g" --count --verify-output lines.txt got.out
says 'no meaning with --count'
expect 2 "$g" --count --comment '#' rows.csv got.out
expect 2 "$g" --count --header 2 rows.csv got.out
expect 2 "$g" --count --delimiter 1 rows.csv got.out
expect 2 "$g" --format paragraphs --count lines.txt got.out
says 'no meaning with --format paragraphs'
expect 2 "$g" --format pgcopy-binary -k '#1:int' --count lines.txt got.out
same got.out want.out
nothing_left
echo "counts: ok"
