#!/usr/bin/env bash
# Typed keys of lines: fields by number and matches of regular expressions, in all kinds of jobs, compared with Python.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

cat >make.py <<'END'
"""Writes lines with fields: make.py COUNT SEED SEPARATOR END NAME."""
import random
import sys

count, draw = int(sys.argv[1]), random.Random(int(sys.argv[2]))
separator, end = sys.argv[3], sys.argv[4].encode().decode("unicode_escape")

def value():
    return draw.choice([
        lambda: str(draw.randrange(-50, 50)), lambda: f"{draw.randrange(-99, 99) / 10}", lambda: "",
        lambda: draw.choice(["x", "yy", "é", "Z", "a:b"]), lambda: f"rt={draw.randrange(300)}",
        lambda: f"2026-0{draw.randrange(1, 10)}-{draw.randrange(10, 29)}T0{draw.randrange(10)}:00:00Z",
        lambda: f"10.0.{draw.randrange(9)}.{draw.randrange(300)}"])()

with open(sys.argv[5], "w", newline="") as out:
    for _ in range(count):
        fields = [value() for _ in range(draw.randrange(0, 7))]
        if separator == " ":
            line = draw.choice(["", " "]) + "".join(f + draw.choice([" ", "\t", "  "]) for f in fields)
        else:
            line = separator.join(fields)
        out.write(line + end)
END

cat >order.py <<'END'
"""Sorts lines as the manual page says: order.py IN OUT SEPARATOR END KEY... A KEY is fields or ~RE, a type, a direction
and the place of nulls, with bars between them."""
import datetime
import decimal
import ipaddress
import re
import sys

separator, end = sys.argv[3].encode(), sys.argv[4].encode().decode("unicode_escape").encode()

def text_of(line, place):
    if place.startswith("~"):
        found = re.search(place[1:].encode(), line)
        return found and (found.group(1) if found.re.groups else found.group())
    first, _, last = place.partition(",")
    first, last = int(first), int(last or first)
    if separator != b" ":
        fields = line.split(separator)
        return separator.join(fields[first - 1:last]) if first <= len(fields) else None
    words = list(re.finditer(rb"[^ \t\n]+", line))
    return line[words[first - 1].start():words[min(last, len(words)) - 1].end()] if first <= len(words) else None

def value_of(text, kind):
    if not text:
        return None
    if kind == "text":
        return text
    text = text.decode().strip()
    try:
        if kind == "int":
            return int(text) if re.fullmatch("[+-]?[0-9]+", text) else None
        if kind == "decimal":
            return decimal.Decimal(text) if re.fullmatch(r"[+-]?[0-9.]+", text) else None
        if kind == "timestamp":
            if re.fullmatch("[+-]?[0-9.]+", text):  # seconds since 1970
                return float(text)
            return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
        return int(ipaddress.IPv4Address(text))
    except (ValueError, decimal.InvalidOperation):
        return None

class Reverse:
    def __init__(self, value):
        self.value = value
    def __lt__(self, other):
        return other.value < self.value
    def __eq__(self, other):
        return other.value == self.value

def part(line, key):
    place, kind, direction, nulls = key.split("|")
    value = value_of(text_of(line, place), kind)
    first = nulls == "nulls-first" or (nulls == "" and direction == "desc")
    if value is None:
        return (0 if first else 2,)
    return (1, Reverse(value) if direction == "desc" else value)

data = open(sys.argv[1], "rb").read()
lines = [line + end for line in data.split(end)]
lines = lines[:-1] if data.endswith(end) or not data else lines
open(sys.argv[2], "wb").write(b"".join(sorted(lines, key=lambda l: [part(l[:-len(end)], k) for k in sys.argv[5:]])))
END

# compare IN SEPARATOR END KEY...: sorts IN by the keys, which have the form of order.py, in several ways, or in one of
# them in turn if a part of the cases is enough.
turns=0
compare() {
  local in=$1 separator=$2 end=$3 key options=(--force-format) keys=()
  shift 3
  python3 order.py "$in" expected "$separator" "$end" "$@"
  [ "$separator" = ' ' ] || options+=(-t "$separator")
  [ "$end" != '\0' ] || options+=(-z)
  for key in "$@"; do keys+=(-k "$(sed 's/||*/:/g; s/:$//' <<<"$key")"); done
  local at=0
  ((++turns))
  for more in '' '--memory 16M --batch-bytes 64K --fan-in 2 --device cpu' '--threads 1 --memory 24M'; do
    if few && ((turns % 3 != at++ % 3)); then continue; fi
    # shellcheck disable=SC2086
    "$g" "${options[@]}" "${keys[@]}" $more -o out "$in" 2>err || fail "$* $more: $(cat err)"
    cmp -s out expected || fail "$separator $* $more: another order than Python's"
  done
  "$g" "${options[@]}" "${keys[@]}" <"$in" >piped 2>err
  same piped expected
  "$g" "${options[@]}" "${keys[@]}" --check expected 2>err || fail "$*: $(cat err)"
}

