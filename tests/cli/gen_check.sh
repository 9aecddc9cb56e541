# labels: any_build brief
# Tests the generator and the checker against each other, against samples made without gpusort, and against gzip's CRC.
. "$2/tests/cli/common.sh.inc"
gen=$bin/gpusort_gen
data=$src/data
check() { "$bin/gpusort_check" "$@" >report; }
reports() { grep -q -- "$1" report || fail "no '$1' in: $(cat report)"; }
# put FILE OFFSET: writes standard input over the bytes at OFFSET.
put() { dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
# part FILE OFFSET BYTES: prints that part.
part() { dd if="$1" iflag=skip_bytes,count_bytes,fullblock skip="$2" count="$3" bs=64K status=none; }

# gensort: valsort's checksum of the first million records, and the same bytes from any starting point.
"$gen" --type gensort-ascii --count 1000000 - >million.dat
expect 1 check --record-size 100 --key 0:bytes10 million.dat
reports 'crc32 sum:  7a19cff467438$'
reports 'records:    1000000$'
# --checksum: the sums must be those of valsort for other numbers of gensort's records, and those of zlib before and
# after sorting.
"$gen" --type gensort-ascii --count 163840 - | expect 0 check --record-size 100 --any-order --checksum -
printf '%s\n' 'Records: 163840' 'Checksum: 1400fed7bb2c2' 'order:      not checked' | cmp - report
"$gen" --type gensort-binary --count 1000000 - | expect 0 check --record-size 100 --any-order --checksum -
reports 'Checksum: 7a0e0d4868cd4$'
gensort=(--record-size 100 --key 0:bytes10)
expect 1 check "${gensort[@]}" --checksum million.dat
! grep 'Duplicate' report || fail 'equal keys of what is not in order'
{ "$gen" --type gensort-binary --count 20000 -; head -c 7000 million.dat; head -c 7000 million.dat; } >some.dat
"$bin/gpusort" "${gensort[@]}" some.dat sorted.dat
for k in 0 1; do "$bin/gpusort_task" runs --slice $k/2 --into job "${gensort[@]}" some.dat; done
"$bin/gpusort_task" cut --parts 2 job
for j in 0 1; do "$bin/gpusort_task" part --part $j/2 job by_task.dat; done
"$bin/gpusort_task" prove --parts 2 job by_task.dat
python3 - some.dat sorted.dat >want.txt <<'PY'
import sys, zlib
def records(name):
    with open(name, "rb") as f: data = f.read()
    return [data[i:i + 100] for i in range(0, len(data), 100)]
before, after = map(records, sys.argv[1:])
print(f"Records: {len(before)}\nChecksum: {sum(map(zlib.crc32, before)):x}")
print(f"Duplicate keys: {sum(a[:10] == b[:10] for a, b in zip(after, after[1:]))}\norder:      ok")
PY
for sorted in sorted.dat by_task.dat; do
  expect 0 check "${gensort[@]}" --checksum $sorted
  same report want.txt
done
grep -qx 'Duplicate keys: 70' want.txt || fail "$(cat want.txt)"
rm -r job
"$gen" --type gensort-ascii --count 500 some.dat
same some.dat "$data/gensort.dat"
"$gen" --type gensort-ascii --count 1000 --start 765432 some.dat
part million.dat 76543200 100000 >want.dat
same some.dat want.dat
"$gen" --type gensort-binary --count 90000 binary.dat
"$gen" --type gensort-binary --count 1000 --start 80000 some.dat
part binary.dat 8000000 100000 >want.dat
same some.dat want.dat
[ "$(head -c 10 binary.dat)" = JimGrayRIP ] || fail "the first binary key is $(head -c 10 binary.dat)"
# gensort -s, computed from the plain records: the digits of an ASCII record contain the bits that choose.
"$gen" --type gensort-ascii --count 70000 --skewed skewed.txt
"$gen" --type gensort-binary --count 70000 --skewed skewed.dat
"$gen" --type gensort-ascii --count 70000 plain.txt
python3 - <<'PY'
def records(name):
    with open(name, "rb") as f: data = f.read()
    return [data[i:i + 100] for i in range(0, 7000000, 100)]
text, binary = records("plain.txt"), records("binary.dat")
for n, (t, b, skewed_text, skewed) in enumerate(zip(text, binary, records("skewed.txt"), records("skewed.dat"))):
    w = n.bit_length()
    low, high = int(chr(t[62]), 16), int(chr(t[58]), 16)
    take = low & 7 if low & 7 <= 6 else 0
    assert skewed_text == text[w][:take] + t[take:], n
    bits = low | (high & 3) << 4
    keep = (1 << 80 - (bits if bits <= 48 else 0)) - 1
    key = int.from_bytes(binary[w][:10], "big") & ~keep | int.from_bytes(b[:10], "big") & keep
    assert skewed == key.to_bytes(10, "big") + b[10:], n
PY
"$gen" --type gensort-binary --count 1000 --start 60000 --skewed some.dat
part skewed.dat 6000000 100000 >want.dat
same some.dat want.dat
rm million.dat binary.dat

# The bytes depend on the seed alone.
for options in "--type u64" "--type f32 --special" "--type record --record-size 37" "--type gensort-binary"; do
  read -r -a words <<<"$options"
  "$gen" "${words[@]}" --bytes 13M --threads 1 one
  "$gen" "${words[@]}" --bytes 13M --threads 5 five
  "$gen" "${words[@]}" --bytes 13M --threads 3 - >three
  same one five
  same one three
done
"$gen" --type u64 --count 9 one
"$gen" --type u64 --count 9 --seed 1 five
! cmp -s one five || fail "the seed changes nothing"

# Every type and distribution must have the property that its name promises.
for type in i8 i16 i32 i64 u8 u16 u32 u64 f32 f64; do
  "$gen" --type "$type" --count 40000 --dist sorted sorted
  expect 0 check --type "$type" sorted
  "$gen" --type "$type" --count 40000 --dist reversed reversed
  expect 0 check --type "$type" --reverse reversed
  expect 1 check --type "$type" reversed
  "$gen" --type "$type" --count 40000 --dist all-equal equal
  expect 0 check --type "$type" equal
  reports 'duplicates: 39999$'
  for dist in uniform zipf nearly-sorted few-values common-prefix; do
    "$gen" --type "$type" --count 40000 --dist "$dist" any
    expect 1 check --type "$type" any
  done
done
for dist in sorted reversed all-equal; do
  "$gen" --type record --record-size 24 --key-size 12 --count 30000 --dist "$dist" any
  reverse=()
  [ "$dist" != reversed ] || reverse=(--reverse)
  expect 0 check --record-size 24 --key 0:bytes12 "${reverse[@]}" any
done
"$gen" --type u32 --count 40000 --dist few-values --values 2 any
[ "$(od -An -v -tu4 -w4 any | sort -u | wc -l)" = 2 ] || fail "--values 2 gives other than two values"
"$gen" --type i32 --count 40000 any
od -An -v -td4 -w4 any | sort -n >want
[ "$(head -n 1 want)" -lt -2000000000 ] && [ "$(tail -n 1 want)" -gt 2000000000 ] || fail "i32 uniform is not spread"

# The samples: the checker agrees with a sort by another program.
expect 0 check --type i32 --stable --against "$data/random.bin" "$data/random.sorted.bin"
expect 0 check --type f64 --stable --against "$data/special.f64" "$data/special.sorted.f64"
expect 0 check --record-size 100 --key 0:bytes10 --against "$data/gensort.dat" "$data/gensort.sorted.dat"
composite=(--record-size 32 --key 8:i64:desc --key 0:u32be)
expect 0 check "${composite[@]}" --stable --against "$data/composite.dat" "$data/composite.sorted.dat"
expect 0 check "${composite[@]}" --unique --against "$data/composite.dat" "$data/composite.unique.dat"
expect 1 check "${composite[@]}" --unique "$data/composite.sorted.dat"
says 'not unique: record [0-9]* (byte [0-9]*)'
expect 1 check "${composite[@]}" --reverse "$data/composite.sorted.dat"
expect 1 check --type f64 "$data/special.f64"

# Zeros and NaNs: -NaN < -inf < -0 < +0 < +inf < signaling NaN < quiet NaN, so no neighbours may be swapped.
printf '%b' '\x00\x00\xc0\xff' '\x00\x00\x80\xff' '\x00\x00\x00\x80' '\x00\x00\x00\x00' '\x00\x00\x80\x7f' \
  '\x01\x00\x80\x7f' '\x00\x00\xc0\x7f' >floats
expect 0 check --type f32 --unique floats
for i in 1 2 3 4 5 6; do
  cp floats swapped
  part floats $((4 * i)) 4 | put swapped $((4 * i - 4))
  part floats $((4 * i - 4)) 4 | put swapped $((4 * i))
  expect 1 check --type f32 swapped
  says "record $i (byte $((4 * i)))"
done

# The CRC-32 of one record must be that in gzip's trailer.
for bytes in 1 7 8 9 100 65537; do
  "$gen" --type u8 --count "$bytes" any
  expect 0 check --record-size "$bytes" any
  want=$(gzip -c any | tail -c 8 | od -An -tx4 -N4 | tr -d ' ' | sed 's/^0*//')
  reports "crc32 sum:  $want\$"
done

# One bad record is found at any place: at the start, at the end, on a border of blocks, in a file, in a pipe, with any
# number of threads.
"$gen" --type u64 --count 1000000 --dist sorted good.u64
for record in 1 262143 262144 262145 524288 999999; do
  cp good.u64 bad.u64
  head -c 8 /dev/zero | put bad.u64 $((8 * record))
  for threads in 1 3; do
    expect 1 check --type u64 --threads "$threads" bad.u64
    says "record $record (byte $((8 * record)))"
    expect 1 check --type u64 --threads "$threads" - <bad.u64
    says "record $record (byte $((8 * record)))"
  done
  expect 1 check --type u64 --against good.u64 bad.u64
  says 'the records are not those of the input'
done

# Lost, repeated and exchanged records; several inputs in any spelling.
awk 'BEGIN { for (i = 0; i < 50000; i++) printf "%c%014d\n", 97 + i * 7919 % 16, i }' >in.dat
LC_ALL=C sort -s -k1.1,1.1 in.dat >sorted.dat
keys=(--record-size 16 --key 0:u8)
expect 0 check "${keys[@]}" --stable --against in.dat sorted.dat
reports 'duplicates: 49984$'
head -c 320000 in.dat >in1.dat
part in.dat 320000 480000 >in2.dat
expect 0 check "${keys[@]}" --stable --against in1.dat in2.dat sorted.dat
expect 0 check "${keys[@]}" --stable sorted.dat --against in1.dat --against in2.dat
expect 1 check "${keys[@]}" --stable --against in2.dat in1.dat sorted.dat
expect 0 check "${keys[@]}" --against in2.dat in1.dat sorted.dat
head -c 799984 sorted.dat >short.dat
expect 1 check "${keys[@]}" --against in.dat short.dat
says '49999 records, the input 50000'
cp sorted.dat other.dat
part sorted.dat 16 16 | put other.dat 0
expect 1 check "${keys[@]}" --against in.dat other.dat
head -c 16 sorted.dat | put other.dat 16
expect 0 check "${keys[@]}" --against in.dat other.dat
expect 1 check "${keys[@]}" --stable --against in.dat other.dat
says 'record 0 (byte 0) is not that of a stable sort'

# Little memory: hashes that do not fit go to a temporary file. Too little memory is refused at the start.
expect 2 check "${keys[@]}" --stable --memory-limit 100K --against in.dat sorted.dat
says 'at least 16M'
expect 0 check --type u64 --unique --memory-limit 16M --against good.u64 good.u64
expect 0 check --type u64 --unique --memory-limit 16M --against good.u64 good.u64 good.u64
expect 1 check --type u64 --unique --memory-limit 16M --against good.u64 bad.u64
says "'bad.u64': record 999999 (byte 7999992) is not that of a stable sort of the input, first of equal keys kept"
"$bin/gpusort" --type u64 good.u64 good.u64 -o twice.u64
expect 1 check --type u64 --unique --against good.u64 - <twice.u64
says 'not unique: record 1 (byte 8) has the key of the record before it'
says 'what is kept is not the first record of each key of the inputs$'
expect 0 check --type u64 --stable --against <(cat good.u64) - <good.u64

# Bad input, usage errors, bad files.
: >empty
expect 0 check --type u64 empty
reports 'records:    0$'
head -c 8003 good.u64 >partial
expect 3 check --type u64 partial
says '3 bytes are left at byte 8000'
expect 3 check --type u64 - <partial
says '3 bytes are left at byte 8000'
expect 3 check --type u64 --against partial empty
expect 4 check --type u64 no/such/file
expect 4 check --type u64 --against no/such/file good.u64
expect 4 check --type u64 .
for words in "good.u64" "--type u65 good.u64" "--type u64" "--type u64 --record-size 8 good.u64" \
  "--type bytes8 good.u64" \
  "--record-size 0 good.u64" "--record-size 8 --key 5:u32 good.u64" "--record-size 8 --key 0:bytes0 good.u64" \
  "--record-size 8 --key 18446744073709551615:u8 good.u64" "--record-size 8 --key 0:u8:up good.u64" \
  "--record-size 8 --key u8 good.u64" "--type u64 --stable good.u64" "--type u64 good.u64 good.u64" \
  "--type u64 --memory-limit 1G good.u64" "--type u64 --against - good.u64" "--type u64 --nonsense good.u64"; do
  read -r -a words <<<"$words"
  expect 2 check "${words[@]}"
done
for words in "--type u64 out" "--type u65 --count 1 out" "--type u64 --count 1" "--type u64 --count 1 --bytes 8 out" \
  "--type u64 --count x out" "--type u64 --bytes 1Q out" "--type u64 --count 18446744073709551616 out" \
  "--type u64 --bytes 99999999T out" "--type u64 --count 1 --dist odd out" "--type record --count 1 out" \
  "--type record --record-size 0 --count 1 out" "--type record --record-size 8 --key-size 9 --count 1 out" \
  "--type u64 --record-size 8 --count 1 out" "--type u64 --special --count 1 out" "--type u64 --start 1 --count 1 out" \
  "--type f64 --special --dist sorted --count 1 out" "--type gensort-ascii --seed 1 --count 1 out" \
  "--type u64 --values 2 --count 1 out" "--type u64 --count 1 out out2" "--type u64 --skewed --count 1 out" \
  "--type gensort-ascii --skewed --start 1152921504606846976 --count 1 out"; do
  read -r -a words <<<"$words"
  expect 2 "$gen" "${words[@]}"
  [ ! -e out ] || fail "usage error, but an output: ${words[*]}"
done
# Lines up to the exact size. A message says so if no line fits.
"$gen" --type web-log --bytes 200K whole.log
for bytes in 1000 65535 65537 150000; do
  "$gen" --type web-log --bytes $bytes part.log
  "$gen" --type web-log --bytes $bytes - | cmp - part.log || fail "web-log differs in a pipe"
  size=$(stat -c %s part.log)
  [ $size -le $bytes ] && [ $size -gt $((bytes - 1000)) ] || fail "web-log of $bytes bytes has $size"
  [ "$(tail -c 1 part.log)" = "" ] || fail "web-log of $bytes bytes ends within a line"
  head -c $size whole.log | cmp - part.log || fail "web-log of $bytes bytes is no beginning of a longer one"
done
for words in "--type web-log --bytes 50" "--type u64 --bytes 7" "--type record --record-size 8K --bytes 1K"; do
  expect 2 "$gen" $words out
  says 'not even one'
  [ ! -e out ] || fail "usage error, but an output: $words"
done
expect 0 "$gen" --type web-log --bytes 0 out
[ ! -s out ] || fail "0 bytes of web-log are some"
(ulimit -f 100; expect 5 "$gen" --type u64 --bytes 1M limited)
says 'ulimit -f'

# Help fits a terminal. If it cannot be written, there is a message.
for tool in gpusort gpusort_gen gpusort_check; do
  "$bin/$tool" --help >help
  [ -s help ] || fail "$tool --help says nothing"
  ! grep -E '.{81}' help || fail "$tool --help has lines of more than 80 columns"
  expect 4 "$bin/$tool" --help >/dev/full
  expect 4 "$bin/$tool" --help >&-
done
expect 4 "$bin/gpusort" --version >/dev/full
expect 4 "$bin/gpusort" --version >&-
expect 4 "$bin/gpusort" --explain good.u64 out >&-
for option in --help --version; do
  expect 2 bash -c 'exec -a sort "$0" "$1" >/dev/full' "$bin/gpusort" $option
  expect 2 bash -c 'exec -a sort "$0" "$1" >&-' "$bin/gpusort" $option
done

expect 4 "$gen" --type u64 --count 1 no/such/folder/out
expect 5 "$gen" --type u64 --count 1000000 /dev/full

# Big-endian numbers are the little-endian ones in reverse byte order.
for type in i16 u32 f64; do
  "$gen" --type $type --count 3000 little
  "$gen" --type ${type}be --count 3000 big
  python3 -c "
size = int('$type'[1:]) // 8
little, big = open('little', 'rb').read(), open('big', 'rb').read()
assert all(little[i:i + size] == big[i:i + size][::-1] for i in range(0, len(little), size))"
  "$gen" --type ${type}be --count 3000 --dist sorted sorted
  expect 0 check --type ${type}be sorted
done

# Rows in every format hold the same orders. gpusort can read, sort and check them.
order() { "$bin/gpusort" --memory 16M --format "$1" -k "$2" "${@:3}"; }
for format in csv tsv jsonl pgcopy pgcopy-csv pgcopy-binary mysql pgdump; do
  case $format in
    csv | tsv) key=amount:decimal id='id:int' ;;
    jsonl) key=amount:decimal id='id:int' ;;
    pgdump) key=public.orders.amount:decimal id=public.orders.id:int ;;
    *) key='#3:decimal' id='#1:int' ;;
  esac
  "$gen" --type orders-$format --bytes 200K rows
  [ "$(stat -c %s rows)" = 196608 ] || fail "orders-$format of $(stat -c %s rows) bytes"
  "$gen" --type orders-$format --bytes 200K --threads 3 - | cmp - rows || fail "orders-$format differs in a pipe"
  expect 0 order $format $key --strict rows sorted
  [ $format = pgcopy-binary ] || expect 0 check --format lines --any-order --against rows sorted
  expect 0 check --format $format --any-order --against rows sorted
  reports 'order:      not checked'
  if [ $format != pgdump ]; then
    expect 0 order $format $key --check sorted
    expect 0 order $format $id --check rows
    expect 1 order $format $key --check rows
  fi
  expect 0 order $format $id --strict sorted again
  same rows again
