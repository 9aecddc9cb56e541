# labels: any_build
# Tests the messages of the program: brings about each situation of tests/MESSAGES.md, and compares the exit code and
# the whole standard error with the table. GPUSORT_MESSAGES=write writes the table again.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
unset POSIXLY_CORRECT _POSIX2_VERSION GPUSORT_DEVICE
export LC_ALL=C TMPDIR=$work
mkdir said
rows=0
# row SITUATION COMMAND...: runs the command in an empty folder, and keeps its messages and its exit code.
row() {
  local code=0
  rows=$((rows + 1))
  "${@:2}" >said/out 2>said/$rows.err || code=$?
  printf '%s\n%s\n' "$1" $code >said/$rows.row
}
# unseen SITUATION WHY: the situation cannot be brought about here.
unseen() {
  echo "SKIPPED: $2: $1"
  printf '%s\n' "$1" >>said/unseen
}
as_user=()
if [ "$(id -u)" = 0 ]; then as_user=(setpriv --reuid 60001 --clear-groups); chmod 755 .; fi
in_user() { "${as_user[@]}" "$@"; }

printf 'pear\napple\nfig\n' >fruit.txt
printf 'apple\nfig\npear\n' >sorted.txt
"$bin/gpusort_gen" --type u64 --count 1000 --seed 1 in.u64
printf 'id,name\n2,b\n1,a\n' >shop.csv
echo '10.0.0.1 - - [23/Nov/2026:22:10:01 +0100] "GET / HTTP/1.1" 200 12' >access.log

# ---- The command line
# At a terminal: standard output is a terminal, and for a command without names standard input, too.
if command -v python3 >/dev/null; then
  at_terminal() { python3 "$src/tests/cli/on_terminal.py" "$@"; }
  row 'no names, at a terminal' at_terminal 01 '' "$g"
  row 'no output, at a terminal' at_terminal 1 '' "$g" fruit.txt
else
  for situation in 'no names, at a terminal' 'no output, at a terminal'; do unseen "$situation" 'no python3'; done
