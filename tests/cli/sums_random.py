"""Compares sums and counts with Python: random formats, values, quotes, sets of records, orders, and plans that spill.

Usage: sums_random.py GPUSORT COUNT [SEED]. Prints the command line of a failure, and leaves its files.
"""
import decimal
import json
import os
import random
import subprocess
import sys
import tempfile
from decimal import Decimal

decimal.getcontext().prec = 9000


class Style:
    """A format, and how its values are written."""

    def __init__(self, rng):
        self.name = rng.choice(["csv", "csv", "tsv", "jsonl", "jsonl", "pgcopy", "mysql", "fields", "words", "paragraphs"])
        self.point, self.thousands = rng.choice([(".", None), (".", None), (".", ","), (",", "."), (",", "'"), (".", "_")])
        self.delimiter = {"csv": rng.choice([",", ";", "|"]), "fields": ":", "words": " "}.get(self.name, "\t")
        self.end = "\r\n" if self.name == "csv" and rng.random() < 0.2 else "\n"
        self.quotes = self.name in ("csv", "mysql")

    def options(self):
        made = {"csv": ["--format", "csv", "--delimiter", self.delimiter], "tsv": ["--format", "tsv"],
                "jsonl": ["--format", "jsonl"], "pgcopy": ["--format", "pgcopy"],
                "mysql": ["--format", "mysql", "--quote", '"'], "fields": ["--format", "lines", "-t", ":"],
                "words": ["--format", "lines"], "paragraphs": ["--format", "paragraphs"]}[self.name]
        made = [*made, "--decimal-point", self.point]
        return made + (["--thousands", self.thousands] if self.thousands else [])

    def key(self):
        return {"pgcopy": "#1:text", "mysql": "#1:text", "fields": "1:text", "words": "1:text"}.get(self.name, "k:text")

    def sum(self, column):
        return {"pgcopy": f"#{column + 2}", "mysql": f"#{column + 2}", "fields": f"{column + 2}",
                "words": f"{column + 2}"}.get(self.name, "ab"[column])


def grouped(digits, separator):
    front = len(digits) % 3
    parts = [digits[:front]] if front else []
    return separator.join(parts + [digits[i:i + 3] for i in range(front, len(digits), 3)])


class Value:
    """A value of a column: its text, its number or None, and the part of the text that a sum replaces."""

    def __init__(self, style, rng):
        self.number, self.separated = None, False
        kind = rng.randrange(12)
        if kind == 0:
            self.set_null(style, rng)
            return
        if kind < 6:
            digits, fraction = str(rng.randrange(10 ** rng.choice([1, 3, 6, 15]))), ""
        elif kind < 9:
            digits, fraction = str(rng.randrange(100000)), "%0*d" % (rng.choice([1, 2, 2, 9]), rng.randrange(10))
        elif kind < 10:
            digits, fraction = str(rng.randrange(10 ** 40)), str(rng.randrange(10 ** 30))
        else:
            digits, fraction = "0", rng.choice(["", "00", "000001"])
        plain = digits + ("." + fraction if fraction else "")
        text = digits
        if style.thousands and rng.random() < 0.3:
            text = grouped(digits, style.thousands)
            self.separated = text != digits
        text += style.point + fraction if fraction else ""
        exponent = rng.choice([""] * 12 + ["e3", "E-2", "e+12", "e0", "e-40"])
        sign = rng.choice(["", "", "", "-"] + (["+"] if style.name != "jsonl" else []))
        json_number = style.point == "." and not self.separated
        self.number = Decimal(sign + plain + exponent)
        self.set_text(style, rng, sign + text + exponent, json_number)

    def set_null(self, style, rng):
        nulls = {"csv": ["", "\\N", '""'], "tsv": ["", "\\N"], "jsonl": ["null", '""', None], "pgcopy": ["\\N"],
                 "mysql": ["\\N"], "fields": [""], "words": None, "paragraphs": [""]}[style.name]
        if nulls is None:  # each word needs a byte
            self.number = Decimal(0)
            self.before, self.middle, self.after = "", "0", ""
            return
        text = rng.choice(nulls)
        if text == '""':
            self.before, self.middle, self.after = '"', "", '"'
        else:
            self.before, self.middle, self.after = "", text, ""

    def set_text(self, style, rng, text, json_number):
        quoted = style.delimiter in text or (style.quotes and rng.random() < 0.3)
        if style.name == "jsonl":
            quoted = not json_number or rng.random() < 0.2
        blanks = rng.random() < 0.1 and style.name in ("csv", "fields")
        if quoted and not style.quotes and style.name != "jsonl":
            raise ValueError("a delimiter without quotes")
        mark = '"' if quoted else ""
        self.before, self.middle, self.after = mark + (" " if blanks else ""), text, (" " if blanks else "") + mark

    def text(self):
        return None if self.middle is None else self.before + self.middle + self.after