done
# Read as PostgreSQL reads them, the fields equal those of CSV.
"$gen" --type orders-csv --bytes 128K rows.csv
"$gen" --type orders-pgcopy --bytes 128K rows.copy
"$gen" --type orders-jsonl --bytes 128K rows.jsonl
python3 - <<'PY'
import csv, json
orders = list(csv.reader(open("rows.csv", newline="")))[1:]
copied = [[f.replace("\\n", "\n") for f in line.rstrip("\n").split("\t")] for line in open("rows.copy", newline="\n")]
objects = [json.loads(line) for line in open("rows.jsonl")]
same = 0
for a, b, c in zip(orders, copied, objects):
    # The last record of a chunk is stretched, and chunks hold different numbers of records.
    if a[0] != b[0] or a[0] != str(c["id"]): break
    if a[9] == b[9] == c["note"]:
        same += 1
        assert a == b and a[6] == c["comment"] and a[1] == c["created_at"], (a, b, c)
assert same > 300 and any("\n" in a[6] for a in orders[:same]), same
PY

# Lines: in the order of their bytes, and the same lines.
"$gen" --type web-log --bytes 300K log
LC_ALL=C sort log >log.sorted
expect 0 check --format lines --against log log.sorted
reports "records:    $(wc -l <log)\$"
expect 0 check --format lines --any-order --against log.sorted log
LC_ALL=C sort -r log | expect 0 check --format lines --reverse --against log -
expect 1 check --format lines log
line=$({ LC_ALL=C sort -c log 2>&1 || true; } | sed 's/^[^:]*:[^:]*:\([0-9]*\):.*/\1/')
says "not in order: line $line (byte $(head -n $((line - 1)) log | wc -c)) is less than the line before it"
sed '$d' log.sorted >short.log
expect 1 check --format lines --against log short.log
says "$(wc -l <short.log) lines, the input $(wc -l <log)"
sed '7s/.$/x/' log.sorted >other.log
expect 1 check --format lines --any-order --against log other.log
says 'the records are not those of the input'
printf 'a\nb' | expect 0 check --format lines --unique -
printf 'a\nb\nb' | expect 1 check --format lines --unique -
says 'not unique: line 3 (byte 4)'
printf 'b\0a\0' | expect 1 check --format lines -z -
for words in "--format lines --key 0:u8 log" "--format lines --type u8 log" "--type u8 -z log" \
  "--any-order --type u8 log" "--format lines" "--type u8 --any-order --reverse --against log log"; do
  expect 2 check $words
