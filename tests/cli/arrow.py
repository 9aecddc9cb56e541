"""Makes Arrow files, and compares outputs of gpusort with rows that Python sorts.

make DIR ROWS: writes the inputs. check OUTPUT KEY... : INPUT...: compares the output with the sorted rows of the
inputs; KEY is NAME or NAME:desc; null counts as the greatest value. damage FILE GPUSORT: sorts damaged copies.
"""

import random
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

try:
    import polars
except ImportError:
    polars = None

STRINGS = (pa.string(), pa.large_string(), pa.string_view())
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
# Each type, also those that Parquet does not have: it keeps seconds as milliseconds, for example.
PLAIN = [
    pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
    pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"),
    pa.time64("us"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "Europe/Paris"),
    pa.timestamp("ns", "+01:00"), pa.timestamp("s", "UTC"), pa.timestamp("us", "UTC"), pa.duration("s"),
    pa.duration("ns"), pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(5, 2), pa.decimal128(38, 2),
    pa.decimal256(5, 2), pa.decimal256(76, 3), pa.decimal128(5, -2), pa.decimal128(3, 5), *STRINGS, *BYTES,
    pa.binary(7),
]  # fmt: skip
NESTED = [
    pa.list_(pa.string()), pa.large_list(pa.field("foo", pa.int32())), pa.list_(pa.int32(), 3),
    pa.list_view(pa.int32()), pa.large_list_view(pa.string()), pa.map_(pa.string(), pa.int32()),
    pa.map_(pa.string(), pa.list_(pa.int16()), True), pa.list_(pa.timestamp("s")), pa.list_(pa.list_(pa.int32(), 2)),
    pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string_view())), pa.field("c", pa.int64(), False)]),
    pa.struct([("f", pa.list_(pa.int16(), 2)), ("t", pa.time32("s"))]), pa.list_(pa.uuid()), pa.uuid(),
]  # fmt: skip
DICTIONARIES = [
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.int64(), True),
    pa.dictionary(pa.uint32(), pa.string_view()),
]
REFUSED = {
    "union": pa.dense_union([pa.field("a", pa.int32())]),
    "interval": pa.month_day_nano_interval(),
    "runs": pa.run_end_encoded(pa.int32(), pa.string()),
    "none": pa.struct([]),
    "empty": pa.binary(0),
    "nothing": pa.list_(pa.int32(), 0),
    "inside": pa.list_(pa.month_day_nano_interval()),
}
random.seed(7)


def value(type_):
    """Returns a random value of a type."""
    types, below = pa.types, random.randrange
    if types.is_null(type_):
        return None
    if types.is_boolean(type_):
        return random.random() < 0.5
    if types.is_unsigned_integer(type_):
        return below(2**type_.bit_width)
    if types.is_integer(type_):
        return below(-(2 ** (type_.bit_width - 1)), 2 ** (type_.bit_width - 1))
    if types.is_float16(type_):
        return np.float16(below(-100, 100) / 8)
    if types.is_floating(type_):
        return random.choice([float(np.float32(random.gauss(0, 1))), float("inf")])
    if types.is_date64(type_):
        return below(-10000, 30000) * 86400000
    if types.is_date32(type_) or types.is_time(type_):
        return below(30000)
    if types.is_temporal(type_):
        return below(-(10**9), 10**9)
    if types.is_decimal(type_):
        most = 10 ** min(type_.precision, 20)
        return Decimal(below(-most + 1, most)).scaleb(-type_.scale)
    if type_ in STRINGS:
        return "".join(random.choices("abcäöü€", k=below(20)))
    if type_ == pa.uuid():
        return random.randbytes(16)
    if types.is_fixed_size_binary(type_):
        return random.randbytes(type_.byte_width)
    if type_ in BYTES:
        return random.randbytes(below(20))
    if types.is_map(type_):
        return [(value(type_.key_type), any_value(type_.item_type)) for _ in range(below(3))]
    if types.is_struct(type_):
        return {field.name: any_value(field.type) if field.nullable else value(field.type) for field in type_}
    count = type_.list_size if types.is_fixed_size_list(type_) else below(4)
    return [any_value(type_.value_type) for _ in range(count)]