count=4000
few && count=1500
seed=0
for separator in , ' ' ';'; do
  for end in '\n' '\0' '\r\n'; do
    seed=$((seed + 1))
    python3 make.py $count $seed "$separator" "$end" in.txt
    [ $seed != 4 ] || printf '%s' '1,2,3' >>in.txt
    compare in.txt "$separator" "$end" '2|int||' '1|text||'
    compare in.txt "$separator" "$end" '3|decimal|desc|' '1,2|text|desc|nulls-last'
    compare in.txt "$separator" "$end" '~rt=([0-9]+)|int||nulls-first' '~^[a-z]+|text||'
    compare in.txt "$separator" "$end" '2|timestamp||' '~(10[.]0[.][0-9]+[.][0-9]+)|ip|desc|'
    compare in.txt "$separator" "$end" '~a:b|text||nulls-last' '4,5|text||'
    compare in.txt "$separator" "$end" '~x(y)?|text||' '9|int||' '1|int|desc|nulls-first'
    turns=$((turns + 1))  # another way for each of these keys
  done
done

# Other jobs. The order of equal keys is that of the input.
python3 make.py $count 99 , '\n' in.txt
python3 order.py in.txt sorted , '\n' '2|int||' '~rt=([0-9]+)|int|desc|'
keys=(-t, -k 2:int -k '~rt=([0-9]+):int:desc')
"$g" "${keys[@]}" -s -o out in.txt 2>err
same out sorted
"$g" "${keys[@]}" -r -o reversed in.txt 2>err
python3 order.py in.txt expected , '\n' '2|int|desc|' '~rt=([0-9]+)|int||nulls-last'
same reversed expected
"$g" "${keys[@]}" --top 20 -o top in.txt 2>err
head -n 20 sorted | cmp - top || fail '--top'
"$g" "${keys[@]}" --resume-dir state -o out in.txt 2>err
same out sorted
"$g" "${keys[@]}" --verify-output --parallel 2 -o out in.txt 2>err
same out sorted
"$g" "${keys[@]}" --split 3 -o part in.txt 2>err
cat part-?.txt >out
same out sorted
grep -q '"format": "lines"' part.manifest.json || fail 'the manifest does not say that the parts are lines'
gzip -c in.txt >in.txt.gz
"$g" "${keys[@]}" -o out.gz in.txt.gz 2>err
gzip -dc out.gz | cmp - sorted || fail 'compressed'
head -n 1000 in.txt | "$g" "${keys[@]}" -o a - 2>err
tail -n +1001 in.txt | "$g" "${keys[@]}" -o b - 2>err
"$g" "${keys[@]}" -m -o out a b 2>err
same out sorted
"$g" -t, -k 2:int -u -o out in.txt 2>err
python3 - <<'END'
lines = open("in.txt").read().splitlines()
seen = {}
for line in lines:
    fields = line.split(",")
    text = fields[1] if len(fields) > 1 else ""
    value = int(text) if text.lstrip("-").isdigit() else None
    seen.setdefault(value, line)
expected = [seen[v] for v in sorted(v for v in seen if v is not None)] + ([seen[None]] if None in seen else [])
assert open("out").read().splitlines() == expected
END
"$g" "${keys[@]}" --header 3 -o out in.txt 2>err
head -n 3 in.txt | cmp -n "$(head -n 3 in.txt | wc -c)" - out || fail '--header'
"$g" "${keys[@]}" --explain in.txt | grep 'lines, key 2:int, key ~rt=' >/dev/null || fail '--explain does not say the keys'

# Tasks of many processes.
for k in 0 1 2; do "$bin/gpusort_task" runs --slice $k/3 --into job "${keys[@]}" in.txt 2>err; done
"$bin/gpusort_task" cut --parts 2 job 2>err
for k in 0 1; do "$bin/gpusort_task" part --part $k/2 job tasks.out 2>err || fail "$(cat err)"; done
"$bin/gpusort_task" prove --parts 2 job tasks.out 2>err || fail "$(cat err)"
same tasks.out sorted

