# Tests --sum: the decimals of Python for random files, and by hand: the places of sums, exact numbers, nulls, other
# options, kills, and what is refused.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v python3 >/dev/null && command -v awk >/dev/null || { echo "NOT TESTED: there is no python3 or no awk"; exit 77; }
expect 0 python3 "$src/tests/cli/sums_random.py" "$g" "$(few && echo 60 || echo 400)" "${GPUSORT_SEED:-1}"
plans=("--threads 2" "--memory 16M --batch-bytes 20000" "--memory 4M --batch-bytes 9000 --fan-in 2 --threads 1")

# CSV: exact decimals, several columns, nulls, quotes, and a record that is alone with its key.
cat >in.csv <<'END'
client,bytes,price,note
b,2,1.50,"first, ""b"""
a,1,0.1,x
a,"3",0.2,y
b,\N,-2,z
c,1e3,,"alone
with a newline"
d,,,x
d,"",,y
e,1e3,0.1,"two
lines"
e,"0.001",1e-2,x
END
cat >want.csv <<'END'
client,bytes,price,note
a,4,0.3,x
b,2,-0.50,"first, ""b"""
c,1e3,,"alone
with a newline"
d,,,x
e,1000.001,0.11,"two
lines"
END
for plan in "${plans[@]}"; do
  expect 0 "$g" -k client --sum bytes --sum price $plan in.csv got.csv
  same got.csv want.csv
  expect 0 "$g" -k client --sum '#2' --sum '"price"' $plan in.csv got.csv
  same got.csv want.csv
done
"$g" --format csv -u -k client --sum bytes --sum price - - <in.csv | cmp - want.csv || fail "--sum of a stream"
gzip -k in.csv
expect 0 "$g" -k client --sum bytes --sum price in.csv.gz got.csv.gz
gzip -dc got.csv.gz | cmp - want.csv || fail "--sum and compression"
{ head -n 1 in.csv; sed -n 3,4p in.csv; } >one.csv
{ head -n 1 in.csv; sed -n 2p in.csv; sed -n '5,$p' in.csv; } >two.csv
expect 0 "$g" -m -k client --sum bytes --sum price -o got.csv one.csv two.csv
same got.csv want.csv
expect 0 "$g" -k client --sum bytes --sum price -o got.csv two.csv one.csv
same got.csv want.csv
expect 0 "$g" -k client:desc --sum bytes --top 2 in.csv got.csv
printf 'client,bytes,price,note\ne,1000.001,0.1,"two\nlines"\nd,,,x\n' | cmp - got.csv || fail "--sum with --top"
expect 0 "$g" -k client --sum bytes --only-duplicates in.csv got.csv
printf 'client,bytes,price,note\na,4,0.1,x\nb,2,1.50,"first, ""b"""\nd,,,x\ne,1000.001,0.1,"two\nlines"\n' | cmp - got.csv ||
  fail "--sum with --only-duplicates"
expect 0 "$g" -k client --sum bytes --count --only-unique in.csv got.csv
printf 'count,client,bytes,price,note\n1,c,1e3,,"alone\nwith a newline"\n' | cmp - got.csv || fail "--sum with --only-unique"
expect 0 "$g" -k client --sum price --count --top 2 --by count in.csv got.csv
printf 'count,client,bytes,price,note\n2,a,1,0.3,x\n2,b,2,-0.50,"first, ""b"""\n' | cmp - got.csv || fail "--sum with --by count"
expect 0 "$g" -k client --sum price --stats stats.json in.csv got.csv
grep -q '"records_out": 5' stats.json || fail "the statistics do not count the groups"
printf 'client,n\r\na, 5 \r\na,"7"\r\n' >returns.csv
expect 0 "$g" -k client --sum n returns.csv got.csv
printf 'client,n\r\na, 12 \r\n' | cmp - got.csv || fail "--sum and CR LF, with blanks around the value"
printf 'k,n\n#a\na,1\n#b\na,2\n' >comments.csv
expect 0 "$g" -k k --comment '#' --sum n comments.csv got.csv
printf 'k,n\n#a\na,3\n' | cmp - got.csv || fail "--sum and comments"
printf 'x\nk,n\na,1\na,2\n' >two_heads.csv
expect 0 "$g" -k k --header 2 --sum n two_heads.csv got.csv
printf 'x\nk,n\na,3\n' | cmp - got.csv || fail "--sum and a header of two rows"