def any_value(type_):
    """Returns a random value of a type, or null."""
    return None if random.random() < 0.15 else value(type_)


def column(type_, rows):
    """Returns an array of random values."""
    if pa.types.is_dictionary(type_):
        words = pa.array(sorted({value(type_.value_type) for _ in range(5)}), type_.value_type)
        numbers = [None if i % 7 == 0 else random.randrange(len(words)) for i in range(rows)]
        return pa.DictionaryArray.from_arrays(pa.array(numbers, type_.index_type), words, ordered=type_.ordered)
    if type_ == pa.list_(pa.uuid()):
        return pa.ListArray.from_arrays(range(0, 2 * rows + 1, 2), column(pa.uuid(), 2 * rows), type=type_)
    if pa.types.is_decimal(type_) and not 0 <= type_.scale <= type_.precision:
        whole = column(pa.decimal128(type_.precision, 0), rows)
        return pa.Array.from_buffers(type_, rows, whole.buffers())
    return pa.array([any_value(type_) for _ in range(rows)], type_)


def table(rows):
    """Returns a table with a column of each type."""
    types = PLAIN + NESTED + DICTIONARIES
    fields = [pa.field("row", pa.int64(), False)]
    fields += [pa.field(f"c{i}", type_, metadata={"number": str(i)}) for i, type_ in enumerate(types)]
    columns = [pa.array(range(rows), pa.int64())] + [column(type_, rows) for type_ in types]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, {"made": "by a test"}))


def write(path, rows, batch_rows=100, compression=None):
    """Writes a table as a file, or as a stream if the name says so."""
    options = ipc.IpcWriteOptions(compression=compression)
    new = ipc.new_stream if path.endswith(".arrows") else ipc.new_file
    extra = {} if path.endswith(".arrows") else {"metadata": {"footer": "kept"}}
    with new(path, rows.schema, options=options, **extra) as writer:
        writer.write_table(rows, batch_rows)