fi
row 'no output for --split' "$g" --split 2 fruit.txt
row 'a number of parts and their size' "$g" --split 2 --target-size 1K fruit.txt out
row 'a size of parts, of standard input' sh -c "'$g' --target-size 1K - out <fruit.txt"
gzip -c fruit.txt >fruit.gz
row 'a size of parts, of a compressed input' "$g" --target-size 1K fruit.gz out
row 'a size of parts that are too many' "$g" --target-size 16 in.u64 out
row 'a size of parts without a file' "$g" --target-size 1K fruit.txt
cp fruit.txt emptied.txt
row 'an input that the shell has emptied' sh -c "'$g' emptied.txt >emptied.txt"
row 'three names without -o' "$g" a b c
row 'an option misspelt' "$g" --memroy 1G fruit.txt out
row 'a word for an option that has another name' "$g" --limit 5 fruit.txt out
row 'an option of another program' "$g" --frobnicate fruit.txt out
row 'a letter that is no option' "$g" -Q fruit.txt out
row 'an option shortened' "$g" --rev fruit.txt out
mkdir with-sort
echo mine >with-sort/sort
row 'a link where another sort is' "$g" --install-sort with-sort
mkdir -m 555 not-mine
row 'a link in a folder that this user may not write' in_user "$g" --install-sort not-mine
row 'a link, and files to sort' "$g" --install-sort with-sort fruit.txt out
row 'an option without its value' "$g" fruit.txt out --memory
row 'a flag with a value' "$g" --unique=yes fruit.txt out
row 'an empty value' "$g" --memory= fruit.txt out
row 'an option where a file is meant' "$g" -o --unique fruit.txt
row 'an option given twice, differently' "$g" --memory 1G --memory 2G fruit.txt out
row 'a size that is none' "$g" --memory lots fruit.txt out
row 'memory without a unit' "$g" --memory 10 fruit.txt out
row 'a choice misspelt' "$g" --device gup fruit.txt out
row 'a type misspelt' "$g" --type i23 in.u64 out
row 'a format misspelt' "$g" --format cvs fruit.txt out
row 'a word for a format that has another name' "$g" --format txt fruit.txt out
row 'options of two formats' "$g" --format csv -t, fruit.txt out
row 'options that exclude each other' "$g" --type u64 --record-size 8 in.u64 out
row 'an option without meaning for --check' "$g" --check --top 3 fruit.txt
row 'records whose key occurs once, and more than once' "$g" --only-unique --only-duplicates fruit.txt out
row 'the largest groups without a count' "$g" --by count --top 3 fruit.txt out
row 'counts of binary records' "$g" --count in.u64 out
row 'counts in parts' "$g" --count --split 2 fruit.txt out
row 'counts that are read back' "$g" --count --verify-output fruit.txt out
row 'counts and the marks of keys' "$g" --count --debug fruit.txt out
row 'counts before comments' "$g" --count --comment '#' shop.csv out
row 'counts below two header rows' "$g" --count --header 2 shop.csv out
row 'counts between digits' "$g" --count --delimiter 1 shop.csv out
row 'counts of paragraphs' "$g" --count --format paragraphs fruit.txt out
row 'duplicates of a dump' "$g" --only-duplicates --format pgdump fruit.txt out
row 'several dumps' "$g" -m --format pgdump fruit.txt fruit.txt -o out
printf '[1]\n' >list.jsonl
row 'a count for JSON that is no object' "$g" --count -k '[0]:int' list.jsonl out
printf '{"count":1}\n' >counted.jsonl
row 'a count for JSON that has one' "$g" --count -k count:int counted.jsonl out
printf 'count\n1\n' >counted.csv
row 'a count for rows that have one' "$g" --count -k count:int counted.csv out
row 'sums without a key' "$g" --sum id shop.csv out
row 'a sum of a column that is not there' "$g" -k name --sum ids shop.csv out
row 'a sum with a type' "$g" -k name --sum id:int shop.csv out
row 'a sum of a key' "$g" -k id --sum id shop.csv out
row 'a sum of a key by its number' "$g" -k id --sum '#1' shop.csv out
row 'a sum that is given twice' "$g" -k name --sum id --sum id shop.csv out
row 'sums of binary records' "$g" --sum 1 in.u64 out
row 'sums of lines' "$g" --sum 2 fruit.txt out
row 'sums of lines with a key of sort' "$g" -k2,2n --sum 1 fruit.txt out
row 'a sum of times' "$g" --format log -k host --sum time access.log out
row 'a sum of several fields' "$g" -k 1:text --sum 2,3 fruit.txt out
row 'sums of the records of a time' "$g" --format log --sum bytes access.log out
row 'sums of a dump' "$g" --format mysqldump --sum t.a fruit.txt out
row 'sums in parts' "$g" -k name --sum id --split 2 shop.csv out
row 'sums that are read back' "$g" -k name --sum id --verify-output shop.csv out
printf 'k,n\na,1\na,x\n' >bad.csv
row 'a value that is no number' "$g" -k k --sum n bad.csv out
printf 'k,n\nb,x\n' >set.csv
row 'a value that is no number, of a record that a set keeps' "$g" -k k --sum n --minus set.csv bad.csv out
printf 'k,n\na,1\na,1e1000\n' >bad.csv
row 'a value with many digits' "$g" -k k --sum n bad.csv out
printf 'k,n\na,1\na,"1"2\n' >bad.csv
row 'a value with text after its quotes' "$g" -k k --sum n bad.csv out
printf 'k:1\nk\n' >short.txt
row 'a record without the column of a sum' "$g" -t : -k 1:text --sum 2 short.txt out
row 'a record without the column of a sum, with --strict' "$g" -t : -k 1:text --sum 2 --strict short.txt out
printf 'k\nk:1\n' >short.txt
row 'a sum without a place' "$g" --quiet -t : -k 1:text --sum 2 short.txt out
printf '5:5\n' >digits.txt
printf 'k:5\n' >short.txt
row 'a sum of a part of a key' "$g" -t : -k 01:int --sum '~([0-9])' digits.txt out
row 'columns of sums that overlap' "$g" -t : -k 1:text --sum 2 --sum '~(.)$' short.txt out
row 'a key and a random order' "$g" --shuffle -k 2 fruit.txt out
row 'a random order that is read back' "$g" --shuffle --verify-output fruit.txt out
printf 'apple\nplum\n' >other.txt
printf 'key,name\n1,a\n' >other.csv
row 'parts of a set' "$g" --minus other.txt --split 2 fruit.txt out
row 'the marks of keys in a set' "$g" --minus other.txt --debug fruit.txt out
row 'floats in a set' "$g" --minus other.txt -g fruit.txt out
row 'a set and a list of names' "$g" --union other.txt --files0-from other.txt -o out
row 'standard input for a set and for an input' "$g" --minus - - out
row 'a set with another header' "$g" -k id --minus other.csv shop.csv out
row 'a set of another format' "$g" --minus other.txt shop.csv out
row 'a set of a dump' "$g" --minus other.txt --format pgdump fruit.txt out
row 'a zone without times' "$g" --timezone Europe/Berlin -k id shop.csv out
printf 't,n\n2026-11-23 08:00:00 CST,a\n2026-11-23 08:00:00,b\n' >zones.csv
row 'a zone with several meanings, and none' env TZ=UTC "$g" -k t:timestamp zones.csv out
row 'a zone that TZ gives a meaning' env TZ=Asia/Shanghai "$g" -k t:timestamp zones.csv out
row 'times out of order, with a zone of several meanings' env TZ=UTC "$g" -c -k t:timestamp zones.csv
row 'times out of order to merge' env TZ=UTC "$g" -m -k t:timestamp -o out zones.csv zones.csv
row 'counts of binary records in the order of the input' "$g" --count --keep-order in.u64 out
row 'a set in tasks' "$bin/gpusort_task" runs --slice 0/1 --into tasks --minus other.txt fruit.txt
row 'a union in tasks' "$bin/gpusort_task" runs --slice 0/1 --into tasks --union other.txt fruit.txt
row 'a word for a set that has another name' "$g" --except other.txt fruit.txt out
printf '1\n' >listed
printf '1\n1 x\n' >repeated
: >nothing
row 'values that are not in the file of an order' "$g" -k 'id:order(listed)' shop.csv out
row 'values that are not in the file of an order, --strict' "$g" --strict -k 'id:order(listed)' shop.csv out
row 'an order without a file' "$g" -k id:order shop.csv out
row 'an order whose file is missing' "$g" -k 'id:order(gone)' shop.csv out
row 'an order whose file is empty' "$g" -k 'id:order(nothing)' shop.csv out
row 'an order that has a value twice' "$g" -k 'id:order(repeated)' shop.csv out
row 'the order of the input without -u' "$g" --keep-order fruit.txt out
row 'the largest groups in the order of the input' "$g" --count --by count --top 3 --keep-order fruit.txt out
row 'floats in the order of the input' "$g" -u --keep-order -g fruit.txt out
row 'the order of a locale and that of the input' "$g" -u --keep-order --locale fruit.txt out
row 'the marks of keys in the order of the input' "$g" -u --keep-order --debug fruit.txt out
row 'parts in the order of the input' "$g" -u --keep-order --split 2 fruit.txt out
row 'the order of the input that is read back' "$g" -u --keep-order --verify-output fruit.txt out
row 'a dump in the order of the input' "$g" -u --keep-order --format pgdump fruit.txt out
row 'the order of the input in tasks' "$bin/gpusort_task" runs --slice 0/1 --into tasks -u --keep-order fruit.txt
row 'a seed alone' "$g" --seed 1 fruit.txt out
row 'a random order without a seed that shall continue' "$g" --shuffle --resume-dir kept fruit.txt out
row 'a random order in tasks' "$bin/gpusort_task" runs --slice 0/1 --into tasks --shuffle fruit.txt
row 'a random order of a dump' "$g" --shuffle --format pgdump fruit.txt out
cat in.u64 fruit.txt | head -c 8003 >odd.records
row 'a random order of records that are not whole' "$g" --shuffle --record-size 8 odd.records out
printf '#one\nb\n' >first.bed
printf '#two\n#three\na\n' >second.bed
printf '#\n#\na\n' >twice.bed
row 'lines in front of an input that the output does not get' "$g" --header-prefix '#' -o out first.bed second.bed
row 'repeated lines in front of an input that the output does not get' "$g" --header-prefix '#' -o out twice.bed twice.bed
row 'lines in front of rows in tasks' "$bin/gpusort_task" runs --slice 0/1 --into tasks --header-prefix '#' shop.csv
row 'lines in front of JSON' "$g" --header-prefix '#' list.jsonl out
row 'an index of an output that has no blocks' "$g" --index fruit.txt out.gz
row 'an index of a stream' "$g" --index --compress bgzf fruit.txt -
row 'an index of parts' "$g" --index --split 2 fruit.txt part
row 'an index that is an input' "$g" --index -o out.bgz out.bgz.gzi
row 'an index in tasks' "$bin/gpusort_task" runs --slice 0/1 --into tasks --compress bgzf --index fruit.txt
row 'merge of two names without -o' "$g" -m sorted.txt fruit.txt
row 'a key of lines that is none' "$g" -k 2,x fruit.txt out
row 'field zero' "$g" -k 0 fruit.txt out
row 'a column by name for lines' "$g" -k name fruit.txt out
row 'a column by name, and -t' "$g" -t, -k id:int shop.csv out
row 'a column by name, and one by number' "$g" -k id -k 2 shop.csv out
row 'a key of sort beside a typed key' "$g" -k2,2n -k 1:text fruit.txt out
row 'an ordering of sort beside a typed key' "$g" -n -k 1:text fruit.txt out
row 'two columns in one key' "$g" -k id,name shop.csv out
row 'a column by number without #' "$g" --format csv -k 2:int shop.csv out
row 'a delimiter by its name' "$g" --delimiter tab shop.csv out
row 'a tab by its name' "$g" -t tab fruit.txt out
row 'a regular expression that is none' "$g" -k '~(a:int' fruit.txt out
row 'a type misspelt after a regular expression' "$g" -k '~a([0-9]+):itn:desc' fruit.txt out
row 'a regular expression for columns' "$g" --format csv -k '~a' shop.csv out
row 'a regular expression that no line matches' "$g" -k '~nowhere' fruit.txt out
row 'a field of lines that is not there' "$g" -k 9:int fruit.txt out
row 'a field of a log misspelt' "$g" --format log -k statsu access.log out
row 'a key, and an input that is missing' "$g" -k name missing.txt out
row 'lines of a file of columns' "$g" -t, -k1,1n shop.csv out
row 'inputs of two formats' "$g" -o out shop.csv fruit.txt
row 'parts in a folder' "$g" --split 2 fruit.txt said
row 'a key of records that leaves them' "$g" --record-size 8 --key 5:u32 in.u64 out
row 'a key of records that is none' "$g" --record-size 8 --key 5 in.u64 out
row 'a value type misspelt' "$g" -k id:itn shop.csv out
printf PAR1 >shop.parquet
row 'a curve through CSV' "$g" -k 'hilbert(id,name)' shop.csv out
row 'a curve of one column' "$g" -k 'zorder(id)' shop.parquet out
row 'a curve without its end' "$g" -k 'zorder(id,name' shop.parquet out
row 'a curve with a type' "$g" -k 'zorder(id,name):int' shop.parquet out
row 'a curve, and equal records' "$g" --only-unique -k 'zorder(id,name)' shop.parquet out
row 'a curve, and a merge' "$g" -m -k 'zorder(id,name)' shop.parquet -o out
row 'an order of lines for Parquet' "$g" -n shop.parquet out
row 'a key of lines for Parquet' "$g" -k1,1 shop.parquet out
row 'a key of lines for Parquet, and the name of a column' "$g" -n -k id shop.parquet out
row 'a random order of lines for Parquet' "$g" -R shop.parquet out
row 'an option of lines for Arrow' "$g" -s --format arrow - out
row 'Arrow from standard input' "$g" --format arrow -k id - out
mkfifo pipe.arrow
row 'Arrow from a stream' "$g" -k id pipe.arrow out
# Files that are not what their names say. Without the module these rows are not seen.
: >nothing.arrow
echo 'some text' >text.arrow
printf 'ARROW1\0\0' >cut.arrow
printf '\377\377\377\377\200\0\0\0\20\0\0\0' | tee cut.arrows >stream.parquet
printf 'PAR1\25\4\25\0' >other.arrow
gzip -c fruit.txt >packed.arrow
head -c 20 /dev/zero >zeros.arrow
cp cut.arrow other.parquet
: >nothing.parquet
columns=0
"$g" -k id nothing.parquet out 2>err || columns=$?
column_row() { if [ $columns = 3 ]; then row "$@"; else unseen "$1" 'no module for Parquet and Arrow'; fi; }
column_row 'an empty file, by name Arrow' "$g" -k id nothing.arrow out
column_row 'text, by name Arrow' "$g" -k id text.arrow out
column_row 'an Arrow file that is cut short' "$g" -k id cut.arrow out
column_row 'an Arrow stream that is cut short' "$g" -k id cut.arrows out
column_row 'Parquet, by name Arrow' "$g" -k id other.arrow out
column_row 'a compressed file, by name Arrow' "$g" -k id packed.arrow out
column_row 'any bytes, by name Arrow' "$g" -k id zeros.arrow out
column_row 'an empty file, by name Parquet' "$g" -k id nothing.parquet out
column_row 'an Arrow file, by name Parquet' "$g" -k id other.parquet out
column_row 'an Arrow stream, by name Parquet' "$g" -k id stream.parquet out
column_row 'text as Parquet' "$g" --format parquet -k id fruit.txt out
cp in.u64 in.U64
row 'a name in upper case' "$g" in.U64 out
row 'a name that looks compressed' "$g" fruit.tgz out

