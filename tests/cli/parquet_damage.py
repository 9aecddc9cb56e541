"""Damages Parquet files and sorts them by gpusort.

Usage: parquet_damage.py GPUSORT COUNT [SEED] [NUMBER]. With NUMBER, runs only this damage. Prints how to repeat a failing damage, and leaves its files.

gpusort must end with exit 3 and a message that names the file. It may end with exit 0 only if pyarrow reads the damaged
file, and the output has the rows that pyarrow reads, or if the output has the rows of the file before the damage: a bit
of a value in a file without checksums, or of a part that nobody needs, can change unseen.
"""
import collections
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq


class Wrong(Exception):
    pass


def make_inputs(folder):
    """Writes files of different kinds. Returns their names."""
    rng = random.Random(7)
    count = 400
    table = pa.table({
        "k": pa.array([rng.randrange(100) for _ in range(count)], pa.int64()),
        "s": [rng.choice(["", "a", "bc", "line\nbreak", "x" * 50, None]) for _ in range(count)],
        "d": [rng.random() for _ in range(count)],
        "l": pa.array([rng.choice([None, [], [1], [1, None, 3]]) for _ in range(count)], pa.list_(pa.int32())),
        "f": pa.array([rng.randbytes(5) for _ in range(count)], pa.binary(5)),
        "b": [rng.choice([True, False, None]) for _ in range(count)]})
    kinds = {
        "plain.parquet": {"compression": "none", "use_dictionary": False, "row_group_size": 150, "data_page_size": 500},
        "dictionary.parquet": {"compression": "none", "row_group_size": 200},
        "snappy.parquet": {"compression": "snappy", "data_page_version": "2.0", "row_group_size": 150},
        "zstd.parquet": {"compression": "zstd", "write_page_checksum": True, "data_page_size": 300},
        "gzip.parquet": {"compression": "gzip", "write_page_index": True, "row_group_size": 100},
        "delta.parquet": {"compression": "lz4", "use_dictionary": False,
                          "column_encoding": {"k": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "d": "BYTE_STREAM_SPLIT",
                                              "b": "RLE"}}}
    for name, options in kinds.items():
        pq.write_table(table, os.path.join(folder, name), **options)
    return list(kinds)


def footer_bytes(data):
    return struct.unpack("<I", data[-8:-4])[0]


def cut(rng, data):
    return data[:rng.randrange(len(data))], "cut"


def cut_inside(rng, data):
    """Removes bytes in front of the footer, so that all places in the footer are wrong."""
    front = len(data) - 8 - footer_bytes(data)
    at = rng.randrange(4, front)
    return data[:at] + data[at + rng.randint(1, front - at):], "bytes in the middle are missing"


def flip(rng, data, low, high, most):
    data = bytearray(data)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(low, high)
        data[at] ^= rng.randint(1, 255)
    return bytes(data)


def flip_footer(rng, data):
    return flip(rng, data, len(data) - 8 - footer_bytes(data), len(data) - 8, 3), "bytes of the footer"


def flip_pages(rng, data):
    return flip(rng, data, 4, len(data) - 8 - footer_bytes(data), 5), "bytes of pages"


def flip_first_pages(rng, data):
    """The headers of the first pages are in front."""
    return flip(rng, data, 4, 60, 2), "bytes of the first pages"


def zero_pages(rng, data):
    front = len(data) - 8 - footer_bytes(data)
    at = rng.randrange(4, front)
    size = min(rng.choice([1, 16, 300, 5000]), front - at)
    return data[:at] + bytes(size) + data[at + size:], f"{size} bytes are 0"


def length(rng, data):
    size = rng.choice([0, 1, footer_bytes(data) - 1, footer_bytes(data) + 1, len(data), (1 << 31) - 1, (1 << 32) - 1])
    return data[:-8] + struct.pack("<I", size) + data[-4:], f"the footer has {size} bytes"


