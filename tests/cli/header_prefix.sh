# Tests --header-prefix: the lines at the top that begin with a text stay there, for lines and rows, files and streams.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v sort >/dev/null && command -v awk >/dev/null || { echo "NOT TESTED: there is no sort or no awk"; exit 77; }
plans=("--threads 2" "--memory 4M --batch-bytes 9000 --fan-in 2 --threads 1")

# A file as VCF: lines in the middle that begin so are records.
top='##fileformat=VCFv4.2\n##INFO=<ID=DP,Description="a ""quote, and more">\n'
columns='#CHROM\tPOS\tID\n'
seq 1 3000 | awk '{printf "chr%d\t%d\tid%d\n", $1 * 7919 % 22 + 1, $1 * 104729 % 100003, $1} END {print "#late\t1\tx"}' >body
{ printf "$top$columns"; cat body; } >one.vcf
tab=$(printf '\t')
{ printf "$top$columns"; sort -t"$tab" -k1,1 -k2,2n body; } >want.out
for plan in "${plans[@]}"; do
  expect 0 "$g" --header-prefix '#' -t"$tab" -k1,1 -k2,2n $plan one.vcf got.out
  same got.out want.out
  expect 0 "$g" --header-prefix '##' --header-prefix '#C' -t"$tab" -k1,1 -k2,2n $plan one.vcf got.out
  same got.out want.out
  expect 0 "$g" --header-prefix '##' --header 1 -t"$tab" -k1,1 -k2,2n $plan one.vcf got.out
  same got.out want.out
  "$g" --header-prefix '#' -t"$tab" -k1,1 -k2,2n $plan - - <one.vcf | cmp - want.out || fail "a stream with $plan"
  expect 0 "$g" --header-prefix '#' -k 1:text -k 2:int $plan --force-format one.vcf got.out
  awk '!/^#/ || /^#late/' got.out | sort -t"$tab" -s -c -k1,1 -k2,2n || fail "typed keys"
  head -n 3 got.out | cmp - <(printf "$top$columns") || fail "the header with typed keys"
  { printf "$top$columns"; grep -v '^#late' body | sort -t"$tab" -s -k2,2n; } >want.tsv
  grep -v '^#late' one.vcf >rows.vcf
  expect 0 "$g" --format tsv --header-prefix '##' -k POS:int $plan --verify-output rows.vcf got.out
  same got.out want.tsv
done
gzip -c one.vcf >one.vcf.gz
expect 0 "$g" --header-prefix '#' -t"$tab" -k1,1 -k2,2n one.vcf.gz got.out
same got.out want.out
expect 0 "$g" -c --header-prefix '#' -t"$tab" -k1,1 -k2,2n want.out
expect 1 "$g" -c --header-prefix '#' -t"$tab" -k1,1 -k2,2n one.vcf
says 'one.vcf: not sorted: line [0-9]* '
line=$(sed 's/.*not sorted: line \([0-9]*\) .*/\1/' err)
[ "$line" = "$(($(LC_ALL=C sort -t"$tab" -k1,1 -k2,2n -c body 2>&1 | cut -d: -f3) + 3))" ] || fail "the line's number"
if cmp -s <("$g" --header-prefix '##' one.vcf -) <("$g" one.vcf -); then fail "without the option, all lines are sorted"; fi

# Several inputs: the lines of the first; other ones are announced, equal ones are not.
{ printf '##fileformat=VCFv4.2\n##other=1\n##more=2\n'"$columns"; cat body; } >two.vcf
expect 0 "$g" --header-prefix '#' -s -t"$tab" -k1,1 -k2,2n -o got.out one.vcf two.vcf
says "without 2 lines of that of two.vcf, the first is '##other=1'"
{ printf "$top$columns"; cat body body | sort -s -t"$tab" -k1,1 -k2,2n; } | cmp - got.out || fail "two headers"
expect 0 "$g" --header-prefix '#' -s -t"$tab" -k1,1 -k2,2n -o got.out one.vcf one.vcf
[ ! -s err ] || fail "equal headers are announced: $(cat err)"
"$g" --header-prefix '##' --format tsv -k POS:int -o got.out rows.vcf - <two.vcf 2>err || fail "a stream after a file"
says "without 2 lines of that of -, the first is '##other=1'"
printf '##x\n#CHROM\tPLACE\n' >third.vcf
expect 3 "$g" --header-prefix '##' --format tsv -k POS:int -o got.out rows.vcf third.vcf
says 'the headers of rows.vcf and third.vcf differ'
# A record that begins so would be a part of the header of a sorted file.
for name in one two; do
  grep -v '^#late' $name.vcf >$name.rows
  expect 0 "$g" --header-prefix '#' -t"$tab" -k1,1 -k2,2n $name.rows $name.sorted