# The forms of keys, and what is refused.
printf 'b x=9\na x=10\nc\n' >small
"$g" -k '~x=([0-9]+):int' -o out small 2>err
says "1 record does not match '~x=(\[0-9\]+)' and is ordered as null"
printf 'b x=9\na x=10\nc\n' | cmp - out
"$g" -k '~x=([0-9]+)' -o out small 2>err  # text without a type
printf 'a x=10\nb x=9\nc\n' | cmp - out
"$g" -k '~(?P<id>[a-z]):text:desc' -o out small 2>err
printf 'c\nb x=9\na x=10\n' | cmp - out
"$g" -k 2:text small >out 2>err
says '1 record has no field 2 and is ordered as null'
expect 3 "$g" -k '~y=([0-9]+):int' -o none small
says "no record matches '~y=(\[0-9\]+)'; a record without it is 'b x=9'"
expect 3 "$g" -k 7:int -o none small
says "no record has field 7; .*-t CHAR says what separates the fields"
expect 3 "$g" --strict -k 2:text -o none small
says 'record 3, line 3, byte 13: it has no field 2'
expect 3 "$g" -k 1:int -o none small
says "field 1: none of its 3 values is of the type int: 'b', 'a';"
expect 2 "$g" -k '~x=([0-9]+:int' -o none small
says 'the regular expression x=(\[0-9\]+ is invalid: missing )'
expect 2 "$g" -k '~(?!a)' -o none small
says 'invalid perl operator: (?!'
expect 2 "$g" -k '~x=([0-9]+):decimla' -o none small
says "unknown .*decimla.*; did you mean decimal?; a colon of the regular expression before such a word is written \[:\]"
expect 2 "$g" -k '~x=([0-9]+):int:decimal' -o none small
says 'a second type'
expect 2 "$g" -k '~:int' -o none small
says 'it has no regular expression'
expect 2 "$g" -k 0:int -o none small
says 'its fields are numbers from 1'
expect 2 "$g" -k 3,2:int -o none small
says 'its last field is before its first'
expect 2 "$g" -k 2,2n -k 3:timestamp -o none small
says "'2,2n' is a key of sort and cannot be combined with the typed key '3:timestamp': write 2:decimal"
expect 2 "$g" -k 2,3 -k 3:timestamp -o none small
says 'write 2,3:text'
expect 2 "$g" -k 2,2Vr -k 3:timestamp -o none small
says 'write 2:natural:desc'
expect 2 "$g" -k 2.1,2.4 -k '~x' -o none small
says 'write each key as N:TYPE, N,M:TYPE or ~RE:TYPE'
expect 2 "$g" -k name:int -k '~x' -o none small
says "'name:int' is a key of columns and cannot be combined with the typed key '~x'"
for option in -n -f --debug --locale; do
  expect 2 "$g" $option -k 2:text -o none small
  says 'has no meaning with the key .2:text.: the type of each key says how it is ordered'
done
for format in csv jsonl paragraphs; do
  expect 2 "$g" --format $format -k '~x:int' -o none small
  says "a regular expression is a key of lines and logs, not of --format $format"
done
expect 2 "$g" --record-size 4 -k '~x' -o none small
expect 2 "$bin/gpusort_check" -k '~x' small
[ ! -e none ] || fail 'a refused job made its output'

# A file that is named as CSV is lines with such a key, and a warning says so.
printf 'n,v\na,2\nb,1\n' >shop.csv
"$g" -t, -k 2:int shop.csv >out 2>err
says "'shop.csv' is sorted as lines because of -t.*; by columns: --delimiter ',' -k '#2:int'; for lines"
"$g" -k '~,([0-9]+):int' shop.csv >out 2>err
says "'shop.csv' is sorted as lines because of -k~,(.*; by columns: -k NAME; for lines"
printf '~n\nb\na\n' | "$g" --format csv -k '"~n"' >out
printf '~n\na\nb\n' | cmp - out || fail 'a column whose name begins with ~'

# The numbers and nulls of other countries, and binary keys, which look similar.
printf '1.000,5;x\n999,5;y\nNA;z\n' | "$g" -t';' --decimal-point , --thousands . --null NA -k 1:decimal >out 2>err
printf '999,5;y\n1.000,5;x\nNA;z\n' | cmp - out
[ ! -s err ] || fail "a null value, and yet: $(cat err)"
expect 2 "$g" -k 8:i64 -o none small
says 'for fields of binary records give --type or --record-size, too'

# Under the name sort, these are errors of GNU sort.
ln -s "$g" sort
expect 2 ./sort -k 3:timestamp small
says 'stray character in field spec: invalid field specification .3:timestamp.'
expect 2 ./sort -k '~x' small
says 'invalid number at field start: invalid count at start of .~x.'

# Bytes that are not UTF-8, and expressions with characters.
printf 'k=\xff\xfe1;\nk=\xc3\xa41;\nk=01;\n' >bytes
LC_ALL=C "$g" -k '~k=(.*);' bytes >out
printf 'k=01;\nk=\xc3\xa41;\nk=\xff\xfe1;\n' | cmp - out || fail 'bytes'
printf 'ä2\nö1\nu0\n' | "$g" -k '~[äö]([0-9]):int' >out 2>err
printf 'ö1\nä2\nu0\n' | cmp - out || fail 'characters'
nothing_left