done

# Help in the order of the table, the manual page made from it, and the version. Misspelt options get a proposal.
for tool in gpusort_gen gpusort_check; do
  "$bin/$tool" --help >help
  "$bin/$tool" --help=man | cmp - "$bin/$tool.1" || fail "$tool.1 is not what --help=man prints"
  [ "$("$bin/$tool" --version)" = "$tool $("$bin/gpusort" --version | sed -n '1s/.* //p')" ] || fail "$tool --version"
  if command -v groff >/dev/null; then
    LC_ALL=C.UTF-8 groff -man -Tutf8 -P-c -ww "$bin/$tool.1" >page 2>err || fail "groff: $(cat err)"
    [ ! -s err ] || fail "groff warns: $(cat err)"
    sed -i 's/.\x08//g' page
    for option in $(grep -Eo '^  (-., |    )--[a-z0-9-]+' help | grep -o -- '--.*'); do
      grep -Eq "^ +(-., )?$option( |\$)" page || fail "the manual page of $tool has no $option"
    done
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS TYPES 'EXIT CODES' EXAMPLES 'SEE ALSO'; do
      grep -qx "$section" page || fail "the manual page of $tool has no $section"
    done
  else
    echo "SKIPPED (no groff): the manual page of $tool as it is read"
  fi
  expect 2 "$bin/$tool" --tpye u8 x
  says "^$tool: unrecognised option '--tpye'; did you mean --type?; see $tool --help\$"
  expect 2 "$bin/$tool" --type u8 --type u16 x
  says 'type is given twice'
  expect 2 "$bin/$tool" x --type
  expect 4 "$bin/$tool" --version >/dev/full
done
expect 2 "$gen" --type orders-cvs --bytes 1M out
says 'did you mean orders-csv?'
expect 2 "$gen" --type u64 --count 1 --dist unifrom out
says 'did you mean uniform?'
expect 4 check --type u8 $'no\nsuch'
[ "$(wc -l <err)" = 1 ] || fail "a name with a newline made two lines"
