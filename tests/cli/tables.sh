# Records with columns: CSV, TSV and JSON Lines as Python's csv and json modules read them, in all tiers of memory.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v python3 >/dev/null || { echo "NOT TESTED: there is no python3"; exit 77; }

# make.py FORMAT RECORDS SEED FILE writes random records.
#
# check.py FORMAT KEYS IN OUT sorts IN stably by KEYS (column:type:desc, ...) with the values that the module reads, and
# compares OUT with the result.
cat >tables.py <<'PY'
import csv, datetime, decimal, io, json, random, sys

def make(kind, count, seed):
    r = random.Random(int(seed))
    def text():
        t = ''.join(r.choice('ab ,;"\n\t\'xyz') for _ in range(r.randrange(12)))
        return r.choice([t, t, 'name%d' % r.randrange(50), 'x' * r.randrange(300)])
    def number():
        return r.choice(['%d' % r.randrange(-99, 99), '%d.%d' % (r.randrange(99), r.randrange(1000)),
                         str(r.randrange(10 ** 40)), '-0', '1e3', '007', ''])
    def time():
        t = datetime.datetime(1960, 1, 1) + datetime.timedelta(seconds=r.randrange(3 * 10 ** 9))
        zone = r.choice(['Z', '+00:00', '+05:30', '-0800'])
        return r.choice(['', t.isoformat() + zone, t.isoformat(' ') + '.%d' % r.randrange(100) + zone])
    rows = [[str(r.randrange(count)), text(), time(), number()] for _ in range(count)]
    if kind == 'jsonl':
        out = []
        for i, n, t, a in rows:
            value = {'id': int(i), 'in': {'name': n, 'list': [t or None]}}
            line = json.dumps(value, ensure_ascii=r.random() < .5)
            out.append(line[:-1] + (',"amount":' + str(decimal.Decimal(a)) + '}' if a not in ('', '007') else '}'))
        return '\n'.join(out) + '\n'
    names = ['id', 'the, name', 'created_at', 'amount']
    if kind == 'tsv':  # no quotes: no tabs and newlines in fields
        rows = [[field.replace('\t', ' ').replace('\n', ' ') for field in row] for row in rows]
        return ''.join('\t'.join(row) + '\n' for row in [names] + rows)
    out = io.StringIO()
    w = csv.writer(out, lineterminator='\n')
    w.writerow(names)
    w.writerows(rows)
    return out.getvalue()

def instant(t):
    t = t.replace('Z', '+00:00').replace(' ', 'T')
    base, zone = t[:19], t[19:]
    fraction = ''
    if zone[0] == '.':
        fraction, zone = zone[1:len(zone) - len(zone.lstrip('.0123456789'))], zone.lstrip('.0123456789')
    sign = -1 if zone[0] == '-' else 1
    zone = zone[1:].replace(':', '')
    seconds = (datetime.datetime.fromisoformat(base) - datetime.datetime(1970, 1, 1)).total_seconds()
    return decimal.Decimal(int(seconds) - sign * (int(zone[:2]) * 3600 + int(zone[2:]) * 60)) + decimal.Decimal('0.' + (fraction or '0'))

def records(kind, text):
    if kind == 'jsonl':
        return '', [(line + '\n', json.loads(line, parse_float=decimal.Decimal)) for line in text.splitlines()]
    # The module does not say which bytes it has read, so the reads are watched.
    lines, read = text.split('\n'), []
    lines = [l + '\n' for l in lines[:-1]]
    def watched():
        for l in lines:
            read.append(l)
            yield l
    out = []
    rows = ((read.append(l), l[:-1].split('\t'))[1] for l in lines) if kind == 'tsv' else csv.reader(watched(), strict=True)
    for row in rows:
        out.append((''.join(read), row))
        read.clear()
    names = out[0][1]
    return out[0][0], [(raw, dict(zip(names, row))) for raw, row in out[1:]]