done
expect 0 "$g" -m --header-prefix '#' -t"$tab" -k1,1 -k2,2n -o got.out one.sorted two.sorted
{ printf "$top$columns"; cat body body | grep -v '^#late' | sort -t"$tab" -k1,1 -k2,2n; } | cmp - got.out || fail "a merge"

# Records that begin so and were sorted to the top are announced if -m leaves them out.
for n in 1 3; do
  printf '##gff-version 3\nchr%d\tb\n###\nchr%d\ta\n###\n' $((n + 1)) $n >$n.gff
  expect 0 "$g" --header-prefix '#' -o $n.sorted $n.gff
done
printf '##gff-version 3\n###\n###\nchr1\ta\nchr2\tb\nchr3\ta\nchr4\tb\n' >want.out
expect 0 "$g" -m --header-prefix '#' -o got.out 1.sorted 3.sorted
same got.out want.out
says "has the header of 1.sorted, without 2 lines of that of 3.sorted, the first is '###', which is there 2 times"
printf '##gff-version 3\n###\nchr5\ta\n' >once.gff
expect 0 "$g" -m --header-prefix '#' -o got.out 1.sorted once.gff
[ ! -s err ] || fail "a line that the header has is announced: $(cat err)"
expect 0 "$g" -m --header-prefix '#' -o got.out once.gff 1.sorted
says "has the header of once.gff, without 2 lines of that of 1.sorted, the first is '###'"

# Short inputs, a header alone, and a byte order mark.
for text in '' '#' '#\n' 'b\na\n' '#b\n#a\n' '#b\na' '\n#\n' '##' 'a'; do
  printf "$text" >short
  sed -e '$a\' short | awk '!end && /^#/ {print; next} {end = 1; print | "sort"}' >want.out
  expect 0 "$g" --header-prefix '#' short got.out
  same got.out want.out
  "$g" --header-prefix '#' - got.out <short 2>/dev/null || fail "a short stream"
  same got.out want.out
done
printf '\xEF\xBB\xBF# note "\nid,n\n2,b\n1,a\n2,c\n' >marked.csv
printf '\xEF\xBB\xBF# note "\nid,n\n1,a\n2,b\n2,c\n' >want.out
expect 0 "$g" --header-prefix '#' -k id:int --verify-output marked.csv got.out
same got.out want.out
printf '\xEF\xBB\xBF# note "\ncount,id,n\n1,1,a\n2,2,b\n' >want.out
expect 0 "$g" --header-prefix '#' -k id:int --count marked.csv got.out
same got.out want.out
mark='\xEF\xBB\xBF'
printf "$mark#a\nz\nb\n" >marked.list
printf "$mark#a\nb\nz\n" >want.out
expect 0 "$g" --header-prefix '#' marked.list got.out
same got.out want.out
"$g" --header-prefix '#' - <marked.list | cmp - want.out || fail "a stream with a mark"
expect 0 "$g" --header-prefix '#' -k 1:text --force-format marked.list got.out
same got.out want.out
expect 0 "$g" -c --header-prefix '#' want.out
printf "#a\nc\n" >plain.list
printf "$mark#a\nb\nc\nz\n" >want.out
expect 0 "$g" --header-prefix '#' -o got.out marked.list plain.list
same got.out want.out
[ ! -s err ] || fail "headers that differ in a mark are announced: $(cat err)"
printf "$mark" >short
expect 0 "$g" --header-prefix '#' short got.out
printf "$mark\n" >want.out
same got.out want.out
printf "${mark}z\n#a\nb\n" >short
printf "#a\nb\n${mark}z\n" >want.out
expect 0 "$g" --header-prefix '#' short got.out
same got.out want.out
printf '#b\0#a\0y\0x\0' >ends.nul
printf '#b\0#a\0x\0y\0' >want.out
expect 0 "$g" -z --header-prefix '#' ends.nul got.out
same got.out want.out
{ awk 'BEGIN {for (i = 0; i < 9000; ++i) print "# a line of a long header, number " i}'; sort -r body; } >long.list
{ grep '^# a' long.list; sort body; } >want.out
expect 0 "$g" --header-prefix '# ' --memory 64M long.list got.out
same got.out want.out
expect 0 "$g" --shuffle --seed 1 --header-prefix '# ' --memory 64M long.list got.out
head -n 9000 got.out | cmp - <(head -n 9000 long.list) || fail "the header and --shuffle"