def sum_text(values, style):
    """Returns the text of the sum, or None if there is no value."""
    numbers = [value for value in values if value.number is not None]
    if not numbers:
        return None
    scale = max(max(0, -value.number.as_tuple().exponent) for value in numbers)
    total = sum((value.number for value in numbers), Decimal(0))
    text = "%.*f" % (scale, 0) if total == 0 else format(total.quantize(Decimal(1).scaleb(-scale)), "f")
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, _, fraction = text.partition(".")
    if style.thousands and any(value.separated for value in numbers):
        whole = grouped(whole, style.thousands)
    return sign + whole + (style.point + fraction if fraction else "")


def replaced(value, text, style):
    """Returns the text of a field after the sum was written into it."""
    quoted = value.before.startswith('"')
    if style.name == "jsonl" and not quoted:
        plain = all(c in "-0123456789" + ("." if style.point == "." else "") for c in text)
        return text if plain else '"' + text + '"'
    if not quoted and style.delimiter in text:
        if not style.quotes:
            raise ValueError("a delimiter without quotes")
        text = '"' + text + '"'
    return value.before + text + value.after


def record(style, key, fields, other, count=None):
    """Returns the text of a record. `fields` are texts, or None for a column that is not there."""
    if style.name == "jsonl":
        members = [("k", json.dumps(key)), ("a", fields[0]), ("b", fields[1]), ("x", json.dumps(other))]
        front = [] if count is None else ["\"count\":%d" % count]
        return "{" + ",".join(front + ['"%s":%s' % member for member in members if member[1] is not None]) + "}\n"
    if style.name == "paragraphs":
        return "k: %s\na: %s\nx: %s\nb: %s\n\n" % (key, fields[0], other, fields[1])
    front = []
    if count is not None and style.name not in ("fields", "words"):
        front = [str(count)]
    if style.quotes:
        other = '"%s"' % other.replace("\n", "\n" if style.name == "csv" else "\\\n")
    else:
        other = other.replace("\n", " " if style.name != "words" else "_")
    made = style.delimiter.join([*front, key, *fields, other]) + style.end
    return ("%7d " % count if count is not None and not front else "") + made


def new_members(first, texts):
    """Returns the record with sums of members that its first record lacks."""
    front = "".join('"%s":%s,' % member for member in texts)
    return "{" + front + first[1:]


def random_records(style, rng, keys, most):
    records = []
    for _ in range(rng.choice(most)):
        key = rng.choice(keys) if rng.random() < 0.8 else "often"
        other = rng.choice(["x", "a\nb", "long " * rng.randrange(9)])
        records.append((key, [Value(style, rng), Value(style, rng)], other))
    return records


class Inputs:
    """The input, and the files of sets of records, with the groups of records that the output is made of."""

    def __init__(self, style, rng):
        keys = ["k%d" % rng.randrange(10 ** rng.randrange(1, 5)) for _ in range(rng.choice([1, 20, 3000]))]
        self.records = random_records(style, rng, keys, [0, 1, 5, 300, 4000])
        kinds = rng.choice([[], [], [], ["minus"], ["intersect"], ["union"], ["minus", "intersect"],
                            ["minus", "minus", "union"], ["intersect", "intersect"]])
        self.sets = [(kind, random_records(style, rng, [*keys, "none"], [0, 1, 30, 2000])) for kind in kinds]
        self.groups: dict = {}
        united = [member for kind, members in self.sets for member in members if kind == "union"]
        for key, values, other in self.records + united:
            in_files = [(kind, any(member[0] == key for member in members)) for kind, members in self.sets]
            if all(found == (kind == "intersect") for kind, found in in_files if kind != "union"):
                self.groups.setdefault(key, []).append((values, other))