def value(kind, row, column, type):
    if kind == 'jsonl':
        v = row
        for part in column.replace('[0]', '.0').split('.'):
            v = v[int(part)] if isinstance(v, list) else v.get(part) if v is not None else None
        if v is None: return None
        if type in ('int', 'decimal'): return decimal.Decimal(v)
        return instant(v) if type == 'timestamp' else str(v).encode()
    v = row[column]
    if v == '' and (type != 'text'): return None
    if type == 'text': return v.encode()
    if type == 'nocase': return v.lower().encode()
    return instant(v) if type == 'timestamp' else decimal.Decimal(v)

def check(kind, keys, source, sorted_, mode):
    decimal.getcontext().prec = 100
    header, rows = records(kind, open(source, newline='').read())
    for key in reversed([k.split(':') for k in keys.split('|')]):
        desc = 'desc' in key
        if mode == 'reverse': desc = not desc
        def of(pair):
            v = value(kind, pair[1], key[0], key[1])
            if v == b'' and (kind == 'tsv' or kind == 'csv' and '""' not in pair[0]): v = None  # no quotes: null
            return v
        nulls = [p for p in rows if of(p) is None]
        rest = [p for p in rows if of(p) is not None]
        rest.sort(key=of, reverse=desc)
        if desc:  # stable, although in reverse
            groups, last = [], object()
            for p in sorted((p for p in rows if of(p) is not None), key=of):
                if of(p) != last: groups.append([]); last = of(p)
                groups[-1].append(p)
            rest = [p for group in reversed(groups) for p in group]
        rows = nulls + rest if desc else rest + nulls
    if mode == 'unique':
        kept, last = [], None
        for p in rows:
            k = [value(kind, p[1], *key.split(':')[:2]) for key in keys.split('|')]
            if k != last: kept.append(p)
            last = k
        rows = kept
    want = header + ''.join(raw for raw, _ in rows)
    got = open(sorted_, newline='').read()
    if want != got:
        sys.exit('differs from %s by %s: %r...' % (source, keys, next((a, b) for a, b in zip(want.split('\n'), got.split('\n')) if a != b)))

if sys.argv[1] == 'make':
    open(sys.argv[5], 'w', newline='').write(make(sys.argv[2], int(sys.argv[3]), sys.argv[4]))
else:
    check(*sys.argv[2:6], sys.argv[6] if len(sys.argv) > 6 else '')
PY
py() { python3 tables.py "$@" || fail "python3 tables.py $*"; }

plans=("" "--memory 24M --batch-bytes 60000 --fan-in 3" "--memory 16M --batch-bytes 9000 --block-size 8K --threads 1")
round=0
for kind in csv tsv jsonl; do
  py make $kind $(few && echo 1200 || echo 3000) 7 in.$kind
  case $kind in
    jsonl) keys=("id:int" "amount:decimal:desc|id:int" "in.list[0]:timestamp|in.name:text:desc") ;;
    *) keys=("id:int" "created_at:timestamp:desc|amount:decimal" "the, name:nocase|id:int:desc" "amount:decimal|created_at:timestamp") ;;
  esac
  for key in "${keys[@]}"; do
    args=() round=$((round + 1))
    IFS='|' read -ra parts <<<"$key"
    for part in "${parts[@]}"; do args+=(-k "$part"); done
    for plan in "${plans[@]}"; do
      # If a part of the cases is enough: another plan for each key.
      if few && [ "$plan" != "${plans[round % 3]}" ]; then continue; fi
      expect 0 "$g" "${args[@]}" $plan in.$kind out.$kind
      py check $kind "$key" in.$kind out.$kind
    done
    expect 0 "$g" --check "${args[@]}" out.$kind
    expect 0 "$g" -r "${args[@]}" --verify-output in.$kind back.$kind
    py check $kind "$key" in.$kind back.$kind reverse
    expect 0 "$g" -u "${args[@]}" --format $kind - once.$kind <in.$kind
    py check $kind "$key" in.$kind once.$kind unique
    "$g" "${args[@]}" --top 40 in.$kind top.$kind 2>err || fail "--top: $(cat err)"
    cmp -s <(head -c "$(wc -c <top.$kind)" out.$kind) top.$kind || fail "--top of $kind by $key"
    # Two sorted halves are merged, and one header is kept.
    expect 0 "$g" -m "${args[@]}" -o merged.$kind out.$kind once.$kind
    expect 0 "$g" "${args[@]}" -o sorted.$kind out.$kind once.$kind
    same merged.$kind sorted.$kind
  done
  expect 3 "$g" -m -k id:int -o merged.$kind in.$kind
  says 'not sorted: record'
  gzip -k in.$kind
  expect 0 "$g" "${args[@]}" in.$kind.gz out.$kind.gz
  gzip -dc out.$kind.gz | cmp -s - out.$kind || fail "compressed $kind"
  expect 1 "$g" --check "${args[@]}" in.$kind