# ---- Inputs
row 'a missing input' "$g" missing.txt out
row 'a URL as input' "$g" https://example.com/fruit.txt out
row 'a home folder in quotes as input' "$g" '~/fruit.txt' out
row 'a pattern that no file has as input' "$g" '*.none' out
row 'a folder as input' "$g" said out
mkdir dump.d
: >dump.d/toc.dat
row 'a folder of pg_dump as input' "$g" --format pgdump dump.d out
cp fruit.txt locked.txt
chmod 0 locked.txt
cp shop.csv unseen.csv
chmod 222 unseen.csv
row 'an input that must not be read' in_user "$g" locked.txt -
head -c 1003 in.u64 >odd.u64
row 'a file whose size does not suit its type' "$g" odd.u64 out
row 'a record size that does not suit' "$g" --record-size 7 in.u64 out
row 'standard input twice' "$g" -o out - -
row 'standard input closed' "$g" - out <&-
printf 'fruit.txt\0\0' >names
row 'an empty name in --files0-from' "$g" --files0-from names -o out
printf 'abcdefghijklmnop\n' >long.txt
row 'a line longer than --max-record' "$g" --max-record 8 long.txt out

# ---- Inputs of another kind
gzip -c fruit.txt >fruit.dat
row 'compressed, and the name does not tell' "$g" fruit.dat out
printf -- '-- MySQL dump 10.13\nINSERT INTO t VALUES (1);\n' >mysql.txt
row 'a dump of MySQL as rows' "$g" --format mysql mysql.txt out
printf 'SELECT 1;\n' >any.sql
row 'SQL without a format' "$g" any.sql out
printf -- '--\n-- PostgreSQL database dump\n--\nINSERT INTO t SELECT 1;\n' >inserts.txt
row 'a dump without rows' "$g" --format pgdump inserts.txt out
printf 'copy t from stdin csv;\n2,b\n\\.\n' >copycsv.txt
row 'COPY with options' "$g" --format pgdump copycsv.txt out
printf '[{"id":2},\n{"id":1}]\n' >array.json
row 'a JSON array' "$g" -k id:int array.json out
printf 'id\r2\r1\r' >returns.csv
row 'lines that end with CR alone' "$g" -k id:int returns.csv out
printf '\377\376a\000\n\000' >wide.txt
row 'text in UTF-16' "$g" wide.txt out
printf 'id,"name\n2,b\n1,a"\n' >quote.csv
row 'a header that takes the records' "$g" -k '#1' quote.csv out
printf 'id,name\n' >header.csv
row 'a header without records' "$g" -k id header.csv out

