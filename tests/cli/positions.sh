# Runs the recipes of the manual page's cookbook for BED, VCF, GFF, SAM and CDXJ exactly as --help=examples prints them,
# and compares the results with those of bedtools, bcftools, samtools and sort.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C
for program in bedtools bcftools samtools bgzip tabix sort awk; do
  command -v $program >/dev/null || { echo "NOT TESTED: there is no $program"; exit 77; }
done
"$bin/gpusort" --help=examples | awk '/^[0-9]+[.] / { n = int($1) } n && sub(/^      /, "") { print > (n ".sh") }'
mkdir bin
ln -s "$bin/gpusort" bin/gpusort
PATH=$PWD/bin:$PATH
tab=$(printf '\t')
# run N ROUND: runs recipe N, in some rounds with little memory.
run() {
  cp "$1.sh" now.sh
  [ $(($2 % 2)) = 0 ] || sed -i 's/gpusort /gpusort --memory 8M --batch-bytes 20000 --fan-in 3 --threads 1 /' now.sh
  expect 0 bash -e -o pipefail now.sh "recipe $1"
}
# same_lines FILE FILE: both have the same lines, in any order.
same_lines() { cmp -s <(sort "$1") <(sort "$2") || fail "$1 and $2 have different lines"; }
rounds="0 1 2 3"
if few; then rounds="0 1"; fi

