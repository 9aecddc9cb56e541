"""Checks Parquet files for gpusort_check, which has the text of this file inside and passes it to python3 -c.

Shares no code with gpusort and none with its module for Parquet: it reads the files with pyarrow and compares the
values in columns of numpy. Reads each file once, in batches, so that files may be larger than memory. Only --stable
and --unique with inputs hold the keys, and 16 bytes for each row.

Start at main. Prints what gpusort_check prints for other formats. The exit codes are those of gpusort_check.
"""
import argparse
import decimal
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

GOOD, BAD, USAGE, BAD_INPUT, IO, OUT_OF_MEMORY = 0, 1, 2, 3, 4, 6


def end(code: int, message: str) -> NoReturn:
    print(f"gpusort_check: {message}", file=sys.stderr)
    sys.exit(code)


try:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
except ImportError as error:
    end(USAGE, f"--format parquet needs a python3 that has pyarrow and numpy, and {sys.executable} says: {error}. "
               "The variable GPUSORT_PYTHON names another python3")

BATCH_ROWS = 65536
M64 = (1 << 64) - 1


class ClaimError(Exception):
    """The rows of a file are not as its footer says."""


def quote(text: str) -> str:
    return "'" + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text) + "'"


# ---- Hashes of rows ---------------------------------------------------------------------------------------------