# ---- Records with columns
row 'an unknown column' "$g" -k nmae shop.csv out
row 'a column number that is not there' "$g" -k '#3' shop.csv out
printf 'id,id\n1,2\n' >twins.csv
row 'a column name that several have' "$g" -k id twins.csv out
printf 'id,name\n2,b\nx,a\n' >words.csv
row 'a value that is no number, --strict' "$g" --strict -k id:int words.csv out
printf 'id,name\n2\n' >short.csv
row 'a record that lacks the column, --strict' "$g" --strict -k name short.csv out
printf 'id,name\n2,b\n1,a,x\n' >wide.csv
row 'a record with more columns than the header' "$g" -k id:int wide.csv out
printf 'id,name\n2,"b\nc"d\n' >glued.csv
row 'text after a closing quote, over lines' "$g" -k id:int glued.csv out
printf 'when,paid,note\n23.11.2026,"$1,000",\n24.11.2026,$5,\n' >forms.csv
row 'a key that no value is of' "$g" -k when:timestamp forms.csv out
row 'a key that is null everywhere' "$g" -k note forms.csv out
row 'a key without a type of amounts' "$g" -k paid forms.csv out
printf 'when\n20261123\n20261101\n' >days.csv
row 'days taken for seconds' "$g" -k when:timestamp days.csv out
printf '{"user":{"id":1}}\n' >user.jsonl
row 'a path that no record has' "$g" -k user.idd:int user.jsonl out
printf 'id;name\n2;b\n' >semicolon.csv
row 'another delimiter' "$g" -k name semicolon.csv out
printf 'id,name\n1,"b"x\n' >behind.csv
row 'text behind a closing quote, --strict' "$g" --strict -k name behind.csv out
printf 'id,name\n1,"b\n2,c\n' >open.csv
row 'a quote that is never closed' "$g" -k id open.csv out
printf 'id,title\n3,c\n' >other.csv
row 'inputs with different headers' "$g" -k id -o out shop.csv other.csv
printf '{"id":1}\n{"id":}\n' >bad.jsonl
row 'JSON that is none' "$g" -k id bad.jsonl out
printf '{"id":1}\n{"id":"x' >cut.jsonl
row 'JSON that is cut' "$g" -k id cut.jsonl out