# Numbers of any size, and separators as in the input. A sum with the delimiter gets quotes.
awk 'BEGIN {print "k,n"; for (i = 0; i < 1000; ++i) print "a,99999999999999999999999999999999999999.5"; print "a,-0.25"}' >large.csv
expect 0 "$g" -k k --sum n large.csv got.csv
python3 -c 'print("k,n\na,%d.%02d" % divmod(1000 * 9999999999999999999999999999999999999950 - 25, 100))' >want.csv
same got.csv want.csv
printf 'k;n\na;1.234,50\na;-0,5\nb;1,5\nb;2\n' >german.csv
expect 0 "$g" --delimiter ';' --decimal-point , --thousands . -k k --sum n german.csv got.csv
printf 'k;n\na;1.234,00\nb;3,5\n' | cmp - got.csv || fail "--sum of German numbers"
printf 'k,n\na,999\na,"1,001"\n' >english.csv
expect 0 "$g" --thousands , -k k --sum n english.csv got.csv
printf 'k,n\na,"2,000"\n' | cmp - got.csv || fail "--sum of numbers with commas"
printf 'k,n\na,5\na,-5.00\nb,0e-3\nb,-0\n' >zero.csv
expect 0 "$g" -k k --sum n zero.csv got.csv
printf 'k,n\na,0.00\nb,0.000\n' | cmp - got.csv || fail "sums of zero"
{ echo k,n; echo "a,1e999"; echo "a,$(printf '9%.0s' $(seq 1000))"; } >long.csv
expect 0 "$g" -k k --sum n long.csv got.csv
python3 -c 'print("k,n\na,%d" % (10**999 + 10**1000 - 1))' | cmp - got.csv || fail "--sum of 1000 digits"
for bad in 1e1000 1e-1001 -1e99999999999999999999 "1$(printf '0%.0s' $(seq 1000))"; do
  printf 'k,n\na,%s\n' "$bad" >long.csv
  expect 3 "$g" -k k --sum n long.csv got.csv
  says "record 1, line 2.*has more than 1000 digits before or after its decimal point, so --sum cannot add it"
done
for bad in x NaN inf 1x '1 2' 0x10 1,5 1e 1e+ - . '$5' '"1""2"' '"1"2'; do
  printf 'k;n\na;1\na;%s\n' "$bad" >bad.csv
  expect 3 "$g" --delimiter ';' -k k --sum n bad.csv got.csv
  says "record 2, line 3.*column 'n': .*, so --sum cannot add it"
done

# JSON Lines: numbers and strings stay what they are, and a new member is written if the first object has none.
cat >in.jsonl <<'END'
{"k":"a", "n": 1.5, "s":"2", "in":{"n":[0, 7]}}
{"k":"b","s":null,"in":{"n":[0, 1]}}
{"k":"a","n":"2.25","s":40,"in":{"n":[0, 0.10]}}
{"k":"b","n":4,"s":1e2,"in":{"n":[0, null]}}
{"k":"b","n":5,"in":{}}
END
cat >want.jsonl <<'END'
{"k":"a", "n": 3.75, "s":"42", "in":{"n":[0, 7.10]}}
{"n":9,"k":"b","s":100,"in":{"n":[0, 1]}}
END
expect 0 "$g" -k k --sum n --sum s --sum /in/n/1 in.jsonl got.jsonl
same got.jsonl want.jsonl
sed 's/^{/{"count":2,/; 2s/2/3/' want.jsonl >counted.jsonl
expect 0 "$g" -k k --sum n --sum s --sum 'in.n[1]' --count in.jsonl got.jsonl
same got.jsonl counted.jsonl
printf ' { } \n{"n":1}\n{"m":2}\n' >empty.jsonl
expect 0 "$g" -k k --sum n --sum m --count --force-format empty.jsonl got.jsonl
printf ' {"count":3,"n":1,"m":2 } \n' | cmp - got.jsonl || fail "new members of an empty object: $(cat got.jsonl)"
printf '{"k":1,"a":{}}\n{"k":1,"a":{"n":1}}\n' >deep.jsonl
expect 3 "$g" -k k --sum a.n deep.jsonl got.jsonl
says "the first record with its key has no place for the sum of the records: '{\"k\":1,\"a\":{}}'"
for bad in true '[1]' '{}' '"x"' '"NaN"' '"\\u0031"'; do
  printf '{"k":1,"n":1}\n{"k":1,"n":%b}\n' "$bad" >bad.jsonl
  expect 3 "$g" -k k --sum n bad.jsonl got.jsonl
  says "line 2.*'n'.*so --sum cannot add it"
