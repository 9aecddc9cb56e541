#!/usr/bin/env python3
"""Makes the samples of this folder, inputs and expected outputs, with Python's own sort and nothing of gpusort.

Usage: data/make_samples.py [FOLDER]   (default: the folder of this script)
"""
import os
import random
import struct
import sys


def write(name, records):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"".join(records))


def total_order(record):
    """Key of a little-endian IEEE 754 number in totalOrder: sign and magnitude as an integer, -0 before +0."""
    bits = int.from_bytes(record, "little")
    sign = 1 << (8 * len(record) - 1)
    return -1 - (bits ^ sign) if bits & sign else bits


def numbers():
    rng = random.Random(20)
    records = [struct.pack("<i", rng.randrange(-(2**31), 2**31)) for _ in range(1990)]
    records += [struct.pack("<i", x) for x in (0, 0, -1, -1, 1, 2**31 - 1, -(2**31), 255, 256, -256)]
    rng.shuffle(records)
    write("random.bin", records)
    write("random.sorted.bin", sorted(records, key=lambda r: struct.unpack("<i", r)))


def floats():
    rng = random.Random(754)
    records = [struct.pack("<d", rng.gauss(0, 1) * 10 ** rng.randrange(-300, 300)) for _ in range(700)]
    infinity, quiet = 0x7FF << 52, 1 << 51
    special = [0, infinity, infinity - 1, 1, quiet, infinity | quiet, infinity | quiet | 1, infinity | 1]
    special += [infinity | quiet | rng.getrandbits(50) for _ in range(40)]
    special += [infinity | 1 | rng.getrandbits(50) for _ in range(40)]
    special += [rng.getrandbits(52) for _ in range(40)]  # denormals
    records += [struct.pack("<Q", bits | sign << 63) for bits in special for sign in (0, 1)]
    records += [struct.pack("<d", x) for x in (0.0, -0.0) * 20]
    rng.shuffle(records)
    write("special.f64", records)
    write("special.sorted.f64", sorted(records, key=total_order))


def gensort():
    """The first 500 records of sortbenchmark.org's `gensort -a`."""
    records, state = [], 0
    for number in range(500):
        state = (state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x4A696D47726179524950202020202001) % 2**128
        high, low = state >> 64, state % 2**64
        key = [high // 95**i % 95 for i in range(8)] + [low // 95**i % 95 for i in range(2)]
        text = "".join(chr(32 + k) for k in key) + "  %032X  " % number
        text += "".join("%X" % (low >> (48 - 4 * i) & 15) * 4 for i in range(13)) + "\r\n"
        records.append(text.encode("ascii"))
    write("gensort.dat", records)
    write("gensort.sorted.dat", sorted(records))


def composite():
    """32 bytes: u32 big-endian, 4 bytes of padding, i64 little-endian, 16 bytes of text that tell equal keys apart."""
    rng = random.Random(32)
    places = [rng.randrange(-(2**63), 2**63) for _ in range(20)] + [0, -1, 1, 2**63 - 1, -(2**63)]
    records = []
    for number in range(1000):
        fields = (rng.choice([0, 1, 255, 256, 2**31, 2**32 - 1]), rng.choice(places))
        records.append(struct.pack(">I4x", fields[0]) + struct.pack("<q", fields[1]) + b"record %09d" % number)

    def key(record):
        return -struct.unpack_from("<q", record, 8)[0], struct.unpack_from(">I", record)[0]

    ordered = sorted(records, key=key)  # stable, like every sort of gpusort
    write("composite.dat", records)
    write("composite.sorted.dat", ordered)
    write("composite.unique.dat", [r for i, r in enumerate(ordered) if i == 0 or key(ordered[i - 1]) != key(r)])


folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
numbers()
floats()
gensort()
composite()