# ---- Compressed inputs
gzip -c fruit.txt >fruit.gz
head -c 20 fruit.gz >cut.gz
row 'a gzip file that is cut' "$g" cut.gz out
row 'a name with .gz that is no gzip' "$g" --decompress gz fruit.txt out
seq 100000 | gzip >damaged.gz
printf '\377\377\377\377' | dd of=damaged.gz bs=1 seek=5000 conv=notrunc status=none
row 'a gzip file that is damaged' "$g" damaged.gz out
row 'an input that expands too far' "$g" --max-expanded 10 fruit.gz out
row 'a codec against the name' "$g" --compress gz fruit.txt out.zst

# ---- Outputs
row 'lines, and an output named for columns' "$g" fruit.txt out.csv
row 'lines with a typed key, and an output named for columns' "$g" -k 1:text fruit.txt out.csv
row 'columns, and an output named for another format' "$g" -k id:int shop.csv out.json
row 'an output named as an archive' "$g" fruit.txt out.zip
row 'an output in a missing folder' "$g" fruit.txt no/such/out
row 'an output that is a folder' "$g" fruit.txt said
echo old >old.txt
row 'an output that exists, --no-clobber' "$g" --no-clobber fruit.txt old.txt
mkdir closed
chmod 555 closed
row 'an output in a folder that cannot be written' in_user "$g" fruit.txt closed/out
row 'standard output closed' bash -c 'exec "$@" >&-' _ "$g" fruit.txt -
row 'standard output full' bash -c 'exec "$@" >/dev/full' _ "$g" fruit.txt -
row 'a limit on the size of files' bash -c 'ulimit -f 1; exec "$@"' _ "$g" in.u64 out
row 'a statistics file that cannot be made' "$g" --stats no/such/stats fruit.txt out
row 'a report in the place of data' "$g" --report shop.csv sorted.txt
row 'a report in a file that must not be read' in_user "$g" --report unseen.csv sorted.txt -
row 'statistics in the place of the output' "$g" --stats out fruit.txt out
row 'a log file that cannot be made' "$g" --log-file closed/no/log fruit.txt out