done
says "'n': '1' has escapes, so --sum cannot add it"
for bad in '{"k":1,"n":1,"n":2}' '{"k":1,"n":null,"x":0,"\u006e":2}' '{"n":5,"k":1,"n":2}'; do
  printf '{"k":1,"n":1}\n%s\n' "$bad" >bad.jsonl
  expect 3 "$g" -k k:int --sum x --sum n --force-format bad.jsonl got.jsonl
  says "record 2, line 2.*a member with a value of --sum stands a second time in its object"
  sed 's/{/{"time":"2026-11-23T22:10:01Z",/' bad.jsonl >bad.log
  expect 3 "$g" --format log -k k:int --sum n bad.log got.log
  says "line 2.*a member with a value of --sum stands a second time in its object"
done
printf '{"k":1,"a":{"n":1},"a":{"n":2}}\n' >bad.jsonl
expect 3 "$g" -k k:int --sum a.n bad.jsonl got.jsonl
says "line 1, byte 19: a member with a value of --sum stands a second time"
printf '{"k":1,"k":2,"x":1,"x":2,"n":1,"in":{"n":5,"n":6}}\n{"k":1,"n":2}\n' >good.jsonl
expect 0 "$g" -k k:int --sum n good.jsonl got.jsonl
printf '{"k":1,"k":2,"x":1,"x":2,"n":3,"in":{"n":5,"n":6}}\n' | cmp - got.jsonl || fail "other members that stand twice"
printf '{"k":1,"n":"1,5"}\n{"k":1,"n":2}\n{"k":2,"n":2}\n{"k":2,"n":"1,5"}\n' >comma.jsonl
expect 0 "$g" --decimal-point , -k k:int --sum n comma.jsonl got.jsonl
printf '{"k":1,"n":"3,5"}\n{"k":2,"n":"3,5"}\n' | cmp - got.jsonl || fail "numbers that JSON does not have"

# Rows of databases, fields of lines, logs and paragraphs.
printf 'a\t1\t\\N\nb\t5\tx\na\t2.5\ty\n\\.\n' >in.copy
"$g" --format pgcopy -k '#1' --sum '#2' - - <in.copy >got.out
printf 'a\t3.5\t\\N\nb\t5\tx\n\\.\n' | cmp - got.out || fail "--sum of COPY"
printf 'a\t\\061\n' >escapes.copy
expect 3 "$g" --format pgcopy -k '#1' --sum '#2' escapes.copy got.out
says "'1' has escapes, so --sum cannot add it"
printf 'a\t\\N\na\t2\n' | "$g" --format mysql -k '#1' --sum '#2' --count - - >got.out
printf '2\ta\t2\n' | cmp - got.out || fail "--sum of rows of MySQL"
printf 'b:1:x\na:2:y\nb:40.5:z\n' >fields.txt
expect 0 "$g" -t : -k 1:text --sum 2 --count fields.txt got.out
printf '      1 a:2:y\n      2 b:41.5:x\n' | cmp - got.out || fail "--sum of fields"
printf 'b   1 x\na 2 y\nb 40.5 z\n' | "$g" -k 1:text --sum 2 - - >got.out
printf 'a 2 y\nb   41.5 x\n' | cmp - got.out || fail "--sum of words"
printf 'b t=1ms\na t=2ms\nb t=0.5ms\n' | "$g" -k 1:text --sum '~t=([0-9.]+)' - - >got.out
printf 'a t=2ms\nb t=1.5ms\n' | cmp - got.out || fail "--sum of a regular expression"
cat >access.log <<'END'
10.0.0.2 - - [23/Nov/2026:22:10:01 +0100] "GET /a HTTP/1.1" 304 -
10.0.0.1 - - [23/Nov/2026:22:10:02 +0100] "GET /b HTTP/1.1" 200 12
10.0.0.2 - - [23/Nov/2026:22:10:03 +0100] "GET /c HTTP/1.1" 200 30
10.0.0.2 - - [23/Nov/2026:22:10:04 +0100] "GET /c HTTP/1.1" 200 12
END
"$g" --format log -k host --sum bytes --count access.log - 2>/dev/null >got.out
cat >want.out <<'END'
      1 10.0.0.1 - - [23/Nov/2026:22:10:02 +0100] "GET /b HTTP/1.1" 200 12
      3 10.0.0.2 - - [23/Nov/2026:22:10:01 +0100] "GET /a HTTP/1.1" 304 42