def magic(rng, data):
    other = rng.choice([b"PARE", b"PARX", b"\0\0\0\0", b"par1"])
    if rng.random() < 0.3:
        return other + data[4:], f"{other!r} in front"
    return data[:-4] + other, f"{other!r} at the end"


def small(rng, data):
    del data
    return rng.choice([b"", b"P", b"PAR1", b"PAR1PAR1", b"PAR1\0\0\0\0PAR1", b"a,b\n1,2\n", bytes(12), b"PAR1" + bytes(4) + b"PAR1" * 5]), "tiny"


def more(rng, data):
    return data + rng.randbytes(rng.choice([1, 4, 100])), "bytes after the end"


DAMAGES = [cut, cut_inside, flip_footer, flip_footer, flip_footer, flip_pages, flip_pages, flip_first_pages, zero_pages, length,
           magic, small, more]


def rows_of(path):
    """Returns the rows in an order of their own, or None if pyarrow cannot read the file.

    Returns a word if pyarrow cannot even tell the names of the columns, because a name is no UTF-8 after the damage.
    """
    with open(path, "rb") as file:
        data = file.read()
    # pyarrow's own copy of the schema may be damaged, which other readers do not notice.
    for text in (data, data.replace(b"ARROW:schema", b"arrow:schema")):
        try:
            table = pq.ParquetFile(pa.BufferReader(text)).read()
            # Damaged text may be no UTF-8.
            columns = [column.cast(pa.binary()) if pa.types.is_string(column.type) else column for column in table.columns]
            return sorted(repr(row) for row in zip(*(column.to_pylist() for column in columns), strict=True))
        except UnicodeDecodeError:
            return "names"
        except Exception:
            continue
    return None


def run(gpusort, folder, name, *options):
    """Sorts the file. Returns the exit code, or raises Wrong if gpusort does not end or its answer is of no allowed kind."""
    out = os.path.join(folder, "out.parquet")
    if os.path.exists(out):
        os.remove(out)
    try:
        done = subprocess.run([gpusort, "-k", "k", *options, "-o", "out.parquet", name], cwd=folder, capture_output=True, timeout=600)
    except subprocess.TimeoutExpired:
        raise Wrong("no end after 600 s")
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        raise Wrong(f"{signal.Signals(-done.returncode).name}: {said[-600:]}")
    if done.returncode == 0:
        return 0, said
    if done.returncode == 2 and "there is no column 'k'" in said:
        return 3, said  # the name of the key's column is damaged
    if done.returncode != 3:
        raise Wrong(f"exit {done.returncode}: {said[-600:]}")
    if os.path.exists(out):
        raise Wrong("exit 3, and an output")
    if name not in said or not said.startswith("gpusort: ") or "terminate called" in said:
        raise Wrong(f"exit 3 with another message: {said[:600]}")
    return 3, said


def one(gpusort, folder, originals, rng):
    name = rng.choice(sorted(originals))
    data, rows = originals[name]
    damaged, what = rng.choice(DAMAGES)(rng, data)
    if damaged == data:
        return "unchanged"
    path = os.path.join(folder, "damaged.parquet")
    with open(path, "wb") as file:
        file.write(damaged)
    try:
        code, _ = run(gpusort, folder, "damaged.parquet", *rng.choice([[], [], ["--threads", "1"], ["--memory", "32M"]]))
        if code == 0:
            found = rows_of(os.path.join(folder, "out.parquet"))
            if found is None:
                raise Wrong("exit 0, and pyarrow cannot read the output")
            if found not in (rows, rows_of(path)):
                raise Wrong(f"exit 0 with {len(found)} other rows")
    except Wrong as error:
        raise Wrong(f"{name}, {what}: {error}")
    return "refused" if code == 3 else "unseen"