# ---- Room
mkdir disk
"$bin/gpusort_gen" --type u8 --bytes 2M in.big
printf 'b 1\nb 2\n' >twice.txt
on_disk() { unshare -m bash -c 'mount -t tmpfs -o size=64k none disk && exec "$@"' _ "$@"; }
if on_disk true 2>/dev/null; then
  row 'an output disk that is too small' on_disk "$g" --type u8 --memory 16M in.big disk/out
  row 'a temp folder that is too small' on_disk "$g" --type u8 --memory 1M --temp-dir disk in.big out
  row 'an output disk that fills up' on_disk "$g" --no-space-check --type u8 --memory 16M in.big disk/out
else
  for what in 'an output disk that is too small' 'a temp folder that is too small' 'an output disk that fills up'; do
    unseen "$what" 'mounts are not allowed here'
  done
fi
row 'a temp folder that is missing' "$g" --temp-dir no/such --memory 1M --type u8 in.big out
row 'a temp folder that is a file' "$g" --temp-dir fruit.txt --memory 1M --type u8 in.big out
row 'a temp folder that cannot be written' in_user "$g" --temp-dir closed --memory 1M --type u8 in.big -
row 'memory that is too small' "$g" --memory 1K in.u64 out
row 'a GPU that is not there' "$g" --device gpu:77 fruit.txt out

