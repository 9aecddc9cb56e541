# labels: first
# Tests --minus, --intersect and --union against comm, awk and python3, for all formats, with all plans and after kills.
# What has no meaning is refused.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v comm >/dev/null && command -v awk >/dev/null || { echo "NOT TESTED: there is no comm or no awk"; exit 77; }
# True for each case, or for every fourth one if a part of the cases is enough. Each loop over cases has an odd length,
# so that all cases and all plans have their turn.
turns=0
turn() {
  ((++turns))
  ! few || ((turns % 4 == 1))
}
plans=("--threads 2" "--memory 16M --batch-bytes 20000" "--memory 5M --batch-bytes 9000 --fan-in 2 --threads 1")

# Without repeated lines: as comm.
seq 1 2 9000 | sort >a.sorted
seq 1 3 9000 | sort >b.sorted
seq 1 5 9000 | sort >c.sorted
for f in a b c; do sort -t x -k1.3 "$f.sorted" >$f; done
comm -23 a.sorted b.sorted >minus.want
comm -12 a.sorted b.sorted >both.want
sort -u a b >all.want
comm -23 a.sorted b.sorted | comm -23 - c.sorted >minus2.want
comm -12 a.sorted b.sorted | comm -12 - c.sorted >both2.want
comm -12 a.sorted b.sorted | comm -23 - c.sorted >mixed.want
sort -u a b c >all2.want
for case in "--minus b:minus" "--intersect b:both" "--union b:all" "--minus b --minus c:minus2" \
  "--intersect b --intersect c:both2" "--intersect b --minus c:mixed" "--union b --union c:all2" "-u --minus b:minus" \
  "--union b --minus c:all-c"; do
  [ -e "${case#*:}.want" ] || sort -u a b | comm -23 - c.sorted >"${case#*:}.want"
  sort -r "${case#*:}.want" >reverse.want
  head -n 100 "${case#*:}.want" >top.want
  for plan in "${plans[@]}"; do
    if turn; then
      expect 0 "$g" ${case%:*} $plan a got.out
      cmp -s "${case#*:}.want" got.out || fail "${case%:*} differs with $plan"
    fi
    if turn; then
      expect 0 "$g" ${case%:*} --verify-output $plan a got.out
      same got.out "${case#*:}.want"
    fi
    if turn; then
      expect 0 "$g" -r ${case%:*} $plan a got.out
      cmp reverse.want got.out || fail "-r ${case%:*} differs with $plan"
    fi
    if turn; then
      "$g" ${case%:*} $plan - - <a 2>/dev/null | cmp - "${case#*:}.want" || fail "${case%:*} of a stream with $plan"
    fi
    if turn; then
      expect 0 "$g" ${case%:*} --top 100 $plan a got.out
      cmp -s top.want got.out || fail "${case%:*} --top differs with $plan"
    fi
  done
done

