"""Makes Parquet files for parquet.sh, and compares outputs with the order that Python computes.

parquet.py make FILE ROWS SEED [OPTION=VALUE...]   options of pyarrow.parquet.write_table
parquet.py damage FILE FIRST LAST                  writes wrong-N.parquet for each seed N: FILE with some wrong bytes
parquet.py check <LINES                            each line is OUTPUT KEY... : INPUT...; each key is COLUMN[:desc][:nulls_first|:nulls_last]; -u keeps the first
"""
import datetime
import decimal
import math
import random
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

UTC = datetime.UTC
EPOCH = datetime.datetime(2020, 1, 1)


def maybe(chance: random.Random, value: object) -> object:
    return None if chance.random() < 0.1 else value


def make(path: str, rows: int, seed: int, options: dict) -> None:
    chance = random.Random(seed)
    few = max(2, rows // 4)
    floats = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -2.25, 1e300, 5e-324]

    def column(kind: pa.DataType, value: Callable[[], object]) -> pa.Array:
        return pa.array([maybe(chance, value()) for _ in range(rows)], kind)

    def number(low: int, high: int) -> Callable[[], int]:
        return lambda: chance.choice((chance.randrange(low, high), chance.randrange(max(low, -few), min(few, high)), high - 1))

    def text() -> str:
        return "".join(chance.choice("ab\n\x1d\x00é€z") for _ in range(chance.randrange(4)))

    columns = {
        "i8": column(pa.int8(), number(-128, 128)),
        "i32": column(pa.int32(), number(-(2**31), 2**31)),
        "i64": column(pa.int64(), number(-(2**63), 2**63)),
        "u32": column(pa.uint32(), number(0, 2**32)),
        "u64": column(pa.uint64(), number(0, 2**64)),
        "f32": column(pa.float32(), lambda: chance.choice(floats)),
        "f64": column(pa.float64(), lambda: chance.choice(floats)),
        "d9": column(pa.decimal128(9, 2), lambda: decimal.Decimal(chance.randrange(-few, few)).scaleb(-2)),
        "d30": column(pa.decimal128(30, 5), lambda: decimal.Decimal(chance.randrange(-(10**25), 10**25)).scaleb(-5)),
        "utc": column(pa.timestamp("us", "UTC"), lambda: (EPOCH + datetime.timedelta(seconds=chance.randrange(few))).replace(tzinfo=UTC)),
        "local": column(pa.timestamp("ms"), lambda: EPOCH - datetime.timedelta(days=chance.randrange(20000))),
        "day": column(pa.date32(), lambda: datetime.date(1969, 1, 1) + datetime.timedelta(days=chance.randrange(800))),
        "time": column(pa.time64("us"), lambda: datetime.time(chance.randrange(24), chance.randrange(60))),
        "text": column(pa.string(), text),
        "bytes": column(pa.binary(), lambda: text().encode()),
        "fixed": column(pa.binary(3), lambda: chance.randbytes(3)),
        "flag": column(pa.bool_(), lambda: chance.random() < 0.5),
        "id": pa.array([maybe(chance, uuid.UUID(int=chance.getrandbits(128)).bytes) for _ in range(rows)], pa.binary(16)).cast(pa.uuid()),
        "list": column(pa.list_(pa.int32()), lambda: [maybe(chance, 1) for _ in range(chance.randrange(4))]),
        "struct": column(
            pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]),
            lambda: {"a": maybe(chance, 7), "b": maybe(chance, [text() for _ in range(chance.randrange(3))])},
        ),
        "map": column(pa.map_(pa.string(), pa.float64()), lambda: [(text(), 1.0) for _ in range(chance.randrange(3))]),
        "word": column(pa.string(), lambda: chance.choice(["red", "green", "blue"])).dictionary_encode(),
        "row": pa.array(range(rows), pa.int64()),
    }
    fields = [
        pa.field(name, array.type, nullable=name != "row", metadata={"PARQUET:field_id": str(i + 7)})
        for i, (name, array) in enumerate(columns.items())
    ]
    table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata={"owner": "tests"}))
    pq.write_table(table, path, write_page_index=True, **options)