# ---- Order
row 'lines out of order, --check' "$g" --check fruit.txt
row 'lines out of order, -C' "$g" -C fruit.txt
row 'records out of order, --check' "$g" --check in.u64
row 'equal keys, --check -u' "$g" --check -u -k1,1 twice.txt
row 'rows out of order, --check' "$g" --check -k id:int shop.csv
row 'an input out of order, -m' "$g" -m -o out sorted.txt fruit.txt
row 'rows out of order, -m' "$g" -m -k id:int -o out shop.csv

# ---- Jobs that continue
resume() { "$g" --resume-dir job "$@"; }
row 'a resumable job with an output that is a stream' resume fruit.txt -
row 'a resumable job with standard input' resume - out
row '--status of a folder without a job' "$g" --resume-dir said --status
# A stopped job: the names of its inputs come from a pipe that delivers no more.
mkfifo endless
exec 7<>endless
opened() { [ "$(readlink "/proc/$1/fd/"* | grep -c "/endless\$")" -gt 1 ]; }
# stopped COMMAND...: sends SIGTERM once the command reads from the pipe, and returns its exit code.
stopped() {
  "$@" & local pid=$!
  until opened $pid || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
  kill -TERM $pid
  wait $pid
}
row 'SIGTERM' stopped "$g" --format lines endless out
row 'SIGTERM of a resumable job that has not begun' stopped "$g" --resume-dir job --files0-from endless -o out
"$bin/gpusort_gen" --type u64 --bytes 8M --seed 1 many.u64
row 'a resumable job that runs out of room' bash -c 'ulimit -f 4000; exec "$@"' _ \
  "$g" --resume-dir job --memory 6M --threads 1 many.u64 out.gz
many=(--resume-dir job --memory 6M many.u64)
row 'a resume folder of a job with other options' "$g" -r "${many[@]}" out.gz
row 'a resume folder of a job with another output' "$g" "${many[@]}" out2.gz
row 'a resume folder that is in use' flock job/gpusort.lock "$g" "${many[@]}" out.gz
cp in.u64 other.u64
mv many.u64 many.before
mv other.u64 many.u64
row 'an input that changed since the job began' "$g" "${many[@]}" out.gz
mv many.before many.u64
chmod 777 job
row 'a resume folder that all can write' "$g" "${many[@]}" out.gz
chmod 700 job
printf '\377\377' | dd of=job/gpusort.runs bs=1 seek=70000 conv=notrunc status=none
cp -a job job2
row 'kept runs that are damaged' "$g" "${many[@]}" out.gz
printf x | dd of=job2/gpusort.manifest bs=1 seek=300 conv=notrunc status=none
row 'a manifest that is damaged' "$g" --resume-dir job2 --memory 6M many.u64 out.gz

# ---- On many machines
t=$bin/gpusort_task
printf '1\n\\.\n' >lf.copy
printf '1\r\n\\.\r\n' >crlf.copy
row 'tasks: a stream as input' "$t" runs --slice 0/2 --into tasks -
row 'tasks: merge' "$t" runs --slice 0/2 --into tasks -m sorted.txt
for k in 0 1; do "$t" runs --slice $k/2 --into tasks -u fruit.txt 2>/dev/null; done
row 'tasks: a part before the cut' "$t" part --part 0/2 tasks out
"$t" cut --parts 2 tasks 2>/dev/null
row 'tasks: -u into one file' "$t" part --part 1/2 tasks out
row 'tasks: another compression than that of the job' "$t" part --part 0/2 --compress gz tasks out
for k in 0 1; do "$t" runs --slice $k/2 --into ends --format pgcopy lf.copy crlf.copy 2>/dev/null; done
row 'tasks: ends that differ' "$t" cut --parts 2 ends

"$t" runs --slice 0/1 --into ordered -k 'id:order(listed)' shop.csv 2>/dev/null
printf '2\n' >listed
row 'tasks: an order that changed' "$t" runs --slice 0/1 --into ordered -k 'id:order(listed)' shop.csv