done
nothing_left

# Invalid inputs.
printf 'id,n\n1,a\n2,"b\n3,c\n' >open.csv
expect 3 "$g" -k id:int open.csv got.csv
says 'open.csv: record 2, line 3, byte 9: a quote is opened in this record and not closed'
printf 'id,n\n1,a\nx,b\n' >bad.csv
expect 0 "$g" -k id:int bad.csv got.csv
says "column 'id': 1 value is no int and ordered as null, the first in record 2: 'x'"
printf 'id,n\n1,a\n2,b\n3,c\n' >good.csv
expect 0 "$g" -k id:int -o got.csv good.csv bad.csv bad.csv
says "2 values are no int and ordered as null, the first in record 2 of bad.csv: 'x'"
expect 3 "$g" --strict -k id:int bad.csv kept.csv
says "bad.csv: record 2, line 3, byte 9: column 'id': 'x' is no int"
[ ! -e kept.csv ] || fail "an output of a job that failed"
printf '{"a":1}\n\n{"a":]}\n' >bad.jsonl
expect 3 "$g" -k a bad.jsonl got.jsonl
says 'bad.jsonl: record 3, line 3, byte 14: this is not JSON'
expect 2 "$g" -k idd:int bad.csv got.csv
says "there is no column 'idd' (the header has 2 columns: 'id', 'n')"
expect 2 "$g" -k idd:int --format csv - got.csv <bad.csv
says "there is no column 'idd'"
printf 'id,m\n1,a\n' >other.csv
expect 3 "$g" -k id:int -o got.csv bad.csv other.csv
says 'the headers of bad.csv and other.csv differ'
printf 'id,n\n10,a\n9,b\n' >untyped.csv
expect 0 "$g" -k id untyped.csv got.csv
says 'give -k id:int'
# Keys of sort, and -t, mean lines.
printf 'b,1\na,2\n' >lines.csv
expect 0 "$g" -t, -k2,2n lines.csv got.csv
same got.csv lines.csv
printf 'b,1\na,2\n' | sort >want.csv
expect 0 "$g" -k1,1 lines.csv got.csv
same got.csv want.csv
# A byte order mark, CR LF, comments, no header, a last record without its newline.
printf '\357\273\277id;n\r\n#c\r\n2;"x;\r\ny"\r\n10;b' >mark.csv
expect 0 "$g" --delimiter ';' --comment '#' -k id:int:desc mark.csv got.csv
printf '\357\273\277id;n\r\n10;b\r\n#c\r\n2;"x;\r\ny"\r\n' >want.csv
same got.csv want.csv
: >empty.csv
expect 0 "$g" -k id:int empty.csv got.csv
same got.csv empty.csv
{ printf 'id,n\n1,"'; head -c 3000000 /dev/zero; } >endless.csv
expect 3 "$g" -k id --max-record 1M --memory 32M endless.csv got.csv
says 'longer records: --max-record'
# A last record without its newline gets that of the header, wherever blocks are cut. A header without its newline is a
# header.
for ending in '' '\r'; do
  printf "id,n$ending\\n3,c$ending\\n1,a$ending\\n2,b" >last.csv
  printf "id,n$ending\\n1,a$ending\\n2,b$ending\\n3,c$ending\\n" >want.csv
  gzip -kf last.csv
  expect 0 "$g" -k id:int --verify-output last.csv got.csv
  same got.csv want.csv
  expect 0 "$g" -k id:int --decompress gz last.csv.gz got.csv
  same got.csv want.csv
  expect 0 "$g" -k id:int --format csv - got.csv <last.csv
  same got.csv want.csv