expect 2 "$g" --header-prefix '#' --type i32 short got.out
says '--header-prefix is for lines'
expect 2 "$g" --header-prefix '#' --format jsonl short got.out
says 'no meaning with --format jsonl'
expect 2 "$g" --header-prefix '#' --format log short got.out

# Tasks give the bytes of one gpusort. The record #late is the first of a run and of a part.
t=$bin/gpusort_task
# tasks SLICES ARGUMENT...: does a job with three parts.
tasks() {
  local slices=$1 k
  shift
  rm -rf dir got.gz
  "$g" -o want.out "$@" 2>want.err || fail "exit $?: $*"
  for k in $(seq 0 $((slices - 1))); do expect 0 "$t" runs --slice $k/$slices --into dir --no-fsync "$@"; done
  expect 0 "$t" cut --parts 3 dir
  for k in 2 0 1; do expect 0 "$t" part --part $k/3 --no-fsync dir got.gz; done
  expect 0 "$t" prove --parts 3 dir got.gz
  gzip -dc got.gz | cmp -s - want.out || fail "tasks differ: $*"
}
printf '##top\n##of nothing\n' >only.vcf
seq 5 >plain
sort_vcf=(-t"$tab" -k1,1 -k2,2n)
for slices in 1 4; do
  tasks $slices --header-prefix '#' "${sort_vcf[@]}" one.vcf
  tasks $slices --header-prefix '#' "${sort_vcf[@]}" one.vcf two.vcf
  tasks $slices --header-prefix '##' --header 1 "${sort_vcf[@]}" one.vcf
  tasks $slices --header-prefix '##' --header 1 "${sort_vcf[@]}" only.vcf one.vcf
  tasks $slices --header-prefix '#' "${sort_vcf[@]}" plain only.vcf one.vcf plain
  tasks $slices --header-prefix '#' -k 1:text -k 2:int --force-format one.vcf only.vcf
  tasks $slices --header-prefix '#' --count -k1,1 one.vcf two.vcf
  tasks $slices --header-prefix '# ' long.list
done
for set in two.vcf only.vcf plain; do
  tasks 4 --header-prefix '#' --minus $set one.vcf
  tasks 4 --header-prefix '#' --minus $set plain
done
tasks 3 --header-prefix '#' only.vcf
"$g" --header-prefix '#' "${sort_vcf[@]}" one.vcf want.out
rm -rf dir got.out
for k in 0 1; do expect 0 "$t" runs --slice $k/2 --into dir --header-prefix '#' "${sort_vcf[@]}" one.vcf; done
expect 0 "$t" cut --parts 2 dir
for k in 0 1; do expect 0 "$t" part --part $k/2 dir got.out; done
expect 0 "$t" prove --parts 2 dir got.out
same got.out want.out
expect 2 "$t" runs --slice 0/1 --into tasks --format tsv --header-prefix '##' one.vcf
says '--header-prefix cannot be given here with --format tsv: .* and put them before the output'
[ ! -e tasks ] || fail "what was refused made a folder"
nothing_left
echo "header prefix: ok"
