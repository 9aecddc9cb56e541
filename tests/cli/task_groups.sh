# labels: first
# Tests the options of gpusort_task that treat groups of equal records: --count, --sum, --only-unique,
# --only-duplicates, --minus and --intersect. Any number of slices and parts gives the bytes of one gpusort. No record is lost unnoticed.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C
g=$bin/gpusort
t=$bin/gpusort_task
command -v python3 >/dev/null && command -v gzip >/dev/null || { echo "NOT TESTED: there is no python3 or no gzip"; exit 77; }

# tasks SLICES PARTS OUTPUT ARGUMENT...: does the job of the arguments with tasks, the last parts first.
tasks() {
  local slices=$1 parts=$2 output=$3 k
  shift 3
  rm -rf dir
  for k in $(seq 0 $((slices - 1))); do expect 0 "$t" runs --slice $k/$slices --into dir --no-fsync "$@"; done
  expect 0 "$t" cut --parts $parts ${cut-} dir
  for k in $(seq $((parts - 1)) -1 0); do expect 0 "$t" part --part $k/$parts --no-fsync dir "$output"; done
  expect 0 "$t" prove --parts $parts dir "$output"
}
# job ARGUMENT...: compares tasks with one gpusort, with each of $plans, or with one of them in turn if a part of the cases
# is enough. The last letters of the first argument name the format.
turns=0
job() {
  local slices parts at=0
  "$g" -o want.out "$@" 2>/dev/null || fail "exit $?: $*"
  [ -s want.out ] || [ -n "${may_be_empty-}" ] || fail "no output: $*"
  ((++turns))
  for plan in $plans; do
    if few && ((turns % 2 != at++ % 2)); then continue; fi
    read -r slices parts <<<"${plan/x/ }"
    rm -f got.gz
    tasks $slices $parts got.gz "$@"
    gzip -dc got.gz | cmp -s - want.out || fail "$slices slices and $parts parts differ: $*"
  done
}
plans="1x3 5x4"

# Keys that occur once, twice or in nearly every slice. One group is larger than many slices and parts.
python3 - <<'PY'
import json, random
r = random.Random(4)
keys = [r.choice(["a", "b", "often", "often", "often", f"k{r.randrange(4000)}", f"K{r.randrange(40)}"]) for _ in range(9000)]
rows = [(k, r.choice(["1", "-2.50", "0.001", "1e3", "", "99999999999999999999"]), r.choice(["x", 'q"', "two\nlines", "a,b"])) for k in keys]
def quoted(text): return '"' + text.replace('"', '""') + '"' if set(text) & set('",\n') else text
def write(name, text):
    with open(name, "w", newline="") as file: file.write(text)
half = len(rows) // 3
for name, of in ("one", rows[:half]), ("two", rows[half:]):
    write(name + ".txt", "".join(f"{k} {n or 7}\n" for k, n, _ in of))
    write(name + ".csv", "key,n,note\n" + "".join(f"{k},{n},{quoted(t)}\n" for k, n, t in of))
    write(name + ".jsonl", "".join(json.dumps({"k": {"id": k}, **({"n": float(n)} if n else {})}) + "\n" for k, n, t in of))
    write(name + ".copy", "".join(f"{k}\t{n or chr(92) + 'N'}\t{t.replace(chr(10), chr(92) + chr(10))}\n" for k, n, t in of))
    write(name + ".par", "".join(f"Key: {k}\nSize: {n}\nText:\n more\n\n" for k, n, t in of))
    write(name + ".log", "".join(f"2026-01-01 10:{len(k):02}:0{n[:1] if n[:1].isdigit() else 0} {k} {n or 3}\n  {t}\n" for k, n, t in of))
write("none.csv", "key,n,note\n")
write("none.txt", "")
write("same.txt", "often 1\n" * 60000)
PY
"$bin/gpusort_gen" --type u16 --count 40000 --seed 3 in.u16

# Lines.
for options in --count --only-unique --only-duplicates "--count --only-duplicates" "--count --only-unique" "-u --count"; do
  job $options one.txt none.txt two.txt
done
job --count same.txt one.txt
cut=--fences-only job --count same.txt one.txt
job --count -k1,1 -r one.txt two.txt
job --count -f -k1,1 --header 1 one.txt
job --count --only-duplicates -k 1:nocase two.txt one.txt
job -k 1:text --sum 2 one.txt two.txt
job -k 1:text --sum '~ (.*)$' --count --only-duplicates two.txt one.txt
tr '\n' '\0' <one.txt >one.nul
job -z --count one.nul

