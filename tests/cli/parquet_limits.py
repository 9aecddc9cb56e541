"""Makes the Parquet files of parquet_limits.sh, and measures the memory of a job.

parquet_limits.py make             writes the files
parquet_limits.py large            writes a file that takes much memory
parquet_limits.py peak COMMAND...  prints the peak of the resident memory of a command in MB, and ends with its exit code
"""
import random
import resource
import struct
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def thrift(fields: dict[int, tuple]) -> bytes:
    """Returns a struct of the compact protocol. A field is (type, value), or (LIST, type of the elements, values)."""

    def value_of(kind: int, value: Any) -> bytes:
        if kind in (I32, I64):
            return number(2 * value)
        if kind == BINARY:
            return number(len(value)) + value.encode()
        return thrift(value)

    out, last = b"", 0
    for at, (kind, *rest) in fields.items():
        out += bytes([(at - last) << 4 | kind])
        last = at
        if kind == LIST:
            out += bytes([len(rest[1]) << 4 | rest[0]]) + b"".join(value_of(rest[0], one) for one in rest[1])
        else:
            out += value_of(kind, rest[0])
    return out + b"\0"


def page(values: list[int], starts: list[int] | None) -> bytes:
    """Returns a data page. `starts` has a 0 for each value that begins a list; None: the column is no list."""
    levels = [starts, [1] * len(values)] if starts is not None else []
    body = b""
    for one in levels:
        runs = b"".join(bytes([2, level]) for level in one)
        body += struct.pack("<I", len(runs)) + runs
    body += struct.pack(f"<{len(values)}q", *values)
    header = {1: (I32, len(values)), 2: (I32, 0), 3: (I32, 3), 4: (I32, 3)}
    return thrift({1: (I32, 0), 2: (I32, len(body)), 3: (I32, len(body)), 5: (STRUCT, header)}) + body


def make_pages(path: str, rows: int, columns: dict[str, list[bytes]], counts: dict[str, int], lists: set[str]) -> None:
    """Writes a file with these pages of its columns."""
    data, chunks, size = b"PAR1", [], 0
    schema: list[dict] = [{4: (BINARY, "root"), 5: (I32, len(columns))}]
    for name, pages in columns.items():
        bytes_of = b"".join(pages)
        facts = {1: (I32, 2), 2: (LIST, I32, [0, 3]), 3: (LIST, BINARY, [name]), 4: (I32, 0), 5: (I64, counts[name])}
        facts |= {6: (I64, len(bytes_of)), 7: (I64, len(bytes_of)), 9: (I64, len(data))}
        chunks.append({2: (I64, 0), 3: (STRUCT, facts)})
        schema.append({1: (I32, 2), 3: (I32, 2 if name in lists else 0), 4: (BINARY, name)})
        data += bytes_of
        size += len(bytes_of)
    group = {1: (LIST, STRUCT, chunks), 2: (I64, size), 3: (I64, rows)}
    footer = thrift({1: (I32, 1), 2: (LIST, STRUCT, schema), 3: (I64, rows), 4: (LIST, STRUCT, [group])})
    with open(path, "wb") as file:
        file.write(data + footer + struct.pack("<I", len(footer)) + b"PAR1")


def make() -> None:
    # Empty pages at the beginning, in the middle, in a list and at the end.
    key = [page([], None), page([5, 4], None), page([], None), page([], None), page([3], None), page([], None)]
    lists = [page([1], [0]), page([], []), page([2, 3], [0, 1]), page([], []), page([], []), page([4, 6, 7], [1, 0, 1])]
    empty = page([], [])
    counts = {"key": 3, "list": 6}
    make_pages("empty.parquet", 3, {"key": key, "list": [*lists, empty, empty]}, counts, {"list"})
    make_pages("cut.parquet", 3, {"key": key, "list": [*lists, empty, empty]}, counts | {"list": 7}, {"list"})
    # Small files of large rows.
    few = 400
    keys = pa.array([i * 7919 % few for i in range(few)])
    text = pa.DictionaryArray.from_arrays(pa.array([i % 2 for i in range(few)], pa.int32()), pa.array(["a" * 500000, "b" * 500000]))
    same = pa.array([[7] * 50000 for _ in range(few)], pa.list_(pa.int32()))
    small = pa.array(["x" if i < few - 150 else "y" * 500000 for i in range(few)])
    for name, column in (("text", text), ("same", same), ("late", small.dictionary_encode())):
        pq.write_table(pa.table({"key": keys, "value": column}), f"{name}.parquet", compression="zstd", dictionary_pagesize_limit=10**8)
    # Many columns of small pages, and dictionaries that are larger than a page.
    rows = 20000
    wide = pa.table({f"c{i}": [(row * 7919 + i) % rows for row in range(rows)] for i in range(100)})
    pq.write_table(wide, "wide.parquet", use_dictionary=False, data_page_size=8192, compression="none")
    texts = pa.table({f"c{i}": [f"{(row * 7919 + i) % 4000:06}" + "x" * 2000 for row in range(4000)] for i in range(8)})
    pq.write_table(texts, "dictionaries.parquet", compression="zstd", dictionary_pagesize_limit=10**8)
    # Bloom filters of many columns.
    names = [f"c{i}" for i in range(50)]
    table = pa.table({name: [(row * 7919 + i) % 1000 for row in range(1000)] for i, name in enumerate(names)})
    pq.write_table(table, "filters.parquet", bloom_filter_options=dict.fromkeys(names, True))
    # Rows that are larger than a row group shall be.
    block = random.Random(1).randbytes(3000000)
    blocks = [block[i * 1000 :] + block[: i * 1000] for i in range(80)]
    pq.write_table(pa.table({"key": [i * 7919 % 80 for i in range(80)], "value": blocks}), "large.parquet", row_group_size=6)
    # An output with many row groups of many columns.
    narrow = {f"c{i}": [(row * 7919 + i) % 4000 for row in range(4000)] for i in range(500)}
    pq.write_table(pa.table(narrow), "groups.parquet", use_dictionary=False, row_group_size=500)
    # Equal columns with other field ids.
    for name, ids in (("id1", "1"), ("id2", "2"), ("id0", None)):
        field = pa.field("key", pa.int64(), metadata={"PARQUET:field_id": ids} if ids else None)
        pq.write_table(pa.table({"key": [2, 1]}, schema=pa.schema([field])), f"{name}.parquet")


def make_large() -> None:
    """Writes a small file whose row group takes much memory."""
    texts = pa.array(["x" * 1000000 + f"{i:03}" for i in range(100)])
    table = pa.table({"key": list(range(100))} | {f"c{i}": texts for i in range(8)})
    pq.write_table(table, "huge.parquet", compression="zstd", dictionary_pagesize_limit=10**9)


def main() -> None:
    if sys.argv[1] in ("make", "large"):
        make() if sys.argv[1] == "make" else make_large()
        return
    code = subprocess.run(sys.argv[2:], check=False).returncode
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
    sys.exit(code)


if __name__ == "__main__":
    main()