END
same got.out want.out
"$g" --format log -k host --sum bytes --prefix-name access.log - 2>/dev/null >got.out
sed 's/^ *[0-9] /access.log: /' want.out | cmp - got.out || fail "--sum with --prefix-name"
printf '{"time":"2026-11-23T22:10:01Z","h":"a","n":null}\n{"time":"2026-11-23T22:10:02Z","h":"a","n":7}\n' >null.log
expect 0 "$g" --format log -k h --sum n null.log got.log
printf '{"time":"2026-11-23T22:10:01Z","h":"a","n":7}\n' | cmp - got.log || fail "--sum of a null of a log: $(cat got.log)"
# A number that is written in another way than numbers of JSON is a string.
printf '{"time":"2026-11-23T22:10:0%s","h":"a","n":%s}\n' 1Z 5 2Z '"1,000"' >thousands.log
expect 0 "$g" --format log -k h --sum n --thousands , thousands.log got.log
printf '{"time":"2026-11-23T22:10:01Z","h":"a","n":"1,005"}\n' | cmp - got.log || fail "thousands in a log: $(cat got.log)"
printf 'Package: a\nSize: 5\n\nPackage: b\nSize: 1\n\nPackage: a\nSize: 6\n\n' |
  "$g" --format paragraphs -k Package --sum Size: - - >got.out
printf 'Package: a\nSize: 11\n\nPackage: b\nSize: 1\n\n' | cmp - got.out || fail "--sum of paragraphs"

