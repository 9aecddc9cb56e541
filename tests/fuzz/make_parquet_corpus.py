"""Makes the stored inputs of parquet_fuzz: small files of pyarrow after the byte that chooses sizes, whole and damaged.

make_parquet_corpus.py FOLDER [DAMAGED [SEED]]   with DAMAGED, writes so many damaged files instead of the stored ones
"""
import io
import os
import random
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

TABLE = pa.table({
    "i": pa.array([3, None, -1, 3], pa.int32()), "u": pa.array([1, 2, 2**64 - 1, None], pa.uint64()),
    "f": [0.0, -0.0, float("nan"), None], "s": ["b", "", None, "long" * 20], "b": [True, None, False, True],
    "x": pa.array([b"123", None, b"abc", b"\0\0\0"], pa.binary(3)), "t": pa.array([1, 2, None, 4], pa.timestamp("us", "UTC")),
    "l": [[1, None], [], None, [2]], "g": [{"a": 1, "b": None}, None, {"a": None, "b": [None, "y"]}, {"a": 2, "b": []}],
    "m": pa.array([[("k", 1.5)], [], None, [("a", None), ("b", 2.0)]], pa.map_(pa.string(), pa.float64()))})
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"compression": "none", "use_dictionary": False, "data_page_size": 20}, "snappy": {"compression": "snappy"},
    "groups": {"compression": "zstd", "row_group_size": 1, "write_page_checksum": True},
    "v2": {"compression": "gzip", "data_page_version": "2.0", "write_page_index": True},
    "delta": {"compression": "lz4", "use_dictionary": False,
              "column_encoding": {"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT", "b": "RLE"}},
    "brotli": {"compression": "brotli", "store_schema": False}}


def files() -> dict[str, bytes]:
    found = {}
    for name, options in KINDS.items():
        out = io.BytesIO()
        pq.write_table(TABLE, out, **options)
        found[name] = out.getvalue()
    one = io.BytesIO()
    pq.write_table(TABLE.select(["i"]).slice(0, 0), one)
    return found | {"no-rows": one.getvalue()}


def damaged(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(changed))
        changed[at] = rng.choice([0, 255, rng.randrange(256), changed[at] ^ 1 << rng.randrange(8)])
    if rng.random() < 0.1:
        at = rng.randrange(len(changed))
        del changed[at:at + rng.randrange(1, 9)]
    return bytes(changed)


def main() -> None:
    folder = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    os.makedirs(folder, exist_ok=True)
    originals = files()
    inputs = {f"{name}-{i}": bytes([i]) + data for i, (name, data) in enumerate(originals.items())}
    inputs |= {f"cut-{name}": b"\x21" + data[len(data) // 2:] for name, data in (("plain", originals["plain"]), ("v2", originals["v2"]))}
    if count > 0:
        names = sorted(originals)
        inputs = {f"damaged-{i}": bytes([rng.randrange(256)]) + damaged(rng, originals[rng.choice(names)]) for i in range(count)}
    for name, data in inputs.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
