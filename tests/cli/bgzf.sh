# BGZF inputs and outputs and the index of --index, compared with bgzip and tabix.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
for program in bgzip tabix gzip sort python3; do
  command -v $program >/dev/null || { echo "NOT TESTED: there is no $program"; exit 77; }
done
tab=$(printf '\t')
head_of_vcf='##fileformat=VCFv4.2\n##contig=<ID=chr1>\n##contig=<ID=chr2>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
# vcf LINES SEED: rows of a VCF file, in no order.
vcf() {
  awk -v n="$1" -v seed="$2" 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) {
      printf "chr%d\t%d\trs%d\t%s\tT\t%d\tPASS\tDP=%d;AF=%.5f\n", int(rand() * 2) + 1, int(rand() * 1000000) + 1, i,
        substr("ACG", int(rand() * 3) + 1, 1), int(rand() * 100), int(rand() * 9999), rand()
    }
  }'
}
vcf 12000 1 >rows
{ printf "$head_of_vcf"; cat rows; } >one.vcf
{ printf "$head_of_vcf"; sort -t"$tab" -k1,1 -k2,2n rows; } >want.vcf
by_place=(--header-prefix '#' -t "$tab" -k1,1 -k2,2n)

# Outputs: the name or the option chooses BGZF. The index is the one that bgzip makes of the file.
for how in "--memory 200M" "--memory 64M --batch-bytes 40000 --threads 1 --verify-output"; do
  expect 0 "$g" "${by_place[@]}" $how --index one.vcf out.vcf.bgz
  expect 0 "$g" "${by_place[@]}" $how --index --compress bgzf --force one.vcf out.vcf.gz
  same out.vcf.bgz out.vcf.gz
  same out.vcf.bgz.gzi out.vcf.gz.gzi
  bgzip -t out.vcf.gz || fail "bgzip -t"
  bgzip -dc out.vcf.gz | cmp - want.vcf || fail "the content differs ($how)"
  gzip -dc out.vcf.gz | cmp - want.vcf || fail "the content differs for gzip"
  cp out.vcf.gz again.gz
  bgzip -r again.gz
  same out.vcf.gz.gzi again.gz.gzi
  [ "$(tail -c 28 out.vcf.gz | od -An -tx1 | tr -d ' \n')" = \
    1f8b08040000000000ff0600424302001b0003000000000000000000 ] || fail "the end block"
  for offset in 0 1 65279 65280 65281 300000 400001; do
    bgzip -b $offset -s 1000 out.vcf.gz | cmp - <(tail -c +$((offset + 1)) want.vcf | head -c 1000) || fail "at $offset"
  done
  tabix -f -p vcf out.vcf.gz
  for place in chr1:1-20000 chr2:500000-510000 chr2:999000-1000000; do
    range=${place#*:}
    tabix out.vcf.gz $place | cmp - <(awk -F'\t' -v chrom="${place%:*}" -v from="${range%-*}" -v to="${range#*-}" \
      '$1 == chrom && $2 >= from && $2 <= to' want.vcf) || fail "tabix $place"
  done
done
nothing_left
expect 0 "$g" "${by_place[@]}" --compress bgzf one.vcf no_index.vcf.gz
[ ! -e no_index.vcf.gz.gzi ] || fail "an index that nobody has asked for"
expect 0 "$g" "${by_place[@]}" one.vcf plain.vcf.gz
if tabix -p vcf plain.vcf.gz 2>/dev/null; then fail ".gz alone is BGZF"; fi
"$g" "${by_place[@]}" --compress bgzip - - <one.vcf | bgzip -dc | cmp - want.vcf || fail "BGZF through pipes"

# Content that does not get smaller, content of one block and more, and no content.
"$bin/gpusort_gen" --type u64 --count 50000 --seed 1 numbers.u64
for bytes in 400000 65280 65288 8 0; do
  head -c $bytes numbers.u64 >in.u64
  "$g" in.u64 want.u64 --force 2>/dev/null
  "$g" --index in.u64 out.u64.bgz --force 2>err || fail "$(cat err)"
  bgzip -dc <out.u64.bgz | cmp - want.u64 || fail "$bytes bytes"
  cp out.u64.bgz again.gz
  bgzip -r again.gz
  # Of a file without content, bgzip writes that the index has -1 entries.
  [ $bytes = 0 ] || same out.u64.bgz.gzi again.gz.gzi
  expect 0 "$g" --force out.u64.bgz back.u64
  same back.u64 want.u64
done

# Inputs: any number of threads reads them. A block that is missing at the end is found.
bgzip -c one.vcf >in.vcf.gz
cp in.vcf.gz in.vcf.bgz
for threads in 1 2 5; do
  for input in in.vcf.gz in.vcf.bgz; do
    expect 0 "$g" "${by_place[@]}" --threads $threads --memory 300M --force $input out.vcf
    same out.vcf want.vcf
  done
done
expect 0 "$g" "${by_place[@]}" --memory 4M --force in.vcf.gz out.vcf
same out.vcf want.vcf
"$g" "${by_place[@]}" --decompress bgzf - - <in.vcf.gz | cmp - want.vcf || fail "BGZF from a pipe"
echo kept >kept
size=$(stat -c %s in.vcf.gz)
blocks=$(python3 -c '
import sys
data, at = open("in.vcf.gz", "rb").read(), 0
while at < len(data):
    print(at)
    at += int.from_bytes(data[at + 16:at + 18], "little") + 1')
for cut in $blocks $((size - 1)) $((size / 2)); do
  head -c "$cut" in.vcf.gz >cut.vcf.gz
  expect 3 "$g" "${by_place[@]}" --force cut.vcf.gz kept
  [ "$cut" = 0 ] || says "cut.vcf.gz: cut short at offset $cut"
done
head -c $((size - 28)) in.vcf.gz >cut.vcf.gz
expect 3 "$g" "${by_place[@]}" --force cut.vcf.gz kept
says 'the empty block with which BGZF data ends is missing; if the file is known to be whole, bgzip -c </dev/null >>FILE'
cp cut.vcf.gz mended.vcf.gz
bgzip -c </dev/null >>mended.vcf.gz
same mended.vcf.gz in.vcf.gz
cat in.vcf.gz >>cut.vcf.gz # an end block follows
expect 0 "$g" "${by_place[@]}" --force cut.vcf.gz two.vcf
[ "$(wc -l <two.vcf)" -ge 24000 ] || fail "two files in one"
for at in 100 70000 $((size / 2)) $((size - 40)); do
  cp in.vcf.gz bad.vcf.gz
  printf '\xff\xff\xff\xff' | dd of=bad.vcf.gz bs=1 seek="$at" conv=notrunc status=none
  for threads in 1 3; do
    expect 3 "$g" "${by_place[@]}" --threads $threads --force bad.vcf.gz kept
    sed 's/^.*error: //' err >said.$threads
  done
  same said.1 said.3
done
expect 3 "$g" --decompress bgzf plain.vcf.gz kept --force
says 'no bgzf data at offset 0'
[ "$(cat kept)" = kept ] || fail "a bad input changed the output"

# The index lives and dies with the output.
expect 2 "$g" --index --compress bgzf one.vcf - >/dev/null
says 'standard output is a stream'
expect 2 "$g" --index --compress bgzf one.vcf
expect 2 "$g" --index one.vcf out.gz
says 'give --compress bgzf'
expect 2 "$g" --index --split 2 one.vcf part
expect 2 "$g" --index --compress gz one.vcf out.bgz
says 'means bgzf'
expect 2 "$g" --index -c one.vcf
# An index replaces no input, whatever names the input has, and not the output.
printf 'in\n' >x.bgz.gzi
ln x.bgz.gzi hard
ln -s x.bgz.gzi soft
printf '%s\0' ./x.bgz.gzi >names
for input in x.bgz.gzi ./x.bgz.gzi "$PWD/x.bgz.gzi" hard soft; do
  expect 2 "$g" --index --force -o x.bgz "$input"
  says 'would be overwritten'
done
expect 2 "$g" --index --force --format lines -o x.bgz --files0-from names
says 'the index x.bgz.gzi and the input ./x.bgz.gzi are one file'
mkdir far
ln -s ../x.bgz.gzi far/y.bgz.gzi
expect 2 "$g" --index --force -o far/y.bgz x.bgz.gzi
says 'the index far/y.bgz.gzi and the input x.bgz.gzi are one file'
[ "$(cat x.bgz.gzi)" = in ] && [ ! -e x.bgz ] && [ ! -e far/y.bgz ] || fail "an index has replaced an input"
printf 'old\n' >z.bgz
ln -s z.bgz z.bgz.gzi
expect 2 "$g" --index --force -o z.bgz one.vcf
[ "$(cat z.bgz)" = old ] || fail "an index has replaced the output"
# An output without --index does not fit an older index.
expect 0 "$g" "${by_place[@]}" --compress bgzf --index one.vcf stale.vcf.gz
head -n 2000 one.vcf >part.vcf
for index in '' --index; do
  expect 0 "$g" "${by_place[@]}" --force --compress bgzf $index part.vcf stale.vcf.gz
  if [ "$index" ]; then
    [ ! -s err ] || fail "a warning: $(cat err)"
  else
    says 'stale.vcf.gz.gzi is the index of an older file and does not fit the new output: give --index'
  fi
done
expect 0 "$g" "${by_place[@]}" --force --compress gz part.vcf stale.vcf.gz
says 'stale.vcf.gz.gzi is the index of an older file and does not fit the new output: remove it'
rm stale.*
printf 'old\n' | tee old.vcf.bgz >old.vcf.bgz.gzi
expect 3 "$g" "${by_place[@]}" --index --force bad.vcf.gz old.vcf.bgz
[ "$(cat old.vcf.bgz old.vcf.bgz.gzi | sort -u)" = old ] || fail "a job that failed touched the output or the index"
expect 2 "$g" --index --no-clobber one.vcf old.vcf.bgz
rm old.vcf.bgz
expect 2 "$g" --index --no-clobber one.vcf old.vcf.bgz
says 'old.vcf.bgz.gzi'
[ ! -e old.vcf.bgz ] || fail "an output beside an index that may not be replaced"
mkdir dir.vcf.bgz.gzi
expect 2 "$g" --index one.vcf dir.vcf.bgz
[ ! -e dir.vcf.bgz ] || fail "an output whose index has no place"
cp one.vcf both.vcf
expect 2 "$g" "${by_place[@]}" --compress bgzf --index --force --resume-dir kept.job both.vcf both.vcf
says 'is an input and a part of the output'
cmp one.vcf both.vcf || fail "the refused job changed its input"
expect 0 "$g" "${by_place[@]}" --index --resume-dir kept.job one.vcf out.r.bgz
bgzip -dc <out.r.bgz | cmp - want.vcf || fail "with --resume-dir"
cp out.r.bgz again.gz
bgzip -r again.gz
same out.r.bgz.gzi again.gz.gzi
nothing_left
# The old index goes before the output gets its name, and the new one comes after that: a job that ends between leaves no
# index, and never one that does not fit.
if ! sanitized && command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  # renaming WHAT COMMAND...: runs the command, whose renames do WHAT.
  renaming() { strace -f -qq -o trace -e trace=renameat,renameat2,rename -e "inject=renameat,renameat2,rename:$1" "${@:2}"; }
  printf 'old\n' | tee renamed.bgz >renamed.bgz.gzi
  expect 4 renaming error=EIO:when=1 "$g" --index --force one.vcf renamed.bgz
  [ "$(cat renamed.bgz)" = old ] && [ ! -e renamed.bgz.gzi ] || fail "an output that has not got its name"
  for end in error=EIO signal=KILL; do
    printf 'old\n' | tee renamed.bgz >renamed.bgz.gzi
    status=0
    renaming $end:when=2 "$g" "${by_place[@]}" --index --force one.vcf renamed.bgz 2>err || status=$?
    [ $end = signal=KILL ] || { [ $status = 4 ] && says 'bgzip -r renamed.bgz makes the index'; } || fail "$status: $(cat err)"
    [ $status != 0 ] && [ ! -e renamed.bgz.gzi ] || fail "$end: an index"
    bgzip -dc renamed.bgz | cmp - want.vcf || fail "$end: the output"
    # A job that continues makes the index, too.
    rm -f resumed.bgz*
    renaming $end:when=2 "$g" "${by_place[@]}" --index --resume-dir kept.job one.vcf resumed.bgz 2>err && fail "no $end"
    rm -f resumed.bgz.gzi
    expect 0 "$g" "${by_place[@]}" --index --resume-dir kept.job one.vcf resumed.bgz
    bgzip -dc resumed.bgz | cmp - want.vcf || fail "$end: --resume-dir"
    cp resumed.bgz again.gz
    bgzip -r again.gz
    same resumed.bgz.gzi again.gz.gzi
    # The killed processes leave their index under its hidden name.
    [ $end = error=EIO ] || rm .gpusort-*
  done
  nothing_left
else
  echo "NOT TESTED: names that the system refuses, there is no strace, or it cannot be used with a sanitizer"
fi
# Parts of tasks are named after their codec, and the whole is a file that bgzip reads.
if [ -x "$bin/gpusort_task" ]; then
  "$bin/gpusort_task" runs --slice 0/1 --into tasks --compress bgzf rows 2>err || fail "$(cat err)"
  "$bin/gpusort_task" cut --parts 2 tasks 2>err || fail "$(cat err)"
  for part in 0 1; do "$bin/gpusort_task" part --part $part/2 tasks folder/ 2>err || fail "$(cat err)"; done
  cat folder/part-*.bgz | bgzip -dc | cmp - <(sort rows) || fail "parts of tasks"
  expect 2 "$bin/gpusort_task" runs --slice 0/1 --into tasks2 --compress bgzf --index rows
fi
echo "bgzf: ok"
