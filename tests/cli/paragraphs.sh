#!/usr/bin/env bash
# Records with blank lines between them (--format paragraphs): stanzas in Debian's format and the history of apt, in all
# kinds of jobs, compared with a parser in Python and with gpusort_check.
. "$2/tests/cli/common.sh.inc"

cat >make.py <<'END'
"""Writes stanzas: make.py COUNT SEED END NAME. END stands after every line."""
import random
import sys

count, seed, end, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode().decode("unicode_escape"), sys.argv[4]
draw = random.Random(seed)
with open(name, "w", newline="") as out:
    for number in range(count):
        lines = []
        if draw.random() < 0.1:
            lines.append("# a comment")
        fields = [f"{draw.choice(['Package', 'package', 'PACKAGE'])}: p{draw.randrange(count)}",
                  f"Number: {number}",
                  "Description: short" + "".join(f"{end} line {draw.randrange(9)}" for _ in range(draw.randrange(4)))]
        if draw.random() < 0.8:
            fields.append(f"Installed-Size:{draw.choice([' ', '', chr(9)])}{draw.randrange(1000)}")
        draw.shuffle(fields)
        out.write(end.join(lines + fields) + end * (1 + draw.choice([1, 1, 1, 2, 3])))
END

cat >order.py <<'END'
"""Sorts stanzas as the manual page says: order.py IN OUT FIELD[:int]..., or checks that they are intact: order.py IN."""
import re
import sys

text = open(sys.argv[1], newline="").read()
text += "" if re.search("\n\r?\n$", text) else "\n" if text.endswith("\n") else "\n\n"
records = re.findall(r"(?:(?!\r?\n)[^\n]*\n)+(?:\r?\n)+", text)
assert "".join(records) == text

def value(record, field):
    name, _, kind = field.partition(":")
    lines = [line for line in record.splitlines() if not line.startswith("#")]
    for at, line in enumerate(lines):
        found = re.match(rf"{name}\s*:\s*(.*)", line, re.I)
        if found:
            more = [next_line for next_line in lines[at + 1:]]
            stop = next((i for i, next_line in enumerate(more) if not next_line.startswith((" ", "\t"))), len(more))
            whole = "\n".join([found.group(1)] + more[:stop]).rstrip()
            return (0, int(whole)) if kind else (0, whole.encode())
    return (1, 0)

def key(record):
    return [value(record, field) for field in sys.argv[3:]]

open(sys.argv[2], "w", newline="").write("".join(sorted(records, key=key)))
END

python3 make.py 3000 1 '\n' in.txt
gpusort() { "$bin/gpusort" --format paragraphs "$@"; }
check() { "$bin/gpusort_check" --format paragraphs "$@" >checked || fail "gpusort_check: $(cat checked)"; }
for fields in Package Installed-Size:int "Installed-Size:int Package" Description; do
  python3 order.py in.txt expected $fields
  keys=()
  for field in $fields; do keys+=(-k "$field"); done
  gpusort "${keys[@]}" in.txt out.txt 2>err
  same expected out.txt
  check "${keys[@]}" --stable --against in.txt out.txt
  gpusort --check "${keys[@]}" out.txt 2>err || fail "not in order: $(cat err)"
  gpusort --memory 8M "${keys[@]}" -o small.txt in.txt 2>err
  same expected small.txt
  gpusort "${keys[@]}" <in.txt >piped.txt 2>err
  same expected piped.txt
done
gpusort -k Package: in.txt colon.txt 2>err
gpusort -k package in.txt lower.txt 2>err
same colon.txt lower.txt
expect 1 gpusort --check -k Package in.txt
says 'record [0-9]*, line [0-9]*'

# Sort by number, and sort back.
gpusort -k Number:int out.txt back.txt
same in.txt back.txt

# Other jobs.
python3 order.py in.txt sorted.txt Package
gzip -c in.txt >in.txt.gz
gpusort -k Package -o out.txt.gz in.txt.gz 2>err
gzip -dc out.txt.gz >expanded.txt
same sorted.txt expanded.txt
gpusort -k Package --resume-dir state -o resumed.txt in.txt 2>err
same sorted.txt resumed.txt
gpusort -k Package --verify-output --memory 32M -o verified.txt in.txt 2>err
same sorted.txt verified.txt
gpusort -k Package --split 3 -o parts in.txt 2>err
cat parts-?.txt >joined.txt
same sorted.txt joined.txt
gpusort -k Package -m -o merged.txt sorted.txt sorted.txt 2>err
cat sorted.txt sorted.txt >twice.txt
python3 order.py twice.txt expected Package
same expected merged.txt
gpusort -k Package -u -o unique.txt in.txt 2>err
check -k Package --unique --against in.txt unique.txt
gpusort -k Installed-Size:int:desc --top 5 -o top.txt in.txt 2>err
gpusort -k Installed-Size:int:desc -o all.txt in.txt 2>err
cmp -n "$(stat -c %s top.txt)" top.txt all.txt || fail "--top gives other records"
[ "$(grep -ci '^package:' top.txt)" = 5 ] || fail "--top 5 gives another count"

# A last record without a blank line gets one, so that no record is joined to another.
printf 'a: 2\nb: x' >one
printf 'a: 1\r\n' >two
gpusort -k a:int -o both one two
printf 'a: 1\r\n\r\na: 2\nb: x\n\n' >expected
same expected both
check -k a:int --stable --against one --against two both
printf '\n\na: 2\n\n\na: 1\n' >top
gpusort -k a:int -o both top one 2>err
printf '\n\na: 1\n\na: 2\n\n\na: 2\nb: x\n\n' >expected
same expected both
python3 make.py 300 2 '\r\n' crlf.txt
gpusort -k Package crlf.txt sorted-crlf.txt
python3 order.py crlf.txt expected Package
same expected sorted-crlf.txt
check -k Package --stable --against crlf.txt sorted-crlf.txt

# Messages.
expect 3 gpusort -k Pakage in.txt no.txt
says "no record has the field 'Pakage'"
says 'did you mean'
expect 2 gpusort -k '#1' in.txt no.txt
says 'no columns by number'
expect 2 gpusort --delimiter , in.txt no.txt
says 'no meaning'

# The tasks of a job on many machines, with and without a scan.
for scan in yes no; do
  for slice in 0 1 2; do
    [ $scan = no ] || "$bin/gpusort_task" scan --slice $slice/3 --into job-$scan --format paragraphs -k Package in.txt
  done
  for slice in 0 1 2; do
    "$bin/gpusort_task" runs --slice $slice/3 --into job-$scan --format paragraphs -k Package in.txt 2>err
  done
  "$bin/gpusort_task" cut --parts 2 job-$scan 2>err
  for part in 0 1; do "$bin/gpusort_task" part --part $part/2 job-$scan tasks-$scan.txt 2>err; done
  "$bin/gpusort_task" prove --parts 2 job-$scan tasks-$scan.txt 2>err
  same sorted.txt tasks-$scan.txt
done

# Real files, if they are here.
for file in /var/lib/dpkg/status /var/log/apt/history.log; do
  [ -r "$file" ] && [ -s "$file" ] || continue
  key=Package
  [ "${file##*/}" = status ] || key=Start-Date
  cp "$file" real.txt
  gpusort -k $key:desc real.txt there.txt 2>err
  check -k $key:desc --stable --against real.txt there.txt
  gpusort -k $key there.txt again.txt 2>err
  gpusort -k $key real.txt ascending.txt 2>err
  check -k $key --stable --against real.txt ascending.txt
done
nothing_left