def wrong_levels(gpusort, folder):
    """Changes bits of the levels of a list, which a page without a checksum has in front. Lists may change, but the output
    must be a file that pyarrow reads: levels that contradict each other are refused."""
    table = pa.table({"l": pa.array([[1, 2], None, [], [3], [None, 4], [5, 6, 7], None, [8]], pa.list_(pa.int8())), "k": list(range(8))})
    original, name = os.path.join(folder, "levels.parquet"), "damaged.parquet"
    pq.write_table(table, original, compression="none", use_dictionary=False, write_statistics=False)
    with open(original, "rb") as file:
        data = file.read()
    for at in range(20, 40):
        for bit in (1, 2, 4):
            damaged = data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]
            with open(os.path.join(folder, name), "wb") as file:
                file.write(damaged)
            if run(gpusort, folder, name)[0] == 0 and rows_of(os.path.join(folder, "out.parquet")) is None:
                raise Wrong(f"bit {bit} of byte {at} of {original}: exit 0, and pyarrow cannot read the output")


def encrypted(gpusort, folder):
    """Encrypted files are refused, and the message says so."""
    try:
        import pyarrow.parquet.encryption as pe
    except ImportError:
        print("SKIPPED: pyarrow has no encryption: encrypted files")
        return

    class Keys(pe.KmsClient):
        def wrap_key(self, key_bytes, master_key_identifier):
            del master_key_identifier
            return key_bytes.hex()

        def unwrap_key(self, wrapped_key, master_key_identifier):
            del master_key_identifier
            return bytes.fromhex(wrapped_key.decode() if isinstance(wrapped_key, bytes) else wrapped_key)

    table = pa.table({"k": [3, 1, 2], "secret": ["a", "b", "c"]})
    for plain_footer in (False, True):
        for columns in (["secret"], ["k", "secret"]):
            factory = pe.CryptoFactory(lambda _: Keys())
            how = pe.EncryptionConfiguration(footer_key="footer", column_keys={"column": columns}, plaintext_footer=plain_footer)
            name = "encrypted.parquet"
            properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), how)
            with pq.ParquetWriter(os.path.join(folder, name), table.schema, encryption_properties=properties) as writer:
                writer.write_table(table)
            code, said = run(gpusort, folder, name)
            if code != 3 or not re.search("encrypt", said, re.IGNORECASE):
                raise Wrong(f"an encrypted file, plain footer {plain_footer}, columns {columns}: exit {code}: {said}")


def unknown_type(gpusort, folder):
    """A type that the libraries cannot write is an error before the sort."""
    stored = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fuzz/corpus/parquet/unknown-type")
    with open(stored, "rb") as file, open(os.path.join(folder, "unknown.parquet"), "wb") as copy:
        copy.write(file.read()[1:])  # the first byte is an option of the fuzz target
    code, said = run(gpusort, folder, "unknown.parquet")
    if code != 3 or "unknown.parquet" not in said or "logical type that is not known" not in said:
        raise Wrong(f"a column of an unknown type: exit {code}: {said}")


def main():
    gpusort, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    chosen = [int(number) for number in sys.argv[4:]]
    folder = tempfile.mkdtemp(prefix="damage-", dir=os.getcwd())
    originals = {}
    for name in make_inputs(folder):
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            originals[name] = file.read(), rows_of(path)
        if run(gpusort, folder, name)[0] != 0 or rows_of(os.path.join(folder, "out.parquet")) != originals[name][1]:
            print(f"FAIL: {path} without damage")
            return 1
    failed = 0
    results: collections.Counter = collections.Counter()
    if not chosen:
        try:
            encrypted(gpusort, folder)
            wrong_levels(gpusort, folder)
            unknown_type(gpusort, folder)
        except Wrong as error:
            failed += 1
            print(f"FAIL: {error}")
    for number in chosen or range(count):
        try:
            result = one(gpusort, folder, originals, random.Random(f"{seed} {number}"))
            results[result] += 1
        except Wrong as error:
            failed += 1
            kept = os.path.join(folder, f"damaged-{seed}-{number}.parquet")
            os.replace(os.path.join(folder, "damaged.parquet"), kept)
            print(f"FAIL: damage {number} of seed {seed}, {kept}: {error}", flush=True)
    print(f"{len(chosen) or count} damages, " + ", ".join(f"{n} {what}" for what, n in sorted(results.items())) +
          f"; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