# Repeated lines stay without -u, and groups are larger than chunks and batches. b.many has a line of its own first.
awk 'BEGIN {for (i = 0; i < 90000; ++i) print i % 3 ? "often" : i % 400; for (i = 0; i < 9000; ++i) print "x" i % 20}' >a.many
awk 'BEGIN {for (i = 0; i < 50000; ++i) print i % 2 ? "x7" : i % 100; print "often"; print "only b"}' >b.many
awk 'BEGIN {for (i = 0; i < 200; ++i) print i * 2; for (i = 0; i < 9000; ++i) print "often"}' >c.many
# oracle MINUS INTERSECT OPTION: the records of a.many by awk.
oracle() {
  awk -v minus="$1" -v both="$2" -v once="$3" -v order="$4" 'BEGIN {
      n = split(minus, names, " "); for (i = 1; i <= n; ++i) while ((getline line <names[i]) > 0) out[line]
      m = split(both, names, " "); for (i = 1; i <= m; ++i) while ((getline line <names[i]) > 0) if (!((i, line) in in_file)) {in_file[i, line]; ++found[line]}
    }
    !($0 in out) && found[$0] == m && !(once && seen[$0]++)' a.many | if [ -n "$4" ]; then cat; else sort; fi
}
for sets in "b.many:" ":b.many" "c.many:" ":c.many" "b.many c.many:" ":b.many c.many" "b.many:c.many" "c.many:b.many"; do
  minus=${sets%:*} both=${sets#*:} options=
  for name in $minus; do options+=" --minus $name"; done
  for name in $both; do options+=" --intersect $name"; done
  oracle "$minus" "$both" "" "" >all.many
  oracle "$minus" "$both" 1 "" >once.many
  oracle "$minus" "$both" "" 1 >kept.many
  oracle "$minus" "$both" 1 1 >once-kept.many
  # Counts of the records that remain, by uniq, and in the order of the first ones.
  uniq -c all.many >count.many
  sort -s -k1,1nr count.many | sed -n '1,3p' >top.many
  awk 'NR == FNR {count = substr($0, 1, 7); row[substr($0, 9)] = count; next} $0 in row && !seen[$0]++ {print row[$0], $0}' count.many a.many >count-kept.many
  uniq -u all.many >single.many
  uniq -d all.many >repeated.many
  for plan in "${plans[@]}"; do
    for case in :all -u:once --keep-order:kept "-u --keep-order:once-kept" --count:count "--count --by count --top 3:top" \
      "--count --keep-order:count-kept" --only-unique:single --only-duplicates:repeated; do
      turn || continue
      expect 0 "$g" ${case%:*} $options $plan a.many got.out
      cmp -s "${case#*:}.many" got.out || fail "${case%:*} $options differs with $plan"
    done
  done
done

# Several inputs, sorted inputs, compressed ones, the same file twice, files without a record, a last line without its
# end, and the output over an input.
expect 0 "$g" --minus c -o got.out a b
awk 'NR == FNR {out[$0]; next} !($0 in out)' c <(sort a b) >want.out
same got.out want.out
expect 0 "$g" -m --minus b.sorted -o got.out a.sorted
same got.out minus.want
expect 0 "$g" -m --intersect b.sorted --intersect c.sorted -o got.out a.sorted
same got.out both2.want
expect 3 "$g" -m --minus b -o got.out a.sorted
says 'not sorted'
gzip -c b >b.gz
expect 0 "$g" --minus b.gz a got.gz
gzip -dc got.gz | cmp - minus.want || fail "compressed files"
"$g" --minus - a - <b | cmp - minus.want || fail "a set as standard input"
"$g" --minus <(cat b) <(cat a) - | cmp - minus.want || fail "pipes"
expect 0 "$g" --minus a a got.out
[ ! -s got.out ] || fail "a file without itself has records"
expect 0 "$g" --intersect a a got.out
same got.out a.sorted
: >none
for option in "--minus none" "--union none" "--minus none --minus none"; do
  expect 0 "$g" $option a got.out
  same got.out a.sorted
done
for option in "--intersect none" "--intersect b --intersect none"; do
  expect 0 "$g" $option a got.out
  [ ! -s got.out ] || fail "records of $option"
done
expect 0 "$g" --minus b none got.out
[ ! -s got.out ] || fail "records of nothing"
printf '1\n2\n' >ends
printf '2\n3\n1' >open
expect 0 "$g" --minus ends open got.out
echo 3 | cmp - got.out || fail "a line without its end"
expect 0 "$g" --intersect open ends got.out
printf '1\n2\n' | cmp - got.out || fail "a set whose last line has no end"
printf '1\r\n2\n' >crlf
expect 0 "$g" --minus crlf ends got.out
echo 1 | cmp - got.out || fail "a carriage return is a part of a line"
cp a over
expect 0 "$g" --minus b -o over over
same over minus.want
cp b over
expect 0 "$g" --minus over -o over a
same over minus.want
tr '\n' '\0' <a >a.nul
tr '\n' '\0' <b >b.nul
expect 0 "$g" -z --minus b.nul a.nul got.out
tr '\n' '\0' <minus.want | cmp - got.out || fail "lines that end with NUL"

# Keys: only they are compared, and records with equal keys keep their order.
seq 1 3000 | awk '{print $1 % 700, "a" $1}' >a.keys
seq 1 900 | awk '{print $1 * 3, "b"}' >b.keys
awk 'NR == FNR {out[$1]; next} !($1 in out)' b.keys a.keys | sort -s -k1,1n >want.out
for key in -k1,1n -k1:int; do
  expect 0 "$g" $key --minus b.keys a.keys got.out
  same got.out want.out
done
awk 'NR == FNR {out[$1]; next} $1 in out' b.keys a.keys >want.out
expect 0 "$g" -k1,1n --intersect b.keys --keep-order a.keys got.out
same got.out want.out
sort -s -k1,1n -u a.keys b.keys >want.out
expect 0 "$g" -k1,1n --union b.keys a.keys got.out
same got.out want.out
cat a.keys b.keys | awk '!seen[$1]++' >want.out
expect 0 "$g" -k1,1n --union b.keys --keep-order a.keys got.out
same got.out want.out
sed 's/ /,"x\n"/;1iid,x,y' <<<"$(seq 1 1500 | awk '{print $1 % 700, "a" $1}')" >a.csv
printf 'id,x,y\n' >b.csv
seq 1 200 | awk '{printf "%03d,b,b\n", $1 * 3}' >>b.csv
if command -v python3 >/dev/null; then
  cat >rows.py <<'END'
import csv, sys
kind, once = sys.argv[1], sys.argv[2] == "1"
rows = list(csv.reader(open("a.csv", newline="")))
other = {int(row[0]) for row in list(csv.reader(open("b.csv", newline="")))[1:]}
seen = set()
out = []
for row in sorted(rows[1:], key=lambda row: int(row[0])):
    key = int(row[0])
    if (key in other) != (kind == "intersect") or (once and key in seen):
        continue
    seen.add(key)
    out.append(row)
print(len(out))
print(out)
END
  for kind in minus intersect; do
    for once in 0 1; do
      python3 rows.py $kind $once >want.out
      for plan in "${plans[@]}"; do
        expect 0 "$g" $plan -k id:int --$kind b.csv $([ $once = 0 ] || echo -u) a.csv got.csv
        python3 -c 'import csv; rows = list(csv.reader(open("got.csv", newline=""))); assert rows[0] == ["id", "x", "y"]; print(len(rows) - 1); print(rows[1:])' |
          cmp - want.out || fail "--$kind of rows, once: $once, with $plan"
      done
    done
  done
fi
printf 'name,x\n1,2\n' >other.csv
expect 0 "$g" -k id:int --minus a.csv a.csv got.csv
head -n 1 a.csv | cmp - got.csv || fail "rows without themselves"
if grep -q 'is header' err; then fail "a message: $(cat err)"; fi
expect 3 "$g" -k id:int --minus other.csv a.csv got.csv
says 'the headers of other.csv and a.csv differ'
seq 1 1000 | awk '{print "{\"id\": " $1 ", \"n\": 1}"}' >a.jsonl
seq 1 2 900 | awk '{print "{\"n\": 2, \"id\": " $1 ".0}"}' >b.jsonl
expect 0 "$g" -k id:decimal --minus b.jsonl a.jsonl got.out
awk 'NR > 900 || NR % 2 == 0' a.jsonl | cmp - got.out || fail "JSON Lines"
for type in u8 i32 u64 f64; do
  "$bin/gpusort_gen" --type $type --count 4000 --seed 3 "a.$type"
  size=$((${type#?} / 8))
  { head -c $((size * 500)) "a.$type"; tail -c $((size * 500)) "a.$type"; } >"b.$type"
  expect 0 "$g" "a.$type" "sorted.$type"
  od -An -v -w$size -tx1 "b.$type" | awk 'NR == FNR {out[$0]; next} !($0 in out)' - <(od -An -v -w$size -tx1 "sorted.$type") >want.hex
  expect 0 "$g" --memory 5M --batch-bytes 9000 --minus "b.$type" "a.$type" "got.$type"
  od -An -v -w$size -tx1 "got.$type" | cmp - want.hex || fail "numbers of type $type"
done
printf '##b\n2\n' >b.vcf
printf '##a\n1\n2\n3\n' >a.vcf
expect 0 "$g" --header-prefix '#' --minus b.vcf a.vcf got.out
printf '##a\n1\n3\n' | cmp - got.out || fail "the lines of the header are those of the file of a set"
# The header is that of the inputs even if they are read after the files of sets.
expect 0 "$g" --header-prefix '#' --minus b.vcf - got.out <a.vcf
printf '##a\n1\n3\n' | cmp - got.out || fail "a stream lost its header to that of the file of a set"
printf '1\n2\n' >plain
expect 0 "$g" --header-prefix '#' --minus b.vcf - got.out <plain
echo 1 | cmp - got.out || fail "a stream without a header got that of the file of a set"
expect 0 "$g" --header-prefix '#' --minus - plain got.out <b.vcf
echo 1 | cmp - got.out || fail "a file without a header got that of the stream of a set"

# --top gets fewer records than it allows.
seq 9 >nine
for options in "" -m -u "--keep-order"; do
  expect 0 "$g" --intersect nine --top 10 $options -o got.out nine
  cmp nine got.out || fail "--intersect with --top and $options"
  expect 0 "$g" --minus nine --top 2 $options -o got.out nine
  [ ! -s got.out ] || fail "--minus with --top and $options"
done

# After a kill the same command continues.
oracle "b.many" "c.many" "" "" >want.out
oracle "b.many" "c.many" "" 1 >want.ordered
for after in $(few && echo 0.05 0.2 0.5 || echo 0.02 0.05 0.1 0.2 0.3 0.5); do
  for order in "" --keep-order; do
    rm -rf kept got.out
    kill_and_continue $after "$g" --minus b.many --intersect c.many $order --resume-dir kept --memory 5M --batch-bytes 90000 --fan-in 2 --checkpoint 16K a.many got.out
    same got.out want.$([ -n "$order" ] && echo ordered || echo out)
  done
done
rm -rf kept

for options in "--intersect b --split 2:--split cannot be combined" "--minus b --debug:--debug cannot be combined" "--minus b -c:no meaning with --check" \
  "--minus b -g:-g has no meaning with --minus" "--intersect b --locale:--locale has no meaning with --intersect" \
  "--minus b --shuffle:no meaning with --shuffle" "--minus - --minus -:read only once" \
  "--minus missing:missing"; do
  expect 2 "$g" ${options%%:*} a got.out
  says "${options#*:}"
done
printf 'a\0' >names
expect 2 "$g" --minus b --files0-from names -o got.out
says 'cannot be combined with --files0-from'
expect 2 "$bin/gpusort_task" runs --slice 0/3 --into tasks --minus b --minus c --intersect c --intersect c a
says 'need slices of their own: give at least 4 slices instead of 3'
[ ! -e tasks ] || fail "what was refused made a folder"
printf 'INSERT INTO t VALUES (1);\n' >dump.sql
expect 2 "$g" --format mysqldump --minus dump.sql dump.sql got.out
says 'no meaning with --format mysqldump'
ln -s "$g" sort
for option in "--minus b" "--intersect b" "--union b"; do
  if ./sort $option a >/dev/null 2>err; then fail "sort takes $option"; fi
  says 'unrecognized option'
done
nothing_left
echo "sets: ok"
