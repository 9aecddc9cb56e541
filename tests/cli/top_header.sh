# Tests --top and --header: the same bytes as head and sort give, for lines and numbers, files and streams, with all
# plans.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v sort >/dev/null || { echo "NOT TESTED: there is no sort"; exit 77; }
plans=("--threads 2" "--memory 16M --batch-bytes 20000" "--memory 4M --batch-bytes 9000 --fan-in 2 --threads 1")

# A header that cannot be written.
printf 'h\nb\na\n' >small.txt
(trap '' XFSZ; ulimit -f 0; expect 5 "$g" --header 1 --no-space-check small.txt unwritten)
[ ! -e unwritten ] || fail "an output that could not be written has its name"

# Lines that are too long for a merge of all inputs in so little memory: the inputs are checked and sorted, and a
# message says so.
names=()
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
  { echo head; { head -c 1000000 /dev/zero | tr '\0' "$((i % 10))"; echo; seq $i 7 5000; } | sort; } >long$i.txt
  names+=(long$i.txt)
done
{ echo head; tail -qn +2 "${names[@]}" | sort; } >want.out
expect 0 "$g" -m --header 1 --memory 16M -o got.out "${names[@]}"
same got.out want.out
says 'sorting them instead'
head -n 101 want.out | cmp - <("$g" -m --header 1 --top 100 --memory 16M -o - "${names[@]}" 2>/dev/null) || fail "--top of long lines"
{ echo head; echo b; echo a; } >long12.txt
expect 3 "$g" -m --header 1 --memory 16M -o got.out "${names[@]}"
says 'long12.txt: not sorted: line 3 '
expect 0 "$g" --check --header 1 long1.txt
mkfifo pipe
expect 2 "$g" --verify-output small.txt pipe
rm pipe
says 'a stream'
printf 'a.u64\0b.u64\0' >names
expect 2 "$g" --files0-from names -o got.out
says "'a.u64' means numbers"
expect 2 "$g" --files0-from names --format binary -o got.out
says 'do not tell'
head -c 300000 /dev/zero | tr '\0' x >one.txt
expect 3 "$g" --debug --memory 4M one.txt got.out
says 'longer than 262144 bytes'

# --top of lines.
"$bin/gpusort_gen" --type web-log --bytes 192K web.log
"$bin/gpusort_gen" --type web-log --bytes 64K --seed 5 --distinct 30 few.log
for file in web.log few.log; do
  for order in "" "-r" "-u" "-s -k4,4" "-u -k1,1" "-k9,9nr -s"; do
    sort $order $file >all.out
    for top in 1 10 29 30 31 300 5000; do
      head -n $top all.out >want.out
      for plan in "${plans[@]}"; do
        expect 0 "$g" --format lines $order --top $top $plan $file got.out
        cmp -s want.out got.out || fail "--top $top $order of $file differs with $plan"
      done
    done
  done
done
sort web.log >sorted.log
sort few.log >sorted_few.log
head -n 7 sorted.log >want.out
"$g" --top 7 --memory 4M --batch-bytes 9000 - - <web.log >got.out
same got.out want.out
sort web.log few.log >all.out
head -n 100 all.out >want.out
expect 0 "$g" -m --top 100 --verify-output -o got.out sorted.log sorted_few.log
same got.out want.out

# --top of numbers; the checker's own sort confirms their order.
"$bin/gpusort_gen" --type i64 --count 50000 --seed 3 in.i64
expect 0 "$g" in.i64 all.i64
for top in 1 1000 49999 50000 60000; do
  head -c $((8 * top)) all.i64 >want.i64
  for plan in "--threads 2" "--memory 4M --batch-bytes 9000 --fan-in 2"; do
    expect 0 "$g" --top $top $plan --verify-output in.i64 got.i64
    cmp -s want.i64 got.i64 || fail "--top $top of numbers differs with $plan"
  done
done

# Omitted records are not spilled.
expect 0 "$g" --top 10 --memory 4M --batch-bytes 9000 --stats stats.json in.i64 got.i64
python3 - <<'PY'
import json
s = json.load(open("stats.json"))
assert s["records_in"] == 50000 and s["records_out"] == 10 and s["top"] == 10, s
assert s["temp_bytes"]["written"] < s["records_in"] * 8 and s["temp_bytes"]["written"] <= 2 * s["runs"] * 4096, s
PY
expect 2 "$g" --top 0 in.i64 out
expect 2 "$g" --top x in.i64 out
expect 2 "$g" --top 1 --check all.i64
says 'no meaning'