for round in $rounds; do
  rm -f sorted.* ./*.bed ./*.gff3 all.cdxj.gz by-position.sam calls.vcf.gz
  # BED with lines for browsers. Starts are unique in a chromosome, because bedtools keeps no order of equal ones.
  { printf 'browser position chr7:1-1000\ntrack name="a" description="chr1 first"\n#chrom\tstart\tend\n'
    awk -v seed="$round" -v crlf=$((round == 2)) 'BEGIN {
      srand(seed)
      for (i = 0; i < 3000; i++) {
        start = int(rand() * 100000) * 3000 + i
        printf "chr%s\t%d\t%d\tname %d\t%d\t%s%s\n", substr("1 2 10X M 1_", int(rand() * 6) * 2 + 1, 2), start,
          start + int(rand() * 5000), i, rand() * 1000, rand() < 0.5 ? "+" : "-", crlf ? "\r" : ""
      }
    }' | sed 's/^chr\(.\) /chr\1/'; } >regions.bed
  run 28 "$round"
  head -n 3 regions.bed | cmp - <(head -n 3 sorted.bed) || fail "the header of BED"
  # bedtools writes no header, and drops the CR.
  bedtools sort -i <(tail -n +4 regions.bed | tr -d '\r') | cmp - <(tail -n +4 sorted.bed | tr -d '\r') || fail "BED"
  same_lines regions.bed sorted.bed

  # VCF with long INFO, lines of equal places, and contigs in the natural order.
  { printf '##fileformat=VCFv4.2\n##FILTER=<ID=PASS,Description="All filters passed">\n'
    for contig in 1 2 3 9 10 11 22; do printf '##contig=<ID=chr%s,length=300000000>\n' $contig; done
    printf '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">\n'
    printf '##INFO=<ID=NOTE,Number=.,Type=String,Description="a, b and\tc">\n##FORMAT=<ID=GT,Number=1,Type=String,Description="G">\n'
    printf '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tNA1\tNA2\n'
    awk -v seed="$round" 'BEGIN {
      srand(seed)
      split("1 2 3 9 10 11 22", contigs, " ")
      for (i = 0; i < 4000; i++) {
        note = "n" i
        for (n = int(rand() * 3) * (rand() < 0.01 ? 3000 : 3); n > 0; n--) note = note ",x" n
        printf "chr%s\t%d\trs%d\tA\tC\t%d\tPASS\tDP=%d;NOTE=%s\tGT\t0|1\t1|1\n", contigs[int(rand() * 7) + 1],
          rand() < 0.1 ? 5 : int(rand() * 250000000) + 1, i, rand() * 100, rand() * 500, note
      }
    }'; } >calls.vcf
  if [ $((round % 2)) = 0 ]; then gzip -c calls.vcf >calls.vcf.gz; else bgzip -c calls.vcf >calls.vcf.gz; fi
  run 29 "$round"
  bcftools sort calls.vcf 2>sort_err | grep -v '^##' >want.vcf || fail "bcftools: $(cat sort_err)"
  bgzip -dc sorted.vcf.gz >sorted.vcf
  # Neither program says in which order records of one place with the same alleles are.
  grep -v '^##' sorted.vcf | cut -f1,2 | cmp - <(cut -f1,2 want.vcf) || fail "VCF"
  same_lines sorted.vcf calls.vcf
  grep '^#' calls.vcf | cmp - <(head -n "$(grep -c '^#' calls.vcf)" sorted.vcf) || fail "the header of VCF"
  bcftools view -H -r chr10:1-50000000 sorted.vcf.gz | cmp - <(grep -v '^#' sorted.vcf |
    awk -F'\t' '$1 == "chr10" && $2 <= 50000000') || fail "a region of the indexed VCF"
  bgzip -b 100000 -s 5000 sorted.vcf.gz | cmp - <(tail -c +100001 sorted.vcf | head -c 5000) || fail "the index of blocks"
  gpusort -c --header-prefix '#' -s -t '\t' -k1,1V -k2,2n sorted.vcf.gz

  # GFF: genes and their parts, with lines ### between them.
  { printf '##gff-version 3\n##sequence-region ctg1 1 500000\n'
    awk -v seed="$round" 'BEGIN {
      srand(seed)
      for (i = 0; i < 700; i++) {
        at = int(rand() * 480000) + 1
        ctg = "ctg" int(rand() * 12) + 1
        for (part = 4; part > 0; part--) {
          start = rand() < 0.5 || part == 1 ? at : at + int(rand() * 900)
          printf "%s\tsim\t%s\t%d\t%d\t.\t+\t.\tID=g%d.%d;Note=%s\n", ctg, part == 1 ? "gene" : "exon", start,
            part == 1 ? at + 5000 : start + int(rand() * 900) + 1, i, part, "a%20b"
        }
        print "###" (seed % 2 ? "\r" : "")
      }
    }'; } >genes.gff3
  run 30 "$round"
  gzip -dc sorted.gff3.gz >sorted.gff3
  bedtools sort -i <(grep -v '^#' genes.gff3) >want.gff3
  grep -v '^#' sorted.gff3 | cut -f1,4 | cmp - <(cut -f1,4 want.gff3) || fail "GFF"
  same_lines <(grep -v '^#' sorted.gff3) want.gff3
  head -n 2 genes.gff3 | cmp - <(head -n 2 sorted.gff3) || fail "the header of GFF"
  awk -F'\t' '!/^#/ { split($9, id, /[=.]/); if ($3 == "gene") seen[id[2]] = 1; else if (!seen[id[2]]) exit 1 }' \
    sorted.gff3 || fail "a part is before its gene"
  tabix sorted.gff3.gz ctg3:1-100000 | cmp - <(awk -F'\t' '$1 == "ctg3" && $4 <= 100000' sorted.gff3) || fail "tabix of GFF"

  # SAM: reads of equal places have the same strand here, because samtools orders by strand, too.
  { printf '@HD\tVN:1.6\tSO:unsorted\n'
    for name in chr1 chr2 chr10 chrX chrM; do printf '@SQ\tLN:200000000\tSN:%s\tM5:0\n' $name; done
    printf '@RG\tID:a\tSM:b\n'
    awk -v seed="$round" 'BEGIN {
      srand(seed)
      split("chr1 chr2 chr10 chrX chrM", names, " ")
      for (i = 0; i < 3000; i++) {
        if (rand() < 0.05) {
          printf "r%d\t4\t*\t0\t0\t*\t*\t0\t0\tACGTA\t@*III\tRG:Z:a\n", i
          continue
        }
        at = rand() < 0.1 ? 7 : int(rand() * 100000000) + 1
        printf "r%d\t%d\t%s\t%d\t%d\t5M\t*\t0\t0\tACGTA\t@@III\tRG:Z:a\tNM:i:%d\n", i, at % 3 ? 0 : 16,
          names[int(rand() * 5) + 1], at, rand() * 60, rand() * 3
      }
    }'; } >reads.sam
  run 31 "$round"
  [ ! -s err ] || fail "recipe 31 warns: $(cat err)"
  samtools sort -O sam reads.sam 2>sort_err | grep -v '^@PG' >want.sam || fail "samtools: $(cat sort_err)"
  same by-position.sam want.sam
  samtools view -b by-position.sam >by-position.bam
  samtools index by-position.bam || fail "samtools index"

  # CDXJ
  for crawl in 1 2; do
    { echo ' CDX N b a m s k r M S V g'
      awk -v seed="$((round * 10 + crawl))" 'BEGIN {
        srand(seed)
        for (i = 0; i < 3000; i++) {
          printf "com,example%s)/%s%d 2026%02d%02d%06d {\"url\": \"https://example.com/\", \"status\": \"%d\", \"x\": \"%s\"}\n",
            rand() < 0.3 ? ",www" : "", rand() < 0.2 ? "a?b=" : "", rand() * 300, rand() * 12 + 1, rand() * 28 + 1,
            rand() * 240000, 200, rand() < 0.01 ? sprintf("%05000d", i) : ""
        }
        for (i = 0; i < 50; i++) print "org,both)/" i " 20260101000000 {}"
      }'; } >crawl$crawl.cdxj
  done
  { head -n 1 crawl1.cdxj; { tail -n +2 crawl1.cdxj; tail -n +2 crawl2.cdxj; } | sort -u; } >want.cdxj
  gzip -f crawl2.cdxj
  run 32 "$round"
  gzip -dc all.cdxj.gz | cmp - want.cdxj || fail "CDXJ"
  nothing_left
done

# Contigs whose names begin as lines of tracks do (bedtools drops their lines).
cp regions.bed all.bed
printf 'browser hide all\ntrack name=a\ntrack_1\t20\t30\nbrowser2\t7\t9\ntrack_1\t3\t4\n' >regions.bed
run 28 0
{ head -n 2 regions.bed; tail -n +3 regions.bed | sort -t "$tab" -k1,1 -k2,2n; } | cmp - sorted.bed || fail "a contig track_1"
mv all.bed regions.bed

# The pairs of commands of the page gpusort-instead give the same records. The last pair replaces sorted.vcf.
body() {
  if ! gzip -dc <"$1" 2>/dev/null; then cat "$1"; fi | grep -Ev '^([#@]|browser |track )'
}
sed -n '/^\.SH POSITIONS/,$ s/^\.[IB] //p' "$src/src/cli/gpusort-instead.7.in" |
  sed "s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\(dq/\"/g; s/\\\\e/\\\\/g" >commands
rm sorted.vcf.gz*
pairs=0
while read -r old && read -r new; do
  pairs=$((pairs + 1))
  bash -e -o pipefail -c "$new" >got 2>err || fail "$new: $(cat err)"
  bash -e -c "$old" >want 2>err || fail "$old: $(cat err)"
  if [ -s sorted.vcf.bgz ]; then
    cp sorted.vcf.gz want
    mv sorted.vcf.bgz got
  fi
  [ "$(body got | wc -l)" -ge 2000 ] || fail "$new: few records"
  cmp <(body got | sort) <(body want | sort) || fail "$new: other records than from $old"
  case $old in *genes* | samtools*) cmp <(body got) <(body want) || fail "$new: another order than from $old" ;; esac
done <commands
[ $pairs = 5 ] || fail "$pairs pairs of commands"
echo "positions: ok"