def order(value: Any) -> Any:
    """Returns a value that Python orders as gpusort orders the value."""
    if isinstance(value, float):
        return (2, 0.0) if math.isnan(value) else (1, value, math.copysign(1, value))
    if isinstance(value, str):
        return value.encode()
    return value.bytes if isinstance(value, uuid.UUID) else value


def check(output: str, keys: list[str], inputs: list[str]) -> None:
    unique = "-u" in keys
    keys = [key for key in keys if key != "-u"]
    tables = [pq.read_table(path) for path in inputs]
    rows = [row for table in tables for row in table.to_pylist()]
    wanted: list[pq.SortingColumn] = []
    names = pq.ParquetFile(output).schema_arrow.names
    for key in reversed(keys):
        name, *words = key.split(":")
        falling = "desc" in words
        first = "nulls_first" in words or (falling and "nulls_last" not in words)
        nulls = [row for row in rows if row[name] is None]
        values = sorted((row for row in rows if row[name] is not None), key=lambda row: order(row[name]), reverse=falling)
        rows = nulls + values if first else values + nulls
        wanted.insert(0, pq.SortingColumn(names.index(name), falling, first))
    columns = [key.split(":")[0] for key in keys]
    if unique:
        kept: dict[tuple, dict] = {}
        for row in rows:
            kept.setdefault(tuple(order(row[name]) if row[name] is not None else None for name in columns), row)
        rows = list(kept.values())
    file = pq.ParquetFile(output)
    found = file.read().to_pylist()
    if repr(found) != repr(rows):
        wrong = next((i for i, pair in enumerate(zip(found, rows, strict=False)) if repr(pair[0]) != repr(pair[1])), -1)
        sys.exit(f"{output}: {len(found)} rows, {len(rows)} expected, first difference in row {wrong}:\n{found[wrong]}\n{rows[wrong]}")
    first_input = pq.ParquetFile(inputs[0])
    if not file.schema.equals(first_input.schema) or not file.schema_arrow.equals(first_input.schema_arrow, check_metadata=True):
        sys.exit(f"{output}: another schema: {file.schema}")
    if file.metadata.metadata != first_input.metadata.metadata:
        sys.exit(f"{output}: other key-value metadata")
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        if len(group.sorting_columns) != len(wanted) or any(
            (a.column_index >= group.num_columns, a.descending, a.nulls_first) != (False, b.descending, b.nulls_first)
            or group.column(a.column_index).path_in_schema.split(".")[0] != names[b.column_index]
            for a, b in zip(group.sorting_columns, wanted, strict=True)
        ):
            sys.exit(f"{output}: sorting_columns of row group {number}: {group.sorting_columns}")
        for i in range(group.num_columns):
            column, like = group.column(i), first_input.metadata.row_group(0).column(i)
            if column.compression != like.compression or column.has_dictionary_page != like.has_dictionary_page:
                sys.exit(f"{output}: column {column.path_in_schema}: {column.compression}")
            # NaN alone and INT96 have no statistics.
            ordered = like.has_column_index and column.physical_type not in ("FLOAT", "DOUBLE")
            if not column.has_offset_index or (ordered and not (column.has_column_index and column.is_stats_set)):
                sys.exit(f"{output}: column {column.path_in_schema} has no page index or no statistics")


def damage(path: str, seed: int) -> None:
    chance = random.Random(seed)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    # The footer has most of the numbers that a reader trusts.
    first = 0 if chance.random() < 0.6 else max(0, len(content) - 9000)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(first, len(content))
        content[at] = chance.choice([0, 255, chance.randrange(256), content[at] ^ 1 << chance.randrange(8)])
    with open(f"wrong-{seed}.parquet", "wb") as file:
        file.write(content)


def main() -> None:
    action, *words = sys.argv[1:]
    if action == "make":
        options = dict(word.split("=", 1) for word in words[3:])
        make(words[0], int(words[1]), int(words[2]), {name: eval(value) for name, value in options.items()})
    elif action == "damage":
        for seed in range(int(words[1]), int(words[2]) + 1):
            damage(words[0], seed)
    elif action == "check":
        for line in sys.stdin:
            words = line.split()
            colon = words.index(":")
            check(words[0], words[1:colon], words[colon + 1 :])


if __name__ == "__main__":
    main()
