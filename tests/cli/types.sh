#!/usr/bin/env bash
# labels: any_build
# Random texts as values of the types that have many notations: gpusort and gpusort_check, which share no code, must
# agree on which texts are values, and on their order. SEED=N chooses other texts, and ROWS=N more of them.
. "$2/tests/cli/common.sh.inc"
cat >types.py <<'PY'
import random, subprocess, sys
folder, seed, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed)
# The values of a type, and the pieces that texts are made of, between bars.
pieces = {
    "number": (
        "1|12|234|567|0|00|-|+|−| |,|.|'|_|\u00a0|\u202f|’|$|€|£|%|(|)|K|k|M|G|Ki|MiB|B|b|e5|E-3|e|E|T|"
        "x"
    ),
    "time": (
        "0|1|12|10|13|24|59|60|00|:|:30|:00:01|:59:60|.|.5|.123456|.1234567890| |-|+|am|PM|Z| CET|+02|"
        "-11:30|+25|bc"
    ),
    "interval": (
        "1|2|0|.5|1.5| |-|+|P|T|Y|M|D|W|H|S|y|mons|mon|days|day,|h|m|min|s|ms|us|µs|ns|ago|@|4:05|"
        "04:05:06|23:59:59.999|1-2|-|years|week|infinity|:"
    ),
    "macaddr": "08|00|2b|FF|1|a|0800|2b01|08002b|010203|08002b010203|:|-|.|:01|:02:03|:04:05:06:07|g",
    "bit": "0|1|01|b'|'|2| |11",
    "severity": (
        "trace|DEBUG|Info|notice|warn|WARNING|error|err|e|fatal|crit|alert|emerg|panic|[|](|]|<|>|:|v|x|"
        "log|debug5| "
    ),
    "date(%d.%m.%Y)": "1.|2.|31.|12.|2026|1969|0001|.| |13.",
    "enum(low,mid high,'a,b')": "low|mid high|a,b|mid|high| |a",
}
seeds = {
    "number": (
        "1,234.56|$5.00|(45.00)|12%|1.5K|−3|12,34,567|1 234 567|1.5 KiB|$1.5B|512B|€ 1,000|-$2|10e3K|"
        "1’000"
    ),
    "time": (
        "10:00|09:00:00.5|10:00:00+02|08:00:00Z|24:00:00|-12:30:00|838:59:59|12:05 AM|12:05 PM|"
        "10:00 CET|1:00pm -03"
    ),
    "interval": (
        "1 year 2 mons -3 days 04:05:06|-1 days +02:03:00|@ 1 day 2 hours ago|P1Y2M3DT4H5M6.7S|PT-1H|"
        "+1-2 -3 +4:05:06|-3 4:05:06|1h30m|250ms|1.5|90|1 day, 2:03:04|1-2|-1-2|3 days|00:00:00"
    ),
    "macaddr": (
        "08:00:2b:01:02:03|08-00-2b-01-02-03|08002b:010203|0800.2b01.0203|08002b010203|8:0:2b:1:2:3|"
        "08:00:2b:01:02:03:04:05|ff:ff:ff:ff:ff:ff|0800-2b01-0203-0405"
    ),
}
pieces = {kind: words.split("|") for kind, words in pieces.items()}
seeds = {kind: words.split("|") for kind, words in seeds.items()}


def text(kind):
    choice = r.random()
    if kind not in seeds or choice > 0.7:
        return "".join(r.choice(pieces[kind]) for _ in range(r.randint(1, 6)))
    value = r.choice(seeds[kind])
    if choice < 0.4:
        return value
    at = r.randrange(len(value) + 1)
    return value[:at] + r.choice(pieces[kind]) + value[at + r.choice([0, 0, 1, 2]):]


ways = [[], [], ["--decimal-point", ","], ["--thousands", ".", "--decimal-point", ","], ["--thousands", ","]]
for kind in pieces:
    for direction in "asc", "desc":
        with open("in.tsv", "w", encoding="utf-8") as file:
            file.write("v\n" + "".join(text(kind) + "\n" for _ in range(rows)))
        key = [*(r.choice(ways) if kind == "number" else []), "-k", f"v:{kind}:{direction}"]
        made = subprocess.run([folder + "/gpusort", *key, "in.tsv", "out.tsv"], capture_output=True, text=True)
        assert made.returncode == 0, (seed, key, made.stderr)
        checker = [folder + "/gpusort_check", "--format", "tsv", "--stable", "--against", "in.tsv"]
        checked = subprocess.run([*checker, *key, "out.tsv"], capture_output=True, text=True)
        assert checked.returncode == 0, (seed, key, checked.stdout, checked.stderr)
PY
python3 types.py "$bin" "${SEED:-1}" "${ROWS:-500}" || fail "gpusort and gpusort_check disagree"
nothing_left
echo "types: ok"