def one_case(rng, gpusort, folder):
    style = Style(rng)
    counts = rng.random() < 0.3 and style.name != "paragraphs"
    kept = rng.choice([None, None, None, "--only-duplicates", "--only-unique"])
    sums = 0 if (counts or kept) and rng.random() < 0.3 else rng.choice([1, 2, 2])
    inputs = Inputs(style, rng)
    groups = inputs.groups
    header = ""
    if style.name in ("csv", "tsv"):
        header = style.delimiter.join(["k", "a", "b", "x"]) + style.end

    def write(name, records):
        path = os.path.join(folder, name)
        with open(path, "w", newline="") as file:
            file.write(header)
            file.write("".join(record(style, key, [v.text() for v in values], other) for key, values, other in records))
        return path

    top = rng.choice([None, None, None, 1, 7, 100])
    by_count = top is not None and counts and rng.random() < 0.5
    keep_order = rng.random() < 0.3 and not by_count
    want = []
    for key in groups if keep_order else sorted(groups):
        group = groups[key]
        if kept is not None and (len(group) > 1) != (kept == "--only-duplicates"):
            continue
        values, other = group[0]
        fields, missing = [value.text() for value in values], []
        for column in range(sums):
            text = sum_text([member[0][column] for member in group], style)
            if len(group) == 1 or text is None:
                continue
            if values[column].text() is None:
                missing.append(("ab"[column], replaced(values[column], text, style)))
            else:
                fields[column] = replaced(values[column], text, style)
        made = record(style, key, fields, other)
        if missing:
            made = new_members(made, missing)
        if counts and style.name == "jsonl":
            made = "{\"count\":%d," % len(group) + made[1:]
        elif counts:
            made = record(style, key, fields, other, len(group))
        want.append((len(group), made))
    if by_count:
        want.sort(key=lambda row: -row[0])
    if top is not None:
        want = want[:top]
    text = ("count" + style.delimiter if counts and header else "") + header + "".join(row[1] for row in want)

    extension = style.name if style.name in ("csv", "tsv", "jsonl") else "txt"
    path = write("in." + extension, inputs.records)
    out = os.path.join(folder, "out.txt")
    command = [gpusort, *style.options(), "-k", style.key()]
    for column in range(sums):
        command += ["--sum", style.sum(column)]
    for number, (kind, records) in enumerate(inputs.sets):
        command += ["--" + kind, write("%s%d.%s" % (kind, number, extension), records)]
    command += ["--keep-order"] if keep_order else []
    command += ["--count"] if counts else []
    command += [kept] if kept else []
    command += ["--top", str(top)] if top is not None else []
    command += ["--by", "count"] if by_count else []
    command += rng.choice([["--threads", "2"], ["--memory", "16M", "--batch-bytes", "20000"],
                           ["--memory", "4M", "--batch-bytes", "9000", "--fan-in", "2", "--threads", "1"]])
    command += ["--force", "--quiet", "--force-format", "--no-fsync", path, out]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    with open(out if done.returncode == 0 else os.devnull, newline="") as file:
        got = file.read()
    if done.returncode == 0 and got == text:
        return True
    with open(os.path.join(folder, "want.txt"), "w", newline="") as file:
        file.write(text)
    print("exit", done.returncode, done.stderr.decode(errors="replace"), *command)
    return False


def main():
    gpusort, count = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    for case in range(count):
        rng = random.Random(f"{seed} {case}")
        folder = tempfile.mkdtemp(prefix="sums-", dir=os.environ.get("TMPDIR"))
        for _ in range(100):
            try:
                good = one_case(rng, gpusort, folder)
                break
            except ValueError:
                continue
        if not good:
            print("seed", seed, "case", case, folder)
            return 1
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
