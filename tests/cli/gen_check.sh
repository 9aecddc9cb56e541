# The generator and the checker, against each other, against the samples made without gpusort, and against gzip's CRC.
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
# gensort -s, worked out from the plain records: the digits of an ASCII record hold the bits that choose.
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

# The bytes depend on the seed and on nothing else.
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

# Every type and distribution is what its name says.
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

# The samples: the checker agrees with a sort that is not ours.
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

# CRC-32 of one record is that of gzip's trailer.
for bytes in 1 7 8 9 100 65537; do
  "$gen" --type u8 --count "$bytes" any
  expect 0 check --record-size "$bytes" any
  want=$(gzip -c any | tail -c 8 | od -An -tx4 -N4 | tr -d ' ' | sed 's/^0*//')
  reports "crc32 sum:  $want\$"
done

# One bad record is found wherever it lies: at both ends, on a border of blocks, in a file, a pipe, with any threads.
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

# What could not be checked is said and never passes.
expect 2 check "${keys[@]}" --stable --memory-limit 100K --against in.dat sorted.dat
says UNCHECKED
expect 2 check --type u64 --unique --memory-limit 1M --against good.u64 good.u64
says UNCHECKED
expect 1 check --type u64 --unique --memory-limit 1M --against good.u64 bad.u64

# Bad input, bad usage, bad files.
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
# Lines up to the byte, or a word about none.
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

# Help fits a terminal, and is not lost without a word.
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