# ---- As sort
mkdir fast
ln -s "$g" fast/sort
s=$work/fast/sort
# The real sort must print the same message, if there is one.
sort_row() {
  row "$@"
  local code=0 real=("${@:2}") i
  for i in "${!real[@]}"; do [ "${real[i]}" != "$s" ] || real[i]=sort; done
  "${real[@]}" >said/out 2>said/real || code=$?
  printf '%s\n%s\n' "$1" $code >said/real.row
  cmp -s said/real said/$rows.err && cmp -s said/real.row said/$rows.row || fail "$1: sort says: $(cat said/real)"
}
command -v sort >/dev/null || sort_row() { row "$@"; }
sort_row 'sort: a missing input' "$s" missing.txt
sort_row 'sort: a folder as input' "$s" said
sort_row 'sort: an input that must not be read' in_user "$s" locked.txt
sort_row 'sort: an unknown option' "$s" --frobnicate
sort_row 'sort: an ambiguous option' "$s" --r fruit.txt
sort_row 'sort: a letter that is no option' "$s" -Q fruit.txt
sort_row 'sort: field zero' "$s" -k 0 fruit.txt
sort_row 'sort: a key that is none' "$s" -k 2,x fruit.txt
sort_row 'sort: a tab of two characters' "$s" -t ab fruit.txt
sort_row 'sort: a size that is none' "$s" -S lots fruit.txt
sort_row 'sort: orderings that exclude each other' "$s" -nM fruit.txt
sort_row 'sort: out of order' "$s" -c fruit.txt
sort_row 'sort: two inputs with -c' "$s" -c fruit.txt sorted.txt
sort_row 'sort: an output in a missing folder' "$s" -o no/such/out fruit.txt
row 'sort: standard output full' bash -c 'exec "$@" >/dev/full' _ "$s" fruit.txt
sort_row 'sort: an empty name in --files0-from' "$s" --files0-from=names

python3 - "$src/tests/MESSAGES.md" "$work" "$rows" "${GPUSORT_MESSAGES-}" <<'PY'
import os, re, sys

path, work, rows, mode = sys.argv[1:]
WILD = {"{N}": r"[0-9]+", "{SIZE}": r"[0-9.]+( [KMGT]iB|[KMGT])", "{HOST}": r"\S+", "{WHY}": r".+"}


def pattern(text):
    parts = re.split("(%s)" % "|".join(map(re.escape, WILD)), text)
    return re.compile("".join(WILD.get(part) or re.escape(part) for part in parts) + r"\Z")


def cell(text):  # of a table: bars are escaped, lines end with <br>
    return "<br>".join("`` %s ``" % line for line in text.replace("|", "\\|").split("\n")) if text else "(nothing)"


def text_of(cell):
    lines = [] if cell == "(nothing)" else [line[3:-3] for line in cell.split("<br>")]
    return "\n".join(lines).replace("\\|", "|")


with open(path, encoding="utf-8") as file:
    head, _, body = file.read().partition("| --- | --- | --- |\n")
known = {}
for line in body.splitlines():
    name, code, message = re.fullmatch(r"\| (.*?) \| (\d+) \| (.*) \|", line).groups()
    if name in known:
        sys.exit(f"FAIL: {name}: two rows")
    known[name] = int(code), text_of(message)

said, bad, table = set(), 0, []
for row in range(1, int(rows) + 1):
    with open(f"said/{row}.row") as file:
        name, code = file.read().splitlines()
    with open(f"said/{row}.err", errors="surrogateescape") as file:
        message = file.read().replace(work, "DIR")
    # This warning appears only if TMPDIR is a tmpfs.
    message = re.sub(r"gpusort: warning: the temp directory (DIR|job) is in memory .*\n", "", message).rstrip("\n")
    if name in said:
        sys.exit(f"FAIL: {name}: brought about twice")
    said.add(name)
    want_code, want = known.get(name, (None, ""))
    same = want_code == int(code) and pattern(want).match(message)
    table.append(f"| {name} | {code} | {cell(want if same else message)} |")
    if not same and mode != "write":
        bad += 1
        print(f"FAIL: {name}\n  exit {code}: {message}\n  instead of {want_code}: {want}", file=sys.stderr)
if os.path.exists("said/unseen"):
    with open("said/unseen") as file:
        for name in file.read().splitlines():
            said.add(name)
            if name in known:
                table.append(f"| {name} | {known[name][0]} | {cell(known[name][1])} |")
if mode == "write":
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + "| --- | --- | --- |\n" + "\n".join(table) + "\n")
for name in sorted(set(known) - said) if mode != "write" else []:
    bad += 1
    print(f"FAIL: {name}: a row that nothing brings about", file=sys.stderr)
sys.exit(bad > 0)
PY
echo "messages: $rows situations"