# A record without the column adds nothing. If it is the first of its key, a sum has no place.
printf 'k,x,n\na,1,5\na,2\nb,1\n' >short.csv
expect 0 "$g" -k k --sum n short.csv got.csv
printf 'k,x,n\na,1,5\nb,1\n' | cmp - got.csv || fail "--sum of short records"
says "2 records have no column 'n' and add nothing to its sum; --strict makes this an error"
printf 'k,x,n\na,1\na,2,5\n' >short.csv
expect 3 "$g" -k k --sum n short.csv got.csv
says "'n': the first record with its key has no place for the sum of the records: 'a,1'"
printf 'a:1\nb\n' >short.txt
expect 3 "$g" -t : -k 1:text --sum 2 --strict short.txt got.txt
says "has no field 2, which --sum adds up"
printf 'k: a\nn: 1\n\nk: a\n\n' >short.par
expect 0 "$g" --format paragraphs -k k --sum n short.par got.par
says "1 record has no column 'n' and adds nothing to its sum; --strict makes this an error"
expect 3 "$g" --format paragraphs -k k --sum n --strict short.par got.par
says "record 2, .*it has no column 'n', which --sum adds up"
expect 0 "$g" --format paragraphs -k n:int --strict short.par got.par
[ ! -s err ] || fail "a message about a key that is missing: $(cat err)"
# Of records that --minus or --intersect leaves out, and of the records of their files, no value is read.
printf 'k,n\nb,unknown\n' >set.csv
printf 'k,n\na,1\nb,x\na,2\nb,5\n' >in.set.csv
printf 'b\n' >set.txt
printf 'a 1\nb\na 2\nb 6\n' >in.set.txt
printf '{"k":"b"}\n{"k":"c","n":"\\u0031"}\n' >set.jsonl
printf '{"k":"a","n":1}\n{"k":"b","n":"\\u0031"}\n{"k":"a","n":2}\n{"k":"c","n":[]}\n' >in.set.jsonl
for options in "" --strict "--memory 5M --batch-bytes 9000 --threads 1" --keep-order; do
  expect 0 "$g" -k k --sum n $options --minus set.csv in.set.csv got.csv
  printf 'k,n\na,3\n' | cmp - got.csv || fail "--sum and --minus with $options"
  [ ! -s err ] || fail "a message about a record of a set: $(cat err)"
  expect 0 "$g" -k 1:text --sum 2 $options --minus set.txt in.set.txt got.txt
  printf 'a 3\n' | cmp - got.txt || fail "--sum and --minus of lines with $options"
  [ ! -s err ] || fail "a message about a record of a set: $(cat err)"
  expect 0 "$g" -k k --sum n $options --minus set.jsonl in.set.jsonl got.jsonl
  printf '{"k":"a","n":3}\n' | cmp - got.jsonl || fail "--sum and --minus of JSON with $options"
  printf 'k,n\na,unknown\n' >keys.csv
  expect 0 "$g" -k k --sum n $options --intersect keys.csv in.set.csv got.csv
  printf 'k,n\na,3\n' | cmp - got.csv || fail "--sum and --intersect with $options"
  expect 3 "$g" -k k --sum n $options --intersect set.csv in.set.csv got.csv
  says "in.set.csv: byte 8: column 'n': its value is no decimal number, so --sum cannot add it: 'b,x'"
  expect 3 "$g" -k k --sum n $options --intersect set.jsonl in.set.jsonl got.jsonl
  says "in.set.jsonl: byte 16: .*its value has escapes, so --sum cannot add it"
done
printf 'a 1\nb 6\nb\na 2\n' >in.set.txt
expect 0 "$g" -k 1:text --sum 2 --intersect set.txt in.set.txt got.txt
printf 'b 6\n' | cmp - got.txt || fail "--sum of a record that a set keeps"
says "1 record has no field 2 and adds nothing to its sum; --strict makes this an error"
expect 3 "$g" -k 1:text --sum 2 --strict --intersect set.txt in.set.txt got.txt
says "in.set.txt: byte 8: it has no field 2, which --sum adds up: 'b'"

printf 'k,n\na,  \na,5\n' >blanks.csv
expect 0 "$g" -k k --sum n blanks.csv got.csv
printf 'k,n\na,  5\n' | cmp - got.csv || fail "--sum and a value of blanks alone"
printf '{"k":1}\n{"k":1}\n' >none.jsonl
expect 3 "$g" -k k --sum typo none.jsonl got.jsonl
says "no record has the path 'typo'"
printf 'k,n\na,\na,\n' >nulls.csv
expect 0 "$g" -k k --sum n nulls.csv got.csv
printf 'k,n\na,\n' | cmp - got.csv || fail "--sum of nulls"
[ ! -s err ] || fail "a message: $(cat err)"

# After a kill the same command continues, and adds each value once.
seq 1 300000 | awk 'BEGIN {print "k,n"} {print $1 * 7919 % 3011 "," $1 % 1000 - 300 ".25"}' >many.csv
awk -F, 'NR > 1 {n[$1] += $2; ++c[$1]} END {print "k,n"; for (k in n) printf "%s,%.2f\n", k, n[k] | "sort -t, -k1,1n"}' many.csv >want.csv
for after in 0.05 0.2 0.4; do
  rm -rf kept got.csv
  kill_and_continue $after "$g" -k k:int --sum n --resume-dir kept --memory 4M --batch-bytes 90000 --fan-in 4 many.csv got.csv
  same got.csv want.csv
done
rm -rf kept