# --header.
{ printf 'name,count\n#types\n'; cat web.log; } >a.list
{ printf 'name,count\n#types\n'; cat few.log; } >b.list
{ head -n 2 a.list; sort -k4 web.log few.log; } >want.out
for plan in "${plans[@]}"; do
  expect 0 "$g" --header 2 -k4 $plan --verify-output -o got.out a.list b.list
  same got.out want.out
  "$g" --header 2 -k4 $plan -o - - b.list <a.list >got.out
  same got.out want.out
done
sort -ru web.log >all.out
{ head -n 2 a.list; head -n 5 all.out; } >want.out
expect 0 "$g" --header 2 -r -u --top 5 --stats stats.json a.list got.out
same got.out want.out
grep -q '"header_lines": 2' stats.json || fail "the statistics do not count the header"
expect 0 "$g" --header 2 a.list a_sorted.list
expect 0 "$g" --header 2 b.list b_sorted.list
expect 0 "$g" --header 2 -c a_sorted.list
expect 0 "$g" --header 2 -c - <a_sorted.list
expect 1 "$g" -c a_sorted.list
expect 1 "$g" --header 2 -c a.list
says "a.list: not sorted: line $(($(sort -c web.log 2>&1 | cut -d: -f3) + 2)) (byte "
{ head -n 2 a.list; sort -m sorted.log sorted_few.log; } >want.out
expect 0 "$g" --header 2 -m --memory 4M --fan-in 2 -o got.out a_sorted.list b_sorted.list a_sorted.list
{ head -n 2 a.list; sort -m sorted.log sorted_few.log sorted.log; } >want.out
same got.out want.out
expect 3 "$g" --header 2 -m -o got.out a_sorted.list b.list
says 'not sorted: the line at byte'
tr '\n' '\0' <a.list >a.nul
{ head -n 2 a.list; sort web.log; } | tr '\n' '\0' >want.out
expect 0 "$g" --header 2 -z a.nul got.out
same got.out want.out

# Headers that differ, in files and streams, are named; empty inputs have none.
{ printf 'name,size\n#types\n'; cat few.log; } >other.csv
echo old >kept
expect 3 "$g" --header 2 -o kept a.list other.csv
says 'the headers of a.list and other.csv differ'
expect 3 "$g" --header 2 -o kept a.list - <other.csv
says 'the headers of a.list and - differ'
expect 3 "$g" --header 3 -o kept a.list b.list
: >empty
expect 0 "$g" --header 2 -o got.out empty a.list empty
head -n 2 a.list >want.out
sort web.log >>want.out
same got.out want.out
[ "$(cat kept)" = old ] || fail "a refused job changed its output"

# Inputs that consist of a header, or of less. A missing newline is added as to any last line.
for text in '' 'one' 'one\n' 'one\ntwo' 'one\ntwo\n' '\n' '\n\n'; do
  printf "$text" >short
  printf "$text" | sed -e '$a\' >want.out
  expect 0 "$g" --header 2 short got.out
  same got.out want.out
  "$g" --header 2 - got.out <short || fail "a short stream"
  same got.out want.out
done

# Across pages and blocks, with the page cache and without.
{ head -c 9000 /dev/zero | tr '\0' h; echo; cat web.log; } >wide.csv
{ head -n 1 wide.csv; sort web.log; } >want.out
expect 0 "$g" --header 1 --memory 8M --batch-bytes 9000 --verify-output wide.csv got.out
same got.out want.out
head -c 300000 /dev/zero | tr '\0' h >endless
expect 3 "$g" --header 1 --memory 2M endless got.out
says 'its header is longer than 256.0 KiB: it has one line of 293.0 KiB; give at least --memory 2.3M, or a smaller --header'
expect 2 "$g" --header 0 a.list out
expect 2 "$g" --header 1 --type i64 in.i64 out
says '--header is for lines'
nothing_left
echo "top and header: ok"
