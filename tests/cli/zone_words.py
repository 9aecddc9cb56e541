"""Compares how gpusort reads abbreviations of zones, such as CST, with the zones of Python's zoneinfo.

Usage: zone_words.py GPUSORT COUNT. Tries COUNT zones in the working folder. Columns and logs must agree.
"""
import datetime
import random
import re
import subprocess
import sys
import zoneinfo

DAY = datetime.date(2026, 1, 1)


def words_of(name):
    """Returns the abbreviations that the zone uses from 2000 to 2037, with their latest offsets."""
    zone = zoneinfo.ZoneInfo(name)
    words = {}
    at = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
    while at.year < 2038:
        local = at.astimezone(zone)
        word, offset = local.tzname(), local.utcoffset()
        if word and offset is not None and re.fullmatch("[A-Za-z]+", word):
            words[word] = int(offset.total_seconds())
        at += datetime.timedelta(days=7)
    return words


def counts(command, *inputs):
    """Returns the groups of equal times: the text of the first row of a group, with the number of rows."""
    names = [f"{i}.txt" for i in range(len(inputs))]
    for name, rows in zip(names, inputs, strict=True):
        with open(name, "w") as file:
            file.write("".join(row + "\n" for row in rows))
    done = subprocess.run([*command, "--count", "--quiet", "--no-fsync", "--force-format", "-o", "-", *names],
                          stdout=subprocess.PIPE, check=True, text=True)
    return {line[8:]: int(line[:7]) for line in done.stdout.splitlines()}


def text_of(offset):
    return "%s%02d:%02d" % ("-" if offset < 0 else "+", abs(offset) // 3600, abs(offset) // 60 % 60)


def main():
    gpusort, most = sys.argv[1], int(sys.argv[2])
    names = sorted(zoneinfo.available_timezones())
    random.Random(1).shuffle(names)
    names = ["Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "America/Chicago", "Europe/Berlin", "Europe/London",
             "Europe/Moscow", *names[:most]]
    column = [gpusort, "-t", ",", "-k", "1:timestamp"]
    # A word that gpusort does not know is no time. All such rows are one group, of which the first row is written.
    everything = sorted({word for name in names for word in words_of(name)})
    probes = [f"{DAY + datetime.timedelta(days=i)} 12:00:00 {word}" for i, word in enumerate(["Quux", *everything])]
    known = {row.split()[2] for row in counts([*column, "--timezone", "UTC"], probes)} - {"Quux"}
    assert {"IST", "CST", "BST", "MSK", "JST", "CEST"} <= known, known
    tried = 0
    for name in names:
        words = {word: offset for word, offset in words_of(name).items() if word in known}
        if not words or any(offset % 60 for offset in words.values()):
            continue
        tried += 1
        # Two files, because each log has one form of times.
        times = [f"{DAY + datetime.timedelta(days=i)} 12:00:00 " for i in range(len(words))]
        named = [time + word for time, word in zip(times, words, strict=True)]
        plain = [time + text_of(offset) for time, offset in zip(times, words.values(), strict=True)]
        want = dict.fromkeys(named, 2)
        log = [gpusort, "--format", "log", "--time", "%Y-%m-%d %H:%M:%S %Z", "--time", "%Y-%m-%d %H:%M:%S %z"]
        for command in (column, log):
            got = counts([*command, "--timezone", name], named, plain)
            assert got == want, (name, command, got, want)
    assert tried > min(most, 20) / 4, tried
    return 0


if __name__ == "__main__":
    sys.exit(main())