# Refused.
expect 2 "$g" --sum n in.csv got.csv
says '--sum needs -k'
expect 2 "$g" -k client --sum nope in.csv got.csv
says "^gpusort: error: --sum: 'nope': there is no column 'nope'"
expect 2 "$g" -k client --sum client in.csv got.csv
says "is also a key"
expect 2 "$g" -k client --sum '#1' in.csv got.csv
says "the column is also -k client"
expect 2 "$g" -k client --sum bytes --sum bytes in.csv got.csv
says "is given twice"
expect 2 "$g" -k client --sum bytes --sum '#2' in.csv got.csv
says "the column is also --sum bytes"
printf '1:23\n' >digits.txt
expect 3 "$g" -k 1:text --sum '~(..)$' --sum '~(.)$' -t : digits.txt got.txt
says "two columns of --sum stand in the same place"
expect 2 "$g" -k client --sum bytes:int in.csv got.csv
says "give the column alone"
expect 2 "$g" -k client --sum bytes:asc in.csv got.csv
says "give the column alone"
expect 2 "$g" -k 1:text --sum '~(' fields.txt got.out
says "^gpusort: error: --sum: '~(': the regular expression ( is invalid"
expect 2 "$g" --format log -k host --sum a..b access.log got.out
says "^gpusort: error: --sum: 'a..b'"
for word in --total --aggregate --group-by; do
  expect 2 "$g" -k client $word bytes in.csv got.csv
  says "did you mean --sum?"
done
expect 2 "$g" -k1,1 --sum 2 fields.txt got.out
says "instead of -k 1,1, write 1:text"
expect 2 "$g" --sum 2 fields.txt got.out
says "only with keys that have a type"
for column in 2,3 2,2 2n foo time 0 1.1 2-3 ' 1'; do
  expect 2 "$g" -k 1:text --sum "$column" fields.txt got.out
  says "give the number of one field, such as 2"
done
expect 2 "$g" --format log -k host --sum 2,3 access.log got.out
says "give the number of one field, such as 2"
expect 2 "$g" --format log --sum bytes access.log got.out
says "needs other keys than the time of a log"
# A key by another name, or a part of a key. The output would have other keys, and not be in order.
printf '{"n":3,"a":[3],"b":{"c":3}}\n{"n":3,"a":[3],"b":{"c":3}}\n' >other.jsonl
for pair in n:int=/n 'a[0]:int=/a/0' b.c:int=/b/c b:text=b.c; do
  expect 3 "$g" -k "${pair%=*}" --sum "${pair#*=}" other.jsonl got.jsonl
  says "line 1.*a column of --sum stands in the same place as a key"
done
printf '3:1\n3:2\n' >other.txt
for pair in 01:int=1 '~^([0-9]+):int=1' 1,2:text=2 '1:int=~([0-9])'; do
  expect 3 "$g" -t : -k "${pair%=*}" --sum "${pair##*=}" other.txt got.txt
  says "a column of --sum stands in the same place as a key"
done
expect 3 "$g" --format log -k 9:int --sum status access.log got.out
says "a column of --sum stands in the same place as a key"
printf '3\tx\n3\ty\n' >other.copy
expect 3 "$g" --format pgcopy -k '#01:int' --sum '#1' other.copy got.copy
says "a column of --sum stands in the same place as a key"
expect 2 "$g" --format log -k host --sum time access.log got.out
says "times have no sum"
"$bin/gpusort_gen" --type u32 --count 10 --seed 3 in.u32
expect 2 "$g" --sum 1 in.u32 got.u32
says 'no form for binary records'
printf 'INSERT INTO t VALUES (1);\n' >dump.sql
expect 2 "$g" --format mysqldump --sum t.a dump.sql got.sql
says "--sum has no meaning with --format mysqldump"
expect 2 "$g" --format pgcopy-binary -k '#1:int' --sum '#2' in.u32 got.u32
says "--sum has no meaning with --format pgcopy-binary"
sums=(-k client --sum bytes)
expect 2 "$g" "${sums[@]}" --split 2 in.csv got.csv
says "--sum cannot be combined with --split yet"
expect 2 "$g" "${sums[@]}" -c in.csv
says "--sum has no meaning with --check"
expect 2 "$g" "${sums[@]}" --verify-output in.csv got.csv
says 'no meaning with --sum'
nothing_left
echo "sums: ok"