def mix(values: Any, seed: int) -> Any:
    """Returns a 64-bit hash of each 64-bit number."""
    h = values.astype(np.uint64) ^ np.uint64(seed * 0x9E3779B97F4A7C15 & M64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h ^= h >> np.uint64(shift)
        h *= np.uint64(factor)
    return h ^ (h >> np.uint64(31))


def within(starts: Any, sizes: Any) -> tuple[Any, Any]:
    """Returns for each element of all lists its index among the elements, and its index in its list."""
    ends = np.cumsum(sizes)
    place = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    return np.repeat(starts, sizes) + place, place


def fold(sizes: Any, place: Any, elements: Any) -> Any:
    """Returns a hash of each list. Consecutive elements belong to a list; `place` is their index in the list."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mix(elements + mix(place, 1), 2), dtype=np.uint64)])
    ends = np.cumsum(sizes)
    return mix(sums[ends] - sums[ends - sizes] + mix(sizes, 3), 4)


def lists(starts: Any, ends: Any, hashes: Any) -> Any:
    """Returns a hash of each list hashes[starts[i]:ends[i]]."""
    sizes = ends - starts
    at, place = within(starts, sizes)
    return fold(sizes, place, hashes[at])


def strings(starts: Any, ends: Any, octets: Any) -> Any:
    """Returns a hash of each string octets[starts[i]:ends[i]], which takes eight bytes at once."""
    sizes = ends - starts
    count = (sizes + 7) // 8
    _, place = within(starts, count)
    at = np.repeat(starts, count) + 8 * place
    left = np.minimum(np.repeat(sizes, count) - 8 * place, 8)
    padded = np.concatenate([octets, np.zeros(8, np.uint8)])
    words = np.ndarray(len(octets) + 1, "<u8", padded.data, strides=(1,))[at]
    words = words & (np.uint64(M64) >> (np.uint64(64) - 8 * left.astype(np.uint64)))
    return mix(fold(count, place, words) + mix(sizes, 12), 13)


def fixed(array: Any, dtype: Any, width: int = 1) -> Any:
    """Returns the values of an array whose type has a fixed size: a row of `width` numbers for each value."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros((len(array), width), dtype)
    values = np.frombuffer(buffer, dtype, (array.offset + len(array)) * width)
    return values.reshape(-1, width)[array.offset:]


def is_null(array: Any) -> Any:
    return fixed(pc.cast(pc.is_null(array), pa.uint8()), np.uint8)[:, 0].astype(bool)


def plain(array: Any) -> Any:
    """Returns the array without what Arrow adds to the values: dictionaries, extensions, other layouts of strings."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) or pa.types.is_string(kind) or \
            pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return pc.cast(pc.cast(array, pa.large_string()), pa.large_binary()) if "string" in str(kind) else \
            pc.cast(array, pa.large_binary())
    if pa.types.is_boolean(kind):
        return pc.cast(array, pa.uint8())
    return array


def offsets_of(array: Any) -> Any:
    """Returns the offsets of lists, maps or strings."""
    size = "i8" if str(array.type).startswith("large") else "i4"
    if len(array) == 0:
        return np.zeros(1, np.int64)
    buffer = array.buffers()[1]
    return np.frombuffer(buffer, size, array.offset + len(array) + 1)[array.offset:].astype(np.int64)


def hashed(array: Any) -> Any:
    """Returns a 64-bit hash of each value. Values are equal only if all their bits are, also of floats."""
    array = plain(array)
    kind, count = array.type, len(array)
    if pa.types.is_null(kind):
        return np.full(count, 7, np.uint64)
    if pa.types.is_struct(kind):
        found = np.full(count, 11, np.uint64)
        for i in range(kind.num_fields):
            found = mix(found * np.uint64(31) + hashed(pc.struct_field(array, [i])), 5)
    elif pa.types.is_map(kind):
        offsets = offsets_of(array)
        pairs = mix(hashed(array.keys) * np.uint64(31) + hashed(array.items), 6)
        found = lists(offsets[:-1], offsets[1:], pairs)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets = offsets_of(array)
        found = lists(offsets[:-1], offsets[1:], hashed(array.values))
    elif pa.types.is_fixed_size_list(kind):
        starts = (array.offset + np.arange(count)) * kind.list_size
        found = lists(starts, starts + kind.list_size, hashed(array.values))
    elif pa.types.is_large_binary(kind):
        offsets = offsets_of(array)
        data = array.buffers()[2]
        octets = np.frombuffer(data, np.uint8) if data is not None and data.size > 0 else np.zeros(0, np.uint8)
        found = strings(offsets[:-1], offsets[1:], octets)
    else:
        size = kind.bit_width // 8
        if size in (1, 2, 4, 8):
            found = mix(fixed(array, f"u{size}")[:, 0], 8)
        else:
            octets = np.ascontiguousarray(fixed(array, np.uint8, size)).reshape(-1)
            starts = np.arange(count) * size
            found = strings(starts, starts + size, octets)
    return np.where(is_null(array), np.uint64(0x1234567), found)


# ---- Keys -------------------------------------------------------------------------------------------------------


class Key(NamedTuple):
    text: str  # as typed
    column: int
    lower: bool  # whether capitals count as small letters
    descending: bool
    nulls_first: bool


def split_key(text: str) -> tuple[str, list[str]]:
    """Returns the name of the column, and the words after it. A name in double quotes may have colons."""
    if text.startswith(("zorder(", "hilbert(")) and text.endswith(")"):
        end(USAGE, f"--key {text}: the order of a curve is not checked; give the keys before it, if there are any")
    if text.startswith('"') and '"' in text[1:]:
        name, _, rest = text[1:].rpartition('"')
        if rest == "" or rest.startswith(":"):
            return name, rest.split(":")[1:]
    name, *words = text.split(":")
    return name, words


def is_text(kind: Any) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def is_bytes(kind: Any) -> bool:
    return any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
                                       pa.types.is_fixed_size_binary))


# The types of keys that order the values of a column as its own type does.
SAME_ORDER = {
    "int": pa.types.is_integer, "int2": pa.types.is_integer, "int4": pa.types.is_integer, "int8": pa.types.is_integer,
    "decimal": lambda t: pa.types.is_integer(t) or pa.types.is_decimal(t),
    "numeric": lambda t: pa.types.is_integer(t) or pa.types.is_decimal(t),
    "float": pa.types.is_floating, "float4": pa.types.is_floating, "float8": pa.types.is_floating,
    "text": is_text, "nocase": is_text, "bool": pa.types.is_boolean,
    "date": pa.types.is_date, "time": pa.types.is_time,
    "timestamp": pa.types.is_timestamp, "timestamptz": pa.types.is_timestamp,
    "uuid": lambda t: pa.types.is_fixed_size_binary(t) and t.byte_width == 16,
    "bytes-hex": is_bytes, "bytea": is_bytes}


def value_type(kind: Any) -> Any:
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind):
            kind = kind.value_type
        else:
            return kind


def read_key(text: str, schema: Any, reverse: bool) -> Key:
    name, words = split_key(text)
    if name.startswith("#") and name[1:].isdigit() and text.startswith("#"):
        column = int(name[1:]) - 1
        if not 0 <= column < len(schema):
            end(USAGE, f"--key {text}: the file has {len(schema)} columns")
    else:
        found = [i for i, other in enumerate(schema.names) if other == name]
        if not found:
            end(USAGE, f"--key {text}: no column {quote(name)}; the columns are " + ", ".join(schema.names[:30]))
        column = found[0]
    kind = value_type(schema.field(column).type)
    if pa.types.is_nested(kind):
        end(USAGE, f"--key {text}: the column is nested, which cannot be a key")
    descending, lower, nulls_first = False, False, None
    for word in words:
        if word in ("asc", "desc"):
            descending = word == "desc"
        elif word in ("nulls-first", "nulls-last"):
            nulls_first = word == "nulls-first"
        elif word not in SAME_ORDER:
            end(USAGE, f"--key {text}: {quote(word)} cannot be checked for Parquet")
        elif not SAME_ORDER[word](kind):
            end(USAGE, f"--key {text}: the column is {kind}, and cannot be checked as {word}")
        else:
            lower = word == "nocase"
    descending ^= reverse
    return Key(text, column, lower, descending, descending if nulls_first is None else nulls_first)


def key_parts(array: Any, key: Key) -> list[tuple[Any, bool]]:
    """Returns arrays without nulls that order the rows as the key does, each with whether it is descending."""
    array = plain(array)
    kind, nulls = array.type, is_null(array)
    parts = [(pa.array(nulls.astype(np.uint8)), key.nulls_first)]
    if pa.types.is_null(kind):
        return parts
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        values = pc.fill_null(pc.cast(array, pa.large_binary()), b"")
        if key.lower:
            capitals = bytes(range(65, 91))
            folded = bytes.maketrans(capitals, capitals.lower())
            values = pa.array([value.as_py().translate(folded) for value in values], pa.large_binary())
        return [*parts, (values, key.descending)]
    size = kind.bit_width // 8
    words: list[Any]
    if pa.types.is_floating(kind):
        # The other bits of negative numbers count the other way round. Every NaN comes after all numbers.
        bits, most = fixed(array, f"i{size}")[:, 0], np.iinfo(f"i{size}").max
        words = [np.where(np.isnan(fixed(array, f"f{size}")[:, 0]), most, np.where(bits < 0, bits ^ most, bits))]
    elif pa.types.is_decimal(kind) and size > 8:
        limbs = fixed(array, np.uint64, size // 8)
        words = [np.ascontiguousarray(limbs[:, -1]).view(np.int64)]
        words += [limbs[:, i] for i in range(size // 8 - 2, -1, -1)]
    else:
        sign = "u" if pa.types.is_unsigned_integer(kind) else "i"
        words = [fixed(array, f"{sign}{size}")[:, 0]]
    return parts + [(pa.array(np.where(nulls, word.dtype.type(0), word)), key.descending) for word in words]


def compare(parts: list[tuple[Any, bool]]) -> tuple[Any, Any]:
    """Returns for each row but the first whether it is less than the row before, and whether both are equal."""
    count = len(parts[0][0]) - 1
    less, equal = np.zeros(count, bool), np.ones(count, bool)
    for values, descending in parts:
        before, after = values[:-1], values[1:]
        wrong = pc.less(before, after) if descending else pc.less(after, before)
        less |= equal & np.asarray(wrong.to_numpy(zero_copy_only=False))
        equal &= np.asarray(pc.equal(before, after).to_numpy(zero_copy_only=False))
    return less, equal


# ---- Files ------------------------------------------------------------------------------------------------------


def leaves(kind: Any) -> int:
    """Returns the number of columns of Parquet that hold a column of Arrow."""
    kind = value_type(kind)
    if pa.types.is_map(kind):
        return leaves(kind.key_type) + leaves(kind.item_type)
    if pa.types.is_struct(kind):
        return sum(leaves(kind.field(i).type) for i in range(kind.num_fields))
    return leaves(kind.value_type) if pa.types.is_nested(kind) else 1


class File:
    def __init__(self, path: str):
        self.path, self.name = path, quote(path)
        self.parquet: Any = self.call(self.open)
        self.meta: Any = self.parquet.metadata
        self.schema: Any = self.call(lambda: self.parquet.schema_arrow)
        firsts = [0]
        for field in self.schema:
            firsts.append(firsts[-1] + leaves(field.type))
        if firsts[-1] != self.meta.num_columns:
            end(BAD_INPUT, f"{self.name}: {self.meta.num_columns} columns, but the schema has {firsts[-1]}")
        self.first_leaf = firsts[:-1]
        # pyarrow counts the times of INT96 in nanoseconds, which wrap around for years before 1677 and after 2262.
        # The microseconds order such times, and together both have all bits.
        leaf_types = [self.parquet.schema.column(i).physical_type for i in range(firsts[-1])]
        self.wide_times = [i for i, leaf in enumerate(self.first_leaf) if leaf_types[leaf:leaf + 1] == ["INT96"]]

    def open(self) -> Any:
        with open(self.path, "rb"):  # the message of the system about a file that cannot be read
            return pq.ParquetFile(self.path, page_checksum_verification=True)

    def call(self, read: Any) -> Any:
        try:
            return read()
        except MemoryError:
            end(OUT_OF_MEMORY, f"{self.name}: out of memory")
        except pa.lib.ArrowException as error:
            end(BAD_INPUT, f"{self.name}: {' '.join(str(error).split())}")
        except OSError as error:
            # pyarrow reports damaged files as OSError, too, but then without a number.
            code = BAD_INPUT if error.errno is None else IO
            end(code, f"{self.name}: {error.strerror or ' '.join(str(error).split())}")

    def batches(self, group: int) -> Iterator[tuple[Any, Any]]:
        """Returns the rows of a row group, in batches. The second batch has times of INT96 in microseconds."""
        def batches_of(parquet: Any) -> Any:
            return iter(parquet.iter_batches(BATCH_ROWS, row_groups=[group], use_threads=True))
        if self.meta.num_columns == 0:
            return
        finer = batches_of(self.parquet)
        wider = batches_of(pq.ParquetFile(self.path, coerce_int96_timestamp_unit="us")) if self.wide_times else None
        while True:
            batch = self.call(lambda: next(finer, None))
            if batch is None:
                return
            yield batch, self.call(lambda: next(wider)) if wider else batch

    def shape(self) -> str:
        """Returns the text of the schema, without the name of its root."""
        lines = str(self.parquet.schema).splitlines()[2:]
        return "\n".join(lines)


class Sums:
    """The sums over the rows of a file, and of all inputs."""

    def __init__(self) -> None:
        self.rows = 0
        self.duplicates = 0
        self.low = self.high = 0  # two sums of 64 bits, which do not depend on the order of the rows
        self.hashes: list[Any] = []
        self.parts: list[list[tuple[Any, bool]]] = []  # for each batch

    def multiset(self) -> str:
        return f"{self.high << 64 | self.low:x}"

    def add(self, hashes: Any, parts: list[tuple[Any, bool]], keep_hashes: bool, keep_keys: bool) -> None:
        self.rows += len(hashes)
        low, high = (int(mix(hashes, seed).sum(dtype=np.uint64)) for seed in (21, 22))
        self.low, self.high = self.low + low & M64, self.high + high & M64
        if keep_hashes:
            self.hashes.append(hashes)
        if keep_keys:
            self.parts.append(parts)


def parts_of(batch: Any, wider: Any, keys: list[Key], file: File) -> list[tuple[Any, bool]]:
    parts = []
    for key in keys:
        if key.column in file.wide_times:
            parts += key_parts(wider.column(key.column), key)
        parts += key_parts(batch.column(key.column), key)
    return parts


def hashes_of(batch: Any, wider: Any, file: File) -> Any:
    rows = np.zeros(batch.num_rows, np.uint64)
    for i, column in enumerate(batch.columns):
        rows = mix(rows * np.uint64(31) + hashed(column), 9)
        if i in file.wide_times:
            rows = mix(rows * np.uint64(31) + hashed(wider.column(i)), 10)
    return rows


def shown(batch: Any, row: int, key: Key) -> str:
    value = plain(batch.column(key.column))[row]
    if not value.is_valid:
        return "null"
    try:
        return repr(value.as_py())[:60]
    except (ValueError, OverflowError, decimal.DecimalException):
        return str(value)[:60]


class Order:
    """Compares rows that come in batches with the rows before."""

    def __init__(self, keys: list[Key], file: File):
        self.keys, self.file = keys, file
        self.rows = 0  # before the batch
        self.before: Any = None  # the last row of the batch before, as two batches of one row
        self.duplicates = 0
        self.descent = self.repetition = ""

    def add(self, batch: Any, wider: Any) -> None:
        if batch.num_rows == 0:
            return
        last = batch.slice(batch.num_rows - 1), wider.slice(wider.num_rows - 1)
        if self.keys:
            parts = parts_of(batch, wider, self.keys, self.file)
            shift = 0
            if self.before is not None:
                earlier = parts_of(self.before[0], self.before[1], self.keys, self.file)
                parts = [(pa.concat_arrays([a, b]), descending)
                         for (a, descending), (b, _) in zip(earlier, parts, strict=True)]
                shift = 1
            less, equal = compare(parts)
            self.duplicates += int(equal.sum())
            if less.any() and not self.descent:
                at = int(less.argmax()) + 1 - shift
                self.descent = self.explain(batch, at, *((batch, at - 1) if at else (self.before[0], 0)))
            if equal.any() and not self.repetition:
                at = int(equal.argmax()) + 1 - shift
                self.repetition = f"row {self.rows + at} has the key of the row before it"
        self.before = last
        self.rows += batch.num_rows

    def explain(self, batch: Any, at: int, old: Any, old_at: int) -> str:
        text = f"row {self.rows + at} is out of order with the row before it"
        for key in self.keys:
            values = shown(batch, at, key), shown(old, old_at, key)
            if values[0] != values[1]:
                return text + f": key {quote(key.text)} is {values[0]} after {values[1]}"
        return text


# ---- Claims of a file about its rows ----------------------------------------------------------------------------


def raw_value(leaf: Any, raw: Any) -> Any:
    """Returns a bound of the statistics as a Python number or bytes, or None if its order is not checked."""
    kind, logical = leaf.physical_type, leaf.logical_type.type
    if kind in ("INT32", "INT64"):
        bits = 32 if kind == "INT32" else 64
        unsigned = json.loads(leaf.logical_type.to_json()).get("isSigned") is False
        return int(raw) % (1 << bits) if unsigned else int(raw)
    if kind in ("FLOAT", "DOUBLE"):
        return float(raw)
    if kind == "BOOLEAN":
        return int(raw)
    if kind in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        raw = raw.encode() if isinstance(raw, str) else bytes(raw)
        if logical == "DECIMAL":
            return int.from_bytes(raw, "big", signed=True)
        return float(np.frombuffer(raw, "<f2")[0]) if logical == "FLOAT16" else raw
    return None


def least_and_greatest(array: Any, leaf: Any) -> Any:
    """Returns the least and the greatest value that is neither null nor NaN, in the form of raw_value, or None."""
    array = plain(array).drop_null()
    kind = array.type
    if pa.types.is_floating(kind):
        size = kind.bit_width // 8
        values = fixed(array, f"f{size}")[:, 0]
        values = values[~np.isnan(values)]
        return (float(values.min()), float(values.max())) if len(values) else None
    if len(array) == 0 or pa.types.is_null(kind) or leaf.physical_type == "INT96":
        return None
    if pa.types.is_decimal(kind):
        size = kind.bit_width // 8
        octets = fixed(array, np.uint8, size)
        ordered = [int.from_bytes(row.tobytes(), "little", signed=True) for row in octets]
        return min(ordered), max(ordered)
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        found = pc.min_max(pc.cast(array, pa.large_binary()))
        return found["min"].as_py(), found["max"].as_py()
    sign = "u" if pa.types.is_unsigned_integer(kind) else "i"
    numbers = fixed(array, f"{sign}{kind.bit_width // 8}")[:, 0]
    factor = 1
    if pa.types.is_date64(kind):
        factor = 86400000  # Parquet stores days
    return int(numbers.min()) // factor, int(numbers.max()) // factor


class Claims:
    """Compares what the footer says about one row group with its rows."""

    def __init__(self, file: File, group: int):
        self.file, self.group = file, group
        self.meta: Any = file.meta.row_group(group)
        self.rows = 0
        self.nulls = [0] * len(file.schema)
        self.ranges: list[Any] = [None] * len(file.schema)
        self.order = Order([], file)
        # The columns of Parquet that are whole columns of Arrow.
        columns = {leaf: i for i, leaf in enumerate(file.first_leaf)
                   if not pa.types.is_nested(value_type(file.schema.field(i).type))}
        self.scalar = {i: leaf for leaf, i in columns.items()}
        for sorting in self.meta.sorting_columns or ():
            column = columns.get(sorting.column_index)
            if column is None:
                raise ClaimError(f"row group {group}: sorting_columns names {sorting.column_index}, a nested column")
            name = file.schema.names[column]
            self.order.keys.append(Key(name, column, False, sorting.descending, sorting.nulls_first))

    def add(self, batch: Any, wider: Any) -> None:
        self.rows += batch.num_rows
        self.order.add(batch, wider)
        for i, leaf in self.scalar.items():
            column = batch.column(i)
            self.nulls[i] += int(is_null(plain(column)).sum())
            found = least_and_greatest(column, self.file.parquet.schema.column(leaf))
            if found is None:
                continue
            before = self.ranges[i]
            self.ranges[i] = found if before is None else (min(before[0], found[0]), max(before[1], found[1]))

    def finish(self) -> None:
        where = f"row group {self.group}"
        if self.rows != self.meta.num_rows:
            raise ClaimError(f"{where}: {self.rows} rows, and the footer says {self.meta.num_rows}")
        if self.order.descent:
            raise ClaimError(f"{where}: sorting_columns is wrong: {self.order.descent}")
        for i, leaf in self.scalar.items():
            found = self.meta.column(leaf).statistics
            if found is None:
                continue
            name = f"{where}, column {quote(self.file.schema.names[i])}"
            if found.has_null_count and found.null_count != self.nulls[i]:
                raise ClaimError(f"{name}: {self.nulls[i]} nulls, and the statistics say {found.null_count}")
            if not found.has_min_max or self.ranges[i] is None:
                continue
            column = self.file.parquet.schema.column(leaf)
            low, high = raw_value(column, found.min_raw), raw_value(column, found.max_raw)
            if low is None:
                continue
            if low > self.ranges[i][0] or high < self.ranges[i][1]:
                raise ClaimError(f"{name}: the values are from {self.ranges[i][0]!r} to {self.ranges[i][1]!r}, and the "
                                 f"statistics say {low!r} to {high!r}")


# ---- The checks -------------------------------------------------------------------------------------------------


class Check:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.good = True
        self.file = File(options.file)
        self.inputs = [File(path) for path in options.against]
        texts = options.key
        if not texts and not options.any_order:
            # Without keys, all columns in their order.
            texts = [f"#{i + 1}" for i in range(len(self.file.schema))]
        self.keys = [read_key(text, self.file.schema, options.reverse) for text in texts]
        self.whole = bool(options.against) and (options.stable or options.unique)

    def complain(self, message: str) -> None:
        print(f"gpusort_check: {message}", file=sys.stderr)
        self.good = False

    def scan(self, file: File, sums: Sums, keys: list[Key], keep_keys: bool, order: Order | None) -> None:
        claims = None
        for group in range(file.meta.num_row_groups):
            if order:
                claims = Claims(file, group)
            for batch, wider in file.batches(group):
                parts = parts_of(batch, wider, keys, file) if keep_keys else []
                sums.add(hashes_of(batch, wider, file), parts, self.whole, keep_keys)
                if order and claims:
                    order.add(batch, wider)
                    claims.add(batch, wider)
            if claims and file.meta.num_columns > 0:
                claims.finish()
        if file.meta.num_columns == 0:
            sums.rows = file.meta.num_rows
        if sums.rows == 0 and file.meta.num_rows != 0:
            self.complain(f"{file.name}: no rows, and the footer says {file.meta.num_rows}")

    def run(self) -> int:
        file, options = self.file, self.options
        sums, order = Sums(), Order(self.keys, file)
        try:
            self.scan(file, sums, self.keys, False, order)
            claims = True
        except ClaimError as error:
            self.complain(f"{file.name}: {error}")
            return BAD
        print(f"records:    {sums.rows}\nduplicates: {order.duplicates}\nmultiset:   {sums.multiset()}")
        if options.any_order:
            print("order:      not checked")
        else:
            if order.descent:
                self.complain(f"{file.name}: not in order: {order.descent}")
            if options.unique and order.repetition:
                self.complain(f"{file.name}: not unique: {order.repetition}")
            print("order:      " + ("ok" if self.good else "BAD"))
        print("footer:     " + ("ok" if claims else "BAD"))
        if self.inputs:
            ordered, self.good = self.good, True
            self.check_against(sums)
            self.good &= ordered
        return GOOD if self.good else BAD

    def check_against(self, sums: Sums) -> None:
        file, options = self.file, self.options
        for one in self.inputs:
            if one.shape() != file.shape():
                self.complain(f"{file.name}: the schema is not that of {one.name}: {difference(one, file)}")
                print("schema:     BAD")
                return
        first = self.inputs[0]
        # pyarrow's own copy of the schema may be written in several ways, so the schemas are compared, too.
        texts = [{k: v for k, v in (one.meta.metadata or {}).items() if k != b"ARROW:schema"} for one in (first, file)]
        if texts[0] != texts[1] or not first.schema.equals(file.schema, check_metadata=True):
            self.complain(f"{file.name}: the key-value metadata is not that of {first.name}")
        print("schema:     " + ("ok" if self.good else "BAD"))
        total = Sums()
        for one in self.inputs:
            keys = [read_key(key.text, one.schema, options.reverse) for key in self.keys]
            self.scan(one, total, keys, self.whole, None)
        schema_good, self.good = self.good, True
        if options.unique:
            if sums.rows > total.rows:
                self.complain(f"{file.name}: has {sums.rows} records, the input {total.rows}")
        elif sums.rows != total.rows:
            self.complain(f"{file.name}: has {sums.rows} records, the input {total.rows}")
        elif sums.multiset() != total.multiset():
            self.complain(f"{file.name}: the records are not those of the input: multiset sum {sums.multiset()}, the "
                          f"input's {total.multiset()}")
        if not options.unique:
            print("same set:   " + ("ok" if self.good else "BAD"))
        if self.whole and self.good:
            self.check_equal_keys(sums, total)
        if self.whole:
            print(("first ones: " if options.unique else "stable:     ") + ("ok" if self.good else "BAD"))
        self.good &= schema_good

    def check_equal_keys(self, sums: Sums, total: Sums) -> None:
        """Sorts the keys of the inputs, and compares the hashes of the rows in this order with those of FILE."""
        none: Any = np.zeros(0, np.uint64)
        hashes = np.concatenate([none, *total.hashes])
        found = np.concatenate([none, *sums.hashes])
        if total.parts and total.parts[0]:
            columns = [pa.concat_arrays([batch[i][0] for batch in total.parts]) for i in range(len(total.parts[0]))]
            directions = [descending for _, descending in total.parts[0]]
            names = [str(i) for i in range(len(columns) + 1)]
            table = pa.table([*columns, pa.array(np.arange(total.rows))], names)
            rows = pc.sort_indices(table, [(name, "descending" if descending else "ascending")
                                           for name, descending in zip(names, [*directions, False], strict=True)])
            place = rows.to_numpy()
            if self.options.unique:
                _, equal = compare([(column.take(rows), d) for column, d in zip(columns, directions, strict=True)])
                place = place[np.concatenate([[True], ~equal])]
            hashes = hashes[place]
        if len(hashes) != len(found):
            self.complain(f"{self.file.name}: has {len(found)} records, and the inputs {len(hashes)} different keys")
            return
        wrong = hashes != found
        if wrong.any():
            what = "is not the first of the records with its key" if self.options.unique else \
                "is not the next of the inputs with its key"
            self.complain(f"{self.file.name}: row {int(wrong.argmax())} {what}")


def difference(one: File, other: File) -> str:
    ours, theirs = one.shape().splitlines(), other.shape().splitlines()
    for a, b in zip(ours, theirs, strict=False):
        if a != b:
            return f"{quote(b.strip())} instead of {quote(a.strip())}"
    return f"{len(theirs)} lines instead of {len(ours)}"


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in ("reverse", "any-order", "unique", "stable"):
        parser.add_argument("--" + flag, action="store_true")
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--against", action="append", default=[])
    parser.add_argument("--threads", type=int)
    parser.add_argument("file")
    options = parser.parse_args()
    if options.threads:
        pa.set_cpu_count(options.threads)
    try:
        return Check(options).run()
    except MemoryError:
        end(OUT_OF_MEMORY, "out of memory")


if __name__ == "__main__":
    code = main()
    try:
        sys.stdout.flush()
    except OSError:
        end(IO, "standard output: cannot write")
    sys.exit(code)