def make(rows):
    """Writes the inputs."""
    all_types = table(rows)
    for codec in (None, "lz4", "zstd"):
        write(f"{codec}.arrow", all_types, rows // 5, codec)
        write(f"{codec}.arrows", all_types, rows // 5, codec)
    write("none.arrow", all_types[:0])
    write("one.arrow", all_types[:1])
    write("small.arrow", pa.table({"k": pa.array([3, 1, 2]), "t": ["c", "a", "b"]}), 1)
    write("other.arrow", pa.table({"k": pa.array([3, 1, 2]), "t": pa.array(["c", "a", "b"], pa.large_string())}))
    for name, type_ in REFUSED.items():
        write(f"refused-{name}.arrow", pa.table({"k": pa.array([1]), "bad": pa.nulls(1, type_)}))
    numbers = pa.array([n * 7919 % 300007 for n in range(300000)])
    text = pa.array([f"text {n % 1000}" for n in range(300000)])
    write("large.arrow", pa.table({"k": numbers, "t": text}), 1000, "lz4")
    write("batch.arrow", pa.table({"k": numbers, "t": text}), 300000)
    if polars is not None:
        frame = polars.DataFrame({"k": [3, None, 1], "t": ["x", None, "long text that is not in a view"]})
        words = polars.Series("c", ["b", "a", "b"], polars.Categorical)
        frame = frame.with_columns(words, polars.Series("l", [[1], [], None]))
        frame.write_ipc("polars.arrow", compression="zstd")
        frame.write_ipc_stream("polars.arrows")


def read(path):
    """Returns the rows and, for a file, the metadata of its end."""
    with open(path, "rb") as file:
        if file.read(6) != b"ARROW1":
            return ipc.open_stream(path).read_all(), None
    return ipc.open_file(path).read_all(), ipc.open_file(path).metadata


def whole(chunked):
    """Returns a column as one array."""
    return pa.concat_arrays(chunked.chunks) if chunked.num_chunks > 0 else column(chunked.type, 0)


def plain(chunked):
    """Returns a column as one array without its dictionary."""
    array = whole(chunked)
    if not pa.types.is_dictionary(array.type):
        return array
    words = array.dictionary.to_pylist()
    return pa.array([None if i is None else words[i] for i in array.indices.to_pylist()], array.type.value_type)


def numbers_of(array, descending):
    """Returns for each row a number in the order of the values."""
    raw = array
    if pa.types.is_decimal(array.type):
        width = array.type.bit_width // 8
        data = array.buffers()[1].to_pybytes()
        raw = [int.from_bytes(data[i * width : (i + 1) * width], "little", signed=True) for i in range(len(array))]
    elif pa.types.is_temporal(array.type):
        raw = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()
    else:
        raw = [one.encode() if isinstance(one, str) else one for one in array.to_pylist()]
    valid = array.is_valid().to_pylist()
    order = {one: i for i, one in enumerate(sorted({one for one, there in zip(raw, valid, strict=True) if there}))}
    keys = [order[one] if there else len(order) for one, there in zip(raw, valid, strict=True)]
    return [-key for key in keys] if descending else keys


def check(words):
    """Compares an output with the sorted rows of its inputs."""
    output, at = words[0], words.index(":")
    got, footer = read(output)
    inputs = [read(path) for path in words[at + 1 :]]
    wanted = [pa.concat_arrays([plain(one[name]) for one, _ in inputs]) for name in inputs[0][0].column_names]
    names = inputs[0][0].column_names
    keys = []
    for key in words[1:at]:
        name, _, way = key.partition(":")
        keys.append(numbers_of(wanted[names.index(name)], way == "desc"))
    order = sorted(range(len(wanted[0])), key=lambda row: [key[row] for key in keys])
    got.validate(full=True)
    for field, array, name in zip(inputs[0][0].schema, wanted, names, strict=True):
        there = got.schema.field(name)
        assert there.type == array.type and str(there.type) == str(array.type), (field, there)
        assert there.nullable == field.nullable and there.metadata == field.metadata, (field, there)
        mine = whole(got[name])
        if order == list(range(len(order))):
            assert mine.equals(array), (output, name)
        else:
            there = values(array)
            assert repr(values(mine)) == repr([there[row] for row in order]), (output, name)
    assert got.schema.metadata == inputs[0][0].schema.metadata
    if footer is not None and inputs[0][1] is not None:
        assert footer == inputs[0][1], footer


def values(array):
    """Returns the values of an array, those of times as numbers."""
    type_ = array.type
    if pa.types.is_temporal(type_):
        return array.view(pa.int32() if type_.bit_width == 32 else pa.int64()).to_pylist()
    return [str(one) for one in array] if pa.types.is_decimal(type_) else array.to_pylist()


def damage(path, gpusort, count):
    """Sorts damaged copies of a file: each run is an error of the input, or sorts."""
    with open(path, "rb") as file:
        good = file.read()
    codes = set()
    for number in range(count):
        bad = bytearray(good)
        if number % 4 == 0:
            del bad[random.randrange(len(bad)) :]
        for _ in range(random.randrange(1, 4)):
            if bad:
                bad[random.randrange(len(bad))] = random.randrange(256)
        with open("bad.arrow", "wb") as file:
            file.write(bad)
        command = [gpusort, "--device", "cpu", "--memory", "200M", "--force", "-k", "row", "bad.arrow", "bad-out.arrow"]
        run = subprocess.run(command, capture_output=True, timeout=600, check=False)
        assert run.returncode in (0, 2, 3), (number, run.returncode, run.stderr)
        codes.add(run.returncode)
    assert 3 in codes, codes


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]))
    elif sys.argv[1] == "check":
        for line in sys.stdin:
            check(line.split())
    else:
        damage(sys.argv[2], sys.argv[3], int(sys.argv[4]))