# Rows.
for options in --count "--sum n" "--count --sum n --only-duplicates" "--sum #2 --only-unique" "--only-duplicates" "--count -r --strict"; do
  job -k key:nocase $options one.csv none.csv two.csv
done
plans="3x2 2x7" job -k key --count --sum n none.csv one.csv
sed 1d one.csv >bare.csv
job --no-header -k '#1' --count --sum '#2' bare.csv
job -k key --verify-output --only-duplicates one.csv
gzip -k two.csv
job -k key --count one.csv two.csv.gz
for options in --count "--sum n" "--count --sum n --only-unique"; do job -k k.id $options one.jsonl two.jsonl; done
for options in --count "--sum #2" "--count --sum #2 --only-duplicates"; do
  job --format mysql -k '#1' $options one.copy two.copy
done
{ cat one.copy; printf '\\.\n'; } >one.pgcopy
job --format pgcopy -k '#1' --sum '#2' --count one.pgcopy
job --format paragraphs -k Key --sum Size one.par two.par
job --format log --timezone UTC --count one.log two.log
job --format log --timezone UTC -k 3:text --sum 4 --count one.log two.log
for options in --only-unique --only-duplicates; do job $options in.u16; done

# Sets. Each file of --intersect is one slice, and a part may have no record of a set.
plans="5x2 9x5"
head -n 700 two.txt >three.txt
printf 'zz\n' >last.txt
: >empty.txt
for options in "--minus two.txt" "--intersect two.txt" "-u --minus two.txt" "-u --intersect two.txt" "--minus last.txt" \
  "--minus two.txt --minus last.txt" "--intersect two.txt --intersect three.txt" "--intersect one.txt --minus three.txt" \
  "--minus three.txt --minus empty.txt --intersect two.txt --intersect one.txt" "--minus empty.txt" "-r --minus two.txt" \
  "-k 1:nocase --minus two.txt" "-k1,1 --intersect three.txt --minus last.txt" "--minus two.txt --count" \
  "-k 1:text --intersect two.txt --sum 2 --count" \
  "--minus three.txt --only-duplicates"; do
  job $options one.txt none.txt one.txt
done
may_be_empty=1
for options in "--intersect empty.txt" "--intersect two.txt --intersect empty.txt" "--minus one.txt" "--intersect last.txt"; do
  job $options one.txt
done
job --minus two.txt none.txt
job --minus none.txt --intersect empty.txt empty.txt
may_be_empty=
gzip -k three.txt
job --minus three.txt.gz one.txt
job --intersect three.txt.gz one.txt
{ printf '\xEF\xBB\xBF'; cat two.csv; } >mark.csv
for options in "--minus mark.csv" "--minus none.csv" "--intersect mark.csv" "--minus none.csv --intersect mark.csv -u"; do
  job -k key $options one.csv
  job -k key $options -r two.csv one.csv
done
plans="3x2 5x3" job -k key --minus two.csv mark.csv one.csv
# The byte order mark of a file of a set, or of a later input, is not one of the output.
{ printf '\xEF\xBB\xBF'; cat two.jsonl; } >mark.jsonl
job -k k.id --minus mark.jsonl one.jsonl
for options in "" -u --count; do job -k key $options one.csv mark.csv; done
# A changed run is found with --top, too, if the part has read all records.
printf 'a\nb\nc\n' >abc.txt
printf 'x\n' >x.txt
rm -rf dir top.out
for k in 0 1; do expect 0 "$t" runs --slice $k/2 --into dir --no-fsync --minus x.txt --top 100 abc.txt; done
expect 0 "$t" cut --parts 1 dir
printf x | dd of=dir/run-00001 bs=1 seek=4 conv=notrunc 2>dd.err
expect 0 "$t" part --part 0/1 --no-fsync dir top.out
expect 8 "$t" prove --parts 1 dir top.out
says 'dir/run-00001: it was changed after its task had written it'
rm -rf dir top.out .gpusort-*
job --intersect three.txt --minus last.txt --only-unique one.txt
for options in --count "--sum n" "--only-unique --count"; do job -k key --minus mark.csv $options one.csv; done
job -k k.id --minus two.jsonl one.jsonl
job --format mysql -k '#1' --intersect two.copy one.copy
job --format paragraphs -k Key --minus two.par one.par
job --format log --timezone UTC -k 3:text --minus two.log one.log
head -c 3000 in.u16 >few.u16
job --minus few.u16 in.u16
job -u --intersect few.u16 in.u16
plans="1x3 5x4"