done
printf 'id,n\n' >want.csv
printf 'id,n' >header.csv
expect 0 "$g" -k id:int --verify-output header.csv got.csv
same got.csv want.csv
expect 0 "$g" -k id:int --verify-output -o got.csv header.csv want.csv header.csv
same got.csv want.csv
expect 2 "$g" -k nn header.csv kept.csv
expect 2 "$g" -k nn --format csv - kept.csv <header.csv
says "there is no column 'nn' (the header has 2 columns: 'n', 'id')"
for only in '\357\273\277' '#c\n' ''; do
  printf "$only" >only.csv
  expect 0 "$g" -k id:int --comment '#' --verify-output only.csv got.csv
  same got.csv only.csv
  expect 0 "$g" -k id:int --comment '#' --check only.csv
done
# Comments after the last record stay at the end, for all inputs.
printf 'id,n\n3,c\n#x\n1,a\n# end' >one.csv
printf 'id,n\n2,b\n# end2\n' >two.csv
printf 'id,n\n#x\n1,a\n2,b\n3,c\n# end\n# end2\n' >want.csv
expect 0 "$g" -k id:int --comment '#' --verify-output -o got.csv one.csv two.csv
same got.csv want.csv
expect 0 "$g" -k id:int --comment '#' --verify-output -o got.csv.gz one.csv two.csv
gzip -dc got.csv.gz | cmp -s - want.csv || fail "comments of a compressed output"
expect 0 "$g" -k id:int --comment '#' --check -u want.csv
printf 'id,n\n#x\n1,a\n# end\n# end2\n' >want.csv
expect 0 "$g" -k id:int --comment '#' --top 1 -o got.csv one.csv two.csv
same got.csv want.csv
# Headers that do not end, and long headers.
printf 'id,"n\n1,a\n' >open.csv
expect 3 "$g" -k id open.csv kept.csv
says 'open.csv: byte 0 of its header: a quote is opened in this record and not closed'
truncate -s 1G open.csv
expect 3 "$g" -k id --memory 32M open.csv kept.csv
says 'open.csv: byte 0 of its header: a quote is opened in this record and not closed'
{ printf 'id,'; head -c 1000000 /dev/zero; } >open.csv
expect 3 "$g" -k id --memory 4M open.csv kept.csv
says 'open.csv: its header is longer than 512.0 KiB: it has one line of 976.6 KiB; give at least --memory 7.7M'
# 100,000 comments or columns: if memory allows, they are a header like any other. Otherwise the message says how much
# memory is enough.
{ seq -f '# comment %.0f' 100000; printf 'id,name\n3,c\n1,a\n2,b\n'; } >comments.csv
{ head -n 100001 comments.csv; printf '1,a\n2,b\n3,c\n'; } >want.csv
commas=$(head -c 99999 /dev/zero | tr '\0' ,)
{ printf id; seq -f ',column%.0f' 99999 | tr -d '\n'; for id in 3 1 2; do printf '\n%s' "$id$commas"; done; echo; } >columns.csv
{ head -n 1 columns.csv; tail -n +2 columns.csv | sort; } >want2.csv
for file in comments:want columns:want2; do
  expect 0 "$g" -k id:int --comment '#' --memory 24M ${file%:*}.csv got.csv
  same ${file#*:}.csv got.csv
  expect 3 "$g" -k id:int --comment '#' --memory 8M ${file%:*}.csv kept.csv
  says "${file%:*}.csv: its header is longer than 1.0 MiB: it has .*; give at least --memory [0-9.]*M"
  expect 0 "$g" -k id:int --comment '#' --memory "$(sed 's/.*--memory \([0-9.]*M\).*/\1/' err)" ${file%:*}.csv got.csv
  same ${file#*:}.csv got.csv
done
expect 3 "$g" --format csv -k id:int --comment '#' --memory 24M - kept.csv <comments.csv
says 'its header is longer than 384.0 KiB: it has .*; give .* --memory'
# A byte order mark before one header only makes no difference.
mark=$'\357\273\277'
printf '%sid,name\n3,c\n1,a\n' "$mark" >marked.csv
printf 'id,name\n2,b\n' >plain.csv
printf '%sid,name\n1,a\n2,b\n3,c\n' "$mark" >want.csv
tail -c +4 want.csv >want2.csv
expect 0 "$g" -k id:int -o got.csv marked.csv plain.csv
same want.csv got.csv
expect 0 "$g" -k name -o got.csv plain.csv marked.csv
same want2.csv got.csv
"$g" --format csv -k id:int -o got.csv marked.csv - <plain.csv || fail "a stream without a mark"
same want.csv got.csv
printf '%sid,name\n1,a\n3,c\n' "$mark" >marked.csv
expect 0 "$g" -m -k id:int -o got.csv plain.csv marked.csv
same want2.csv got.csv
# A text whose bytes are all encoded as two bytes, and several keys on it.
{ printf 'a,b\n"'; head -c 300000 /dev/zero | tr '\0' '\n'; printf '",1\n'; } >wide.csv
expect 0 "$g" -k a -k a:nocase --verify-output wide.csv got.csv
same got.csv wide.csv
keys=()
for i in $(seq 64); do keys+=(-k "a:nocase"); done
expect 3 "$g" "${keys[@]}" wide.csv kept.csv
says 'wide.csv: record 1, line 2, byte 4: with its keys it takes more than .* bytes: allow it with --max-record'
expect 0 "$g" "${keys[@]}" --max-record 24M wide.csv got.csv
same got.csv wide.csv
expect 2 "$g" "${keys[@]}" -k a wide.csv kept.csv
says 'there are 65 keys; at most 64'
# The extension decides the format in upper and lower case. The format comes too late for names from a list.
printf 'id,n\n10,a\n9,b\n' >UPPER.CSV
expect 0 "$g" -k id:int UPPER.CSV got.csv
[ "$(tail -n 1 got.csv)" = 10,a ] || fail "an extension in capitals"
printf 'UPPER.CSV\0' >names
expect 2 "$g" --files0-from names -o kept.csv
says "the name 'UPPER.CSV' means records with columns: give --format csv, or --format lines"
expect 2 "$g" --files0-from names -k id:int -o kept.csv
says 'for columns by name give --format'
expect 0 "$g" --files0-from names --format csv -k id:int -o want.csv
same want.csv got.csv
# Binary COPY: a file ends with its trailer, also without tuples. All files must have the same number of fields.
python3 - <<'PY'
import struct
def tuple_(*values): return struct.pack('>h', len(values)) + b''.join(struct.pack('>i', len(v)) + v for v in values)
header, end = b'PGCOPY\n\xff\r\n\0' + bytes(8), b'\xff\xff'
rows = [tuple_(struct.pack('>i', n), b'\n' * n) for n in (3, 1, 2)]
for name, body in (('rows', b''.join(rows) + end), ('none', end), ('cut', b''), ('other', tuple_(bytes(4)) + end),
                   ('more', b''.join(rows) + end + b'x'), ('bad', rows[0] + rows[1] + tuple_(b'') + end)):
    open(name + '.pgc', 'wb').write(header + body)
open('want.pgc', 'wb').write(header + b''.join(sorted(rows * 2)) + end)
PY
expect 0 "$g" --format pgcopy-binary -k '#1:int' --verify-output -o got.pgc rows.pgc none.pgc rows.pgc
same got.pgc want.pgc
expect 0 "$g" --format pgcopy-binary -k '#1:int' --verify-output none.pgc got.pgc
same got.pgc none.pgc
for inputs in cut.pgc 'rows.pgc cut.pgc' 'cut.pgc rows.pgc'; do
  expect 3 "$g" --format pgcopy-binary -k '#1:int' -o kept.pgc $inputs
  says 'cut.pgc: record 1, byte 19: the trailer is missing'
done
expect 3 "$g" --format pgcopy-binary -k '#1:int' - kept.pgc <cut.pgc
expect 3 "$g" --format pgcopy-binary -k '#1:int' --check cut.pgc
expect 3 "$g" --format pgcopy-binary -k '#1:int' -o kept.pgc rows.pgc other.pgc
says 'other.pgc: record 1, byte 19: a tuple of 1 fields after a tuple of 2'
expect 3 "$g" --format pgcopy-binary -k '#1:int' more.pgc kept.pgc
says 'more.pgc: record 4, byte 69: there are more bytes after the trailer'
expect 3 "$g" --format pgcopy-binary -k '#1:int' bad.pgc kept.pgc
says 'bad.pgc: record 3, byte 51: a tuple of 1 fields after a tuple of 2'
[ ! -e kept.pgc ] || fail "an output of a job that failed"
# Options without a meaning for a format.
for options in '--format jsonl --null x' '--format pgcopy-binary --header 1' '--format pgcopy-binary --thousands ,' \
  '--format pgdump --delimiter ,' '--format tsv -t ,' '--format csv --type u32' '--format pgcopy --quote x'; do
  expect 2 "$g" $options in.csv kept.csv
done
[ ! -e kept.csv ] || fail "an output of a job that failed"
# Fields of the maximum length of a record, and a million columns.
python3 - <<'PY'
open('wide.csv', 'w').write(','.join('c%d' % i for i in range(1000000)) + '\n' + ','.join('9' * 1000000) + '\n' + ','.join('1' * 1000000) + '\n')
open('long.csv', 'w').write('a,b\n' + ''.join('%s,"%s\n"\n' % (c * 1000000, c) for c in 'cab'))
PY
expect 0 "$g" -k c999999:int --memory 512M wide.csv got.csv
[ "$(tail -n +2 got.csv | head -c 3)" = 1,1 ] || fail "a million columns"
keys=()
for i in $(seq 64); do keys+=(-k "c$((i * 10000)):int"); done
expect 0 "$g" "${keys[@]}" --memory 512M wide.csv got.csv
[ "$(tail -n +2 got.csv | head -c 3)" = 1,1 ] || fail "a million columns, 64 keys"
expect 2 "$g" -k c1000000 --memory 512M wide.csv kept.csv
says "there is no column 'c1000000' (the header has 1000000 columns: 'c100000', "
expect 0 "$g" -k a --memory 64M long.csv got.csv
[ "$(cut -c 1 got.csv | tr -d '\n"')" = aabc ] || fail "long fields: $(cut -c 1 got.csv | tr -d '\n')"
nothing_left
echo "tables: ok"

# A row out of order is named by record, line and byte, wherever pieces and blocks end, and in a pipe.
"$bin/gpusort_gen" --type orders-csv --bytes 2M placed.csv
python3 - "$g" <<'PY'
import random, subprocess, sys

data = open("placed.csv", "rb").read()
rows, begin, quoted = [], 0, False
for i, byte in enumerate(data):
    quoted ^= byte == ord('"')
    if byte == ord("\n") and not quoted:
        rows.append(data[begin:i + 1])
        begin = i + 1
head, *rows = rows
for bad in [1, len(rows) - 1, *random.sample(range(1, len(rows)), 3)]:
    for value, unique in ((b"-1", False), (rows[bad - 1].split(b",")[0], True)):
        before = head + b"".join(rows[:bad])
        with open("bad.csv", "wb") as file:
            file.write(before + value + b"," + rows[bad].split(b",", 1)[1] + b"".join(rows[bad + 1:]))
        place = f"record {bad + 1}, line {before.count(10) + 1}, byte {len(before)} sorts before "
        place += "or equals " if unique else ""
        wordings = ["--check -u bad.csv"] if unique else ["--check bad.csv", "--check -", "-m -o out.csv bad.csv"]
        for words in wordings:
            with open("bad.csv") as file:
                said = subprocess.run([sys.argv[1], "--format", "csv", "-k", "id:int", *words.split()], stdin=file,
                                      capture_output=True, text=True).stderr
            assert ": not sorted: " + place + "the previous one" in said, (words, place, said)
PY
