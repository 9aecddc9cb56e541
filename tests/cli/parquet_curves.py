"""Makes Parquet files for parquet_curves.sh and checks the order of rows on curves with code of its own.

make: writes the inputs. grid: each row of a grid on the Hilbert curve is a neighbour of the row before. zorder: the
order is that of interleaved bits. boxes: row groups are small in both directions. Start at main.
"""
import datetime
import decimal
import math
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LAST = 2**32 - 2  # the last cell of values


def make() -> None:
    rng = np.random.default_rng(5)
    for columns, side in ((2, 32), (3, 8), (5, 4)):
        axes = np.meshgrid(*[np.arange(side)] * columns, indexing="ij")
        order = rng.permutation(side**columns)
        table = pa.table({f"x{i}": axis.ravel()[order] for i, axis in enumerate(axes)})
        pq.write_table(table, f"grid{columns}.parquet")
    points = 20000
    x, y = rng.random(points) * 360 - 180, rng.random(points) * 1e-3
    pq.write_table(pa.table({"x": x, "y": y}), "points.parquet", row_group_size=500)
    count = 900

    def nulls(values: list[Any]) -> list[Any]:
        return [None if i % 11 == 3 else value for i, value in enumerate(values)]

    word = ["user/" + bytes(rng.integers(97, 123, 6).tolist()).decode() for _ in range(count)]
    real = [float("nan") if i % 50 == 7 else value for i, value in enumerate(rng.normal(size=count).tolist())]
    numbers = rng.integers(-10**6, 10**9, count).tolist()
    table = pa.table({
        "i64": pa.array(nulls(numbers), pa.int64()),
        "u64": pa.array(nulls([2**63 + abs(n) for n in numbers]), pa.uint64()),
        "i16": pa.array([n % 1000 for n in numbers], pa.int16()),
        "f64": pa.array(nulls(real), pa.float64()),
        "f32": pa.array(real, pa.float32()),
        "word": pa.array(nulls(word), pa.string()),
        "time": pa.array(nulls([1_700_000_000_000_000 + 977 * n for n in numbers]), pa.timestamp("us", "UTC")),
        "day": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(n % 3000) for n in numbers], pa.date32()),
        "d9": pa.array(nulls([decimal.Decimal(n % 10**7) / 100 for n in numbers]), pa.decimal128(9, 2)),
        "d30": pa.array([decimal.Decimal(n) * 10**15 for n in numbers], pa.decimal128(30, 3)),
        "flag": pa.array([n % 3 == 0 for n in numbers], pa.bool_()),
        "row": pa.array(range(count), pa.int32()),
        "url": pa.array(nulls(["https://example.org/" + "x" * 90 + one for one in word]), pa.string()),
        "list": pa.array([[1]] * count, pa.list_(pa.int8())),
    })
    pq.write_table(table, "types.parquet", row_group_size=200)
    pq.write_table(table.slice(0, 300), "first.parquet")
    pq.write_table(table.slice(300), "second.parquet")
    pq.write_table(table, "bare.parquet", write_statistics=False)
    pq.write_table(table.slice(0, 0), "none.parquet")
    # Row groups of NaN have no range in the footer.
    hidden = table.set_column(table.schema.get_field_index("f64"), "f64",
                              pa.array([float("nan")] * 300 + rng.normal(size=count - 300).tolist(), pa.float64()))
    pq.write_table(hidden, "hidden.parquet", row_group_size=150)
    pq.write_table(hidden.slice(0, 300), "nan.parquet")


def numbers_of(column: Any) -> list[Any]:
    """Returns the values of a column as numbers or bytes, as the file stores them."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date(kind):
        column = column.cast(pa.int32())
    values: list[Any] = column.to_pylist()
    if pa.types.is_decimal(kind):
        values = [None if v is None else int(v.scaleb(kind.scale, decimal.Context(prec=60))) for v in values]
        return [None if v is None else float(v) for v in values] if kind.precision > 18 else values
    if pa.types.is_string(kind):
        return [None if v is None else v.encode() for v in values]
    return [int(v) if isinstance(v, bool) else v for v in values]


def cells_of(column: Any) -> list[int]:
    values = numbers_of(column)
    known = [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
    least, greatest = min(known), max(known)

    def cell(value: Any) -> int:
        if value is None:
            return 0
        if isinstance(value, bytes):
            common = next(i for i in range(999) if least[i] != greatest[i])
            return min(max(int.from_bytes(value[common:common + 4].ljust(4, b"\0"), "big"), 1), LAST)
        if isinstance(value, float):
            if math.isnan(value):
                return 2**32 - 1
            return 1 + int((value / 2 - least / 2) / (greatest / 2 - least / 2) * float(LAST - 1))
        return int(1 + (value - least) * (LAST - 1) // (greatest - least))

    return [cell(value) for value in values]


def zorder(output: str, inputs: list[str], columns: list[str]) -> None:
    table = pa.concat_tables([pq.read_table(name) for name in inputs])
    cells = list(zip(*[cells_of(table[name]) for name in columns], strict=True))
    places = ["".join("".join(bits) for bits in zip(*[f"{cell:032b}" for cell in row], strict=True)) for row in cells]
    order = sorted(range(len(places)), key=places.__getitem__)
    sorted_rows, kept = pq.read_table(output), ["row", "word", "d30", "list"]  # the others may be NaN
    assert sorted_rows.select(kept).equals(table.take(order).select(kept)), (output, columns)
    assert len(set(places)) > len(places) * 0.9, "the curve does not tell rows apart"
    groups = pq.ParquetFile(output).metadata
    assert groups.row_group(0).sorting_columns == (), groups.row_group(0).sorting_columns


def grid(name: str) -> None:
    rows = np.column_stack([c.to_numpy() for c in pq.read_table(name).columns])
    steps = np.abs(np.diff(rows, axis=0)).sum(axis=1)
    side = rows.max() + 1
    assert len(rows) == side**rows.shape[1] == len(np.unique(rows, axis=0))
    assert (steps == 1).all(), (name, np.unique(steps, return_counts=True))


def longer_side(name: str) -> float:
    """Returns the mean over all row groups of the longer side of the rectangle around their points. 1 is the plane."""
    footer = pq.ParquetFile(name).metadata
    assert footer.num_row_groups >= 30, footer.num_row_groups
    table = pq.read_table(name)
    whole = [float(np.ptp(table[column].to_numpy())) for column in ("x", "y")]
    sides = []
    for i in range(footer.num_row_groups):
        found = [footer.row_group(i).column(j).statistics for j in range(2)]
        sides.append(max((one.max - one.min) / whole[j] for j, one in enumerate(found)))
    return sum(sides) / len(sides)


def main() -> None:
    action, *words = sys.argv[1:]
    if action == "make":
        make()
    elif action == "grid":
        grid(words[0])
    elif action == "zorder":
        middle = words.index(":")
        zorder(words[0], words[middle + 1:], words[1:middle])
    else:
        by_x, by_zorder, by_hilbert = (longer_side(name) for name in words)
        print(f"longer side of a row group: by x {by_x:.3f}, zorder {by_zorder:.3f}, hilbert {by_hilbert:.3f}")
        assert by_hilbert < by_zorder < by_x / 3, (by_x, by_zorder, by_hilbert)


main()