# --top needs no folder, because the first part has all records.
top() {
  "$g" -o want.out "$@" 2>/dev/null || fail "exit $?: $*"
  rm -f got.out
  tasks 4 3 got.out "$@"
  same got.out want.out
  nothing_left
}
for n in 1 5 100000; do
  top --count --top $n one.txt two.txt
  top --only-unique --top $n one.txt two.txt
  top --count --top $n --by count one.txt two.txt
  top -k key --count --sum n --top $n --by count one.csv two.csv
  top -k key --sum n --only-duplicates --top $n one.csv two.csv
  top --minus three.txt --intersect two.txt --top $n one.txt
done

# A folder of parts: each part has the header with the new column.
"$g" -o want.out -k key --count --sum n one.csv two.csv 2>/dev/null
rm -rf folder
tasks 4 3 folder/ -k key --count --sum n one.csv two.csv
{ cat folder/part-00000-of-00003; sed -s 1d folder/part-0000[12]-of-00003; } | cmp - want.out || fail "files of parts"
for part in folder/*; do [ "$(head -n 1 "$part")" = count,key,n,note ] || fail "the header of $part"; done
# Parts between which a group cannot be divided are empty, but for the header.
seq 1 20000 | sed '1s/.*/n/; 1!s/.*/7/' >seven.csv
rm -rf folder
tasks 3 4 folder/ --count seven.csv
for part in folder/*; do [ "$(head -n 1 "$part")" = count,n ] || fail "the header of $part"; done
[ "$(sed -s 1d folder/*)" = 19999,7 ] || fail "one group in several parts: $(sed -s 1d folder/*)"
expect 2 "$t" part --part 1/4 dir out.csv
says 'with -u, --minus and other options that leave records out'
rm -rf folder

# A value that is no number, and a key or column that no record has.
printf 'key,n\na,1\nb,seven\n' >bad.csv
expect 3 "$t" runs --slice 0/1 --into new -k key --sum n bad.csv
says "bad.csv.*'seven' is no decimal number, so --sum cannot add it"
expect 2 "$t" runs --slice 0/1 --into new -k key --sum typo one.csv
says "^gpusort: error: --sum: 'typo': there is no column 'typo'"
rm -rf new
expect 0 "$t" runs --slice 0/1 --into new -k k.id --sum typo one.jsonl
expect 3 "$t" cut --parts 2 new
says "no record has the path 'typo'"
rm -rf new

# A job in another folder finds the files of sets.
"$g" --minus three.txt one.txt want.out
rm -rf dir got.gz elsewhere
mkdir elsewhere
for k in 0 1; do expect 0 "$t" runs --slice $k/2 --into dir --no-fsync --minus three.txt one.txt; done
cd elsewhere
expect 0 "$t" cut --parts 2 ../dir
for k in 0 1; do expect 0 "$t" part --part $k/2 ../dir ../got.gz; done
expect 0 "$t" prove --parts 2 ../dir ../got.gz
cd ..
gzip -dc got.gz | cmp - want.out || fail "a set that was named in another folder"
cp three.txt kept.txt
echo 8 >>three.txt
expect 3 "$t" runs --slice 1/2 --into dir --minus three.txt one.txt
says 'three.txt: it was changed since the job in dir began'
mv kept.txt three.txt

# A part that did not get all records is noticed, although the output tells nothing of it.
for options in "--count" "-k 1:text --sum 2" "--intersect one.txt"; do
  tasks 2 2 got.gz $options one.txt
  rm got.gz dir/part-*
  for j in 0 1; do
    rm -rf pieces
    mkdir -m 700 pieces
    for k in 0 1; do
      "$t" borders --run $k --parts 2 dir >borders
      begin=$(sed -n $((j + 1))p borders)
      end=$(sed -n $((j + 2))p borders)
      head -c $end dir/run-0000$k | tail -c +$((begin + 1)) >pieces/run-0000$k
    done
    [ $j = 0 ] || sed -i '$d' pieces/run-00001
    expect 0 "$t" part --part $j/2 --pieces pieces dir got.gz
  done
  expect 8 "$t" prove --parts 2 dir got.gz
  says 'records were lost, doubled or changed'
  rm dir/run-0000?
  expect 8 "$t" prove --parts 2 dir got.gz
  says 'records were lost, doubled or changed'
  rm -rf .gpusort-*
done
echo "task_groups: ok"
