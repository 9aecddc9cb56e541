"""Sorts Parquet files of pyarrow, DuckDB and polars by gpusort, and reads the results by all three.

Usage: parquet_readers.py GPUSORT GPUSORT_CHECK COUNT [SEED] [CASE...]. Runs the named cases and COUNT random ones.
With CASE, a name or a number, runs only these. Prints how to repeat a failing case, and leaves its files.

The order that is expected comes from Python's sort of the values as numbers or bytes. Each reader must find the rows
of the input in this order. A reader that cannot read the input is not asked about the output.
"""
import collections
import contextlib
import itertools
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq

try:
    import duckdb
except ImportError:
    duckdb = None
try:
    import polars
except ImportError:
    polars = None

FLOATS = {16: ("e", "h"), 32: ("f", "i"), 64: ("d", "q")}  # letters of struct
FEW = bool(os.environ.get("GPUSORT_FEW"))
CODECS = ["snappy", "zstd", "gzip", "brotli", "lz4", "none"]


class Wrong(Exception):
    pass


# ---- Values as Python values, with all bits ---------------------------------------------------------------------


def value_type(kind):
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind):
            kind = kind.value_type
        else:
            return kind


def values_of(array):
    """Returns the values as numbers, bytes, tuples and lists. A float is an integer that holds its bits."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return values_of(array.storage)
    if pa.types.is_dictionary(kind):
        return values_of(array.dictionary_decode())
    valid = array.is_valid().to_pylist()
    rows: list
    if pa.types.is_struct(kind):
        fields = [values_of(field) for field in array.flatten()]
        rows = [tuple(field[i] for field in fields) for i in range(len(array))]
    elif pa.types.is_map(kind):
        offsets = array.offsets.to_pylist()
        pairs = list(zip(values_of(array.keys), values_of(array.items), strict=True))
        rows = [pairs[a:b] for a, b in itertools.pairwise(offsets)]
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets, values = array.offsets.to_pylist(), values_of(array.values)
        rows = [values[a:b] for a, b in itertools.pairwise(offsets)]
    elif pa.types.is_fixed_size_list(kind):
        size, values = kind.list_size, values_of(array.values)
        rows = [values[(array.offset + i) * size:(array.offset + i + 1) * size] for i in range(len(array))]
    elif pa.types.is_floating(kind) or pa.types.is_temporal(kind):
        rows = array.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]).to_pylist()
    elif any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
        rows = [value if value is None else value.encode() for value in array.to_pylist()]
    else:
        rows = array.to_pylist()
    return [value if ok else None for value, ok in zip(rows, valid, strict=True)]


def columns_of(table):
    return [[value for chunk in column.chunks for value in values_of(chunk)] for column in table.columns]


def float_order(bits, width):
    """Returns a number that orders floats with these bits: -0 before 0, and every NaN after all numbers."""
    letter, integer = FLOATS[width]
    if math.isnan(struct.unpack(letter, struct.pack(integer, bits))[0]):
        return 1 << 64
    return bits if bits >= 0 else bits ^ ((1 << (width - 1)) - 1)


def key_words(key):
    name, *words = key.split(":")
    return name, words


def stable_order(table, columns, keys, reverse):
    """Returns the numbers of the rows in the order of the keys, and the keys of each row."""
    rows = list(range(table.num_rows))
    all_keys: list = [[] for _ in rows]
    for key in reversed(keys):
        name, words = key_words(key)
        at = table.column_names.index(name)
        kind, column = value_type(table.schema.field(at).type), columns[at]
        descending = ("desc" in words) ^ reverse
        nulls_first = "nulls-first" in words or (descending and "nulls-last" not in words)

        def value(row, kind=kind, column=column):
            if pa.types.is_floating(kind):
                return float_order(column[row], kind.bit_width)
            return column[row]
        for row, found in enumerate(all_keys):
            found.append(None if column[row] is None else value(row))
        there = sorted((row for row in rows if column[row] is not None), key=value, reverse=descending)
        null = [row for row in rows if column[row] is None]
        rows = null + there if nulls_first else there + null
    return rows, all_keys


# ---- Readers ----------------------------------------------------------------------------------------------------


def table_of(paths):
    """Reads each row group by itself: pyarrow cannot always read nested dictionaries of several row groups at once."""
    tables = []
    for path in paths:
        file = pq.ParquetFile(path)
        groups = file.metadata.num_row_groups if file.metadata.num_columns > 0 else 0
        tables += [file.read_row_group(group) for group in range(groups)] if groups > 0 else [file.read()]
    return pa.concat_tables(tables)


def by_pyarrow(paths):
    return list(zip(*columns_of(table_of(paths)), strict=True))


def by_duckdb(paths):
    rows = []
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        for path in paths:
            rows += connection.execute("SELECT * FROM read_parquet(?, hive_partitioning=false)", [path]).fetchall()
    return rows


def by_polars(paths):
    return [row for path in paths for row in polars.read_parquet(path, hive_partitioning=False).rows()]


@contextlib.contextmanager
def quiet():
    """Hides what libraries print on stderr, such as the panics of polars."""
    stderr = os.dup(2)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def attempt(function):
    """Returns the result of the function, or None if a library cannot do it."""
    try:
        with quiet():
            return function()
    except Exception:
        return None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # polars
            raise
        return None


def readable(reader, paths):
    """Returns the texts of the rows. NaN and -0.0 have texts, too. None: the reader cannot read these files."""
    return attempt(lambda: [repr(row) for row in reader(paths)])


READERS = {"pyarrow": by_pyarrow}
if duckdb is not None:
    READERS["DuckDB"] = by_duckdb
if polars is not None:
    READERS["polars"] = by_polars


# ---- Random tables ----------------------------------------------------------------------------------------------


def pick_scalar(rng):
    unit = rng.choice(["s", "ms", "us", "ns"])
    zone = rng.choice([None, None, "UTC", "Europe/Berlin"])
    precision = rng.choice([1, 5, 9, 10, 18, 19, 25, 38, 39, 60, 76])
    scale = rng.randint(0, precision)
    decimal = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    return rng.choice([
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float16(), pa.float32(), pa.float64(), pa.float64(), decimal, decimal, pa.date32(), pa.date64(),
        pa.time32(rng.choice(["s", "ms"])), pa.time64(rng.choice(["us", "ns"])), pa.timestamp(unit, zone),
        pa.timestamp(unit, zone), pa.duration(unit), pa.string(), pa.string(), pa.large_string(),
        pa.binary(), pa.large_binary(), pa.binary(rng.choice([1, 5, 16])), pa.uuid(), pa.null(),
        pa.dictionary(pa.int32(), pa.string()), pa.json_()])


def pick_type(rng, depth):
    if depth == 0 or rng.random() < 0.75:
        return pick_scalar(rng)
    child = pick_type(rng, depth - 1)
    while pa.types.is_null(value_type(child)):
        child = pick_type(rng, depth - 1)
    kind = rng.randrange(5)
    if kind == 0:
        return pa.struct([pa.field(f"m{i}", pick_type(rng, depth - 1)) for i in range(rng.randint(1, 3))])
    if kind == 1:
        return pa.map_(pa.string(), child)
    if kind == 2:
        return pa.list_(child, rng.randint(1, 3))
    return pa.large_list(child) if kind == 3 else pa.list_(child)


WORDS = ["", "a", "A", "b", "ab", "\n", "\0", "a\nb", "\\", "\x01", "é", "ß", "\U0001F600", "x" * 300, " ", "null", "\\N"]


def make_values(rng, kind, count, few):
    """Returns an array without nulls at its top. `few`: the values repeat."""
    def numbers(low, high):
        special = [low, high, 0, 1, -1, low + 1, high - 1, 256, 10, 13]
        pool = [rng.choice(special) if rng.random() < 0.4 else rng.randint(low, high) for _ in range(5 if few else count)]
        pool = [min(max(low, n), high) for n in pool] or [0]
        return [rng.choice(pool) for _ in range(count)]
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "arrow.json":
            values = pa.array([rng.choice(["{}", "[1, 2]", "null", '{"a": "b"}']) for _ in range(count)], kind.storage_type)
        else:
            values = make_values(rng, kind.storage_type, count, few)
        return pa.ExtensionArray.from_storage(kind, values)
    if pa.types.is_dictionary(kind):
        return make_values(rng, kind.value_type, count, True).dictionary_encode()
    if pa.types.is_null(kind):
        return pa.nulls(count)
    if pa.types.is_boolean(kind):
        return pa.array([rng.random() < 0.5 for _ in range(count)], kind)
    if pa.types.is_integer(kind):
        signed = pa.types.is_signed_integer(kind)
        bits = kind.bit_width
        return pa.array(numbers(-(1 << (bits - 1)) if signed else 0, (1 << (bits - signed)) - 1), kind)
    if pa.types.is_floating(kind):
        letter, integer = FLOATS[kind.bit_width]
        named = [struct.unpack(integer, struct.pack(letter, value))[0]
                 for value in (0.0, -0.0, 1.0, -1.5, float("inf"), -float("inf"), float("nan"), -float("nan"), 2.5)]
        width = kind.bit_width
        bits = [rng.choice(named) if few or rng.random() < 0.5 else rng.randint(-(1 << (width - 1)), (1 << (width - 1)) - 1)
                for _ in range(count)]
        return pa.array(bits, {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[width]).view(kind)
    if pa.types.is_decimal(kind):
        import decimal
        most = 10 ** kind.precision - 1
        context = decimal.Context(prec=80)
        return pa.array([decimal.Decimal(n).scaleb(-kind.scale, context) for n in numbers(-most, most)], kind)
    if pa.types.is_date32(kind):
        return pa.array(numbers(-719162, 2932896), pa.int32()).view(kind)
    if pa.types.is_date64(kind):
        return pa.array([86400000 * n for n in numbers(-719162, 2932896)], pa.int64()).view(kind)
    if pa.types.is_time(kind):
        second = {"s": 1, "ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}[kind.unit]
        return pa.array(numbers(0, 86400 * second - 1), pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        second = {"s": 1, "ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}[kind.unit]
        return pa.array(numbers(-2 * 10 ** 9 * second, 4 * 10 ** 9 * second), pa.int64()).view(kind)
    if pa.types.is_fixed_size_binary(kind):
        pool = [rng.randbytes(kind.byte_width) for _ in range(3 if few else count)] or [b""]
        return pa.array([rng.choice([*pool, b"\xff" * kind.byte_width, b"\n" * kind.byte_width]) for _ in range(count)], kind)
    if any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
        return pa.array([rng.choice(WORDS) if few or rng.random() < 0.5 else
                         "".join(rng.choice(WORDS[:13]) for _ in range(rng.randrange(8))) for _ in range(count)], kind)
    if any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary)):
        return pa.array([rng.choice([b"", b"\xff", b"\xff\xff", b"\0", b"\n"]) if few else rng.randbytes(rng.randrange(9))
                         for _ in range(count)], kind)
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays([make_array(rng, field.type, count, few) for field in kind], fields=list(kind),
                                          mask=pa.array([rng.random() < 0.2 for _ in range(count)], pa.bool_()))
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(make_array(rng, kind.value_type, count * kind.list_size, few), type=kind)
    offsets = [0]
    for _ in range(count):
        offsets.append(offsets[-1] + rng.choice([0, 0, 1, 2, 5]))
    if pa.types.is_map(kind):
        keys = pa.array([f"k{i}" for i in range(offsets[-1])], kind.key_type)
        return pa.MapArray.from_arrays(offsets, keys, make_array(rng, kind.item_type, offsets[-1], few), type=kind)
    child = make_array(rng, kind.value_type, offsets[-1], few)
    if pa.types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), child, type=kind)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), child, type=kind)


def make_array(rng, kind, count, few=None):
    if few is None:
        few = rng.random() < 0.6
    if pa.types.is_string_view(kind):
        return make_array(rng, pa.string(), count, few).cast(kind)
    values = make_values(rng, kind, count, few)
    share = rng.choice([0, 0, 0.1, 0.5, 0.95])
    if share == 0 or pa.types.is_null(kind) or count == 0:
        return values
    # A place that is null has no value, so that nulls take part in offsets and dictionaries, too.
    return values.take(pa.array([None if rng.random() < share else i for i in range(count)], pa.int64()))


def make_schema(rng, width, metadata=True):
    fields = []
    for i in range(width):
        kind = pa.string_view() if rng.random() < 0.05 else pick_type(rng, 2)
        field = pa.field(rng.choice(["c%d", "Column %d", "c.%d", "ü%d"]) % i, kind)
        if rng.random() < 0.15 and is_scalar(kind) and not pa.types.is_null(kind) and not pa.types.is_string_view(kind):
            field = field.with_nullable(False)
        if metadata and rng.random() < 0.3:
            field = field.with_metadata({"PARQUET:field_id": str(rng.randrange(1000) * 100 + i)})
        fields.append(field)
    texts = {"origin": "made by a test", "pandas": '{"columns": []}'} if metadata and rng.random() < 0.5 else None
    return pa.schema(fields, texts)


def make_table(rng, schema, count):
    arrays = []
    for field in schema:
        array = make_array(rng, field.type, count)
        if not field.nullable:
            array = make_values(rng, field.type, count, rng.random() < 0.6)
        arrays.append(array)
    return pa.table(arrays, schema)


# ---- Writers ----------------------------------------------------------------------------------------------------


def pyarrow_options(rng, schema):
    options = {
        "compression": rng.choice(CODECS), "data_page_version": rng.choice(["1.0", "2.0"]),
        "use_dictionary": rng.choice([True, True, False]), "version": rng.choice(["1.0", "2.4", "2.6", "2.6"]),
        "write_statistics": rng.random() < 0.8, "store_schema": rng.random() < 0.6,
        "write_page_checksum": rng.random() < 0.3, "write_page_index": rng.random() < 0.3,
        "use_compliant_nested_type": rng.random() < 0.8, "row_group_size": rng.choice([1, 7, 100, 10 ** 6])}
    if rng.random() < 0.4:
        options["dictionary_pagesize_limit"] = rng.choice([1, 100])  # dictionaries end soon, and plain pages follow
    if rng.random() < 0.4:
        options["data_page_size"] = rng.choice([1, 100, 1000])
    if rng.random() < 0.25:
        options["use_dictionary"] = False
        encodings = {}
        for field in schema:
            if pa.types.is_int32(field.type) or pa.types.is_int64(field.type):
                encodings[field.name] = rng.choice(["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"])
            elif pa.types.is_string(field.type) or pa.types.is_binary(field.type):
                encodings[field.name] = rng.choice(["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "PLAIN"])
            elif pa.types.is_float64(field.type) or pa.types.is_float32(field.type):
                encodings[field.name] = "BYTE_STREAM_SPLIT"
            elif pa.types.is_boolean(field.type):
                encodings[field.name] = "RLE"
        options["column_encoding"] = {name: encoding for name, encoding in encodings.items() if "." not in name} or None
    return options


def write(rng, writer, table, path, options):
    """Writes the table. Returns False if this writer does not have the types of the table."""
    codec = options.get("compression", "snappy")
    plain = "uncompressed" if codec == "none" else codec

    def write_file():
        if writer == "pyarrow":
            pq.write_table(table, path, **options)
        elif writer == "DuckDB":
            # DuckDB writes INTERVAL, which has no order.
            if "duration" in str(table.schema):
                return False
            with duckdb.connect() as connection:
                connection.register("t", table)
                connection.execute(f"COPY (SELECT * FROM t) TO '{path}' (FORMAT parquet, COMPRESSION {plain}, "
                                   f"PARQUET_VERSION {rng.choice(['V1', 'V2'])}, ROW_GROUP_SIZE {rng.choice([2048, 122880])})")
        else:
            polars.from_arrow(table).write_parquet(
                path, compression=plain, statistics=rng.choice([True, False, "full"]),
                row_group_size=rng.choice([1, 50, None]) if table.num_rows < 1000 else None,
                data_page_size=rng.choice([None, 100, 10000]))
        return True
    # pyarrow writes a few files of tiny pages that it cannot read.
    return attempt(lambda: write_file() and table_of([path]) is not None) or False


# ---- A case -----------------------------------------------------------------------------------------------------


def shape(path):
    """Returns the text of the schema of Parquet, without the name of its root."""
    return str(pq.ParquetFile(path).schema).split("\n", 2)[2]


def first_difference(wanted, found):
    if len(wanted) != len(found):
        return f"{len(found)} rows instead of {len(wanted)}"
    for i, (a, b) in enumerate(zip(wanted, found, strict=True)):
        if a != b:
            return f"row {i}: {b[:300]} instead of {a[:300]}"
    return None


def is_scalar(kind):
    return not pa.types.is_nested(value_type(kind))


class Case:
    def __init__(self, programs, folder):
        self.gpusort, self.check = programs
        self.folder = folder
        self.command = []
        # gpusort_check starts a Python, which takes longer than the rest of a case.
        self.with_checker = not FEW or os.path.basename(folder) in ("several", "nested", "0", "1")

    def run(self, *words, code=0):
        self.command = [str(word) for word in words]
        done = subprocess.run([self.gpusort, *self.command], capture_output=True, text=True, cwd=self.folder, timeout=600)
        if done.returncode != code:
            raise Wrong(f"exit {done.returncode} instead of {code}: {done.stderr[-600:]}")
        if done.returncode != 0 and (not done.stderr.startswith("gpusort: ") or len(done.stderr) > 2000):
            raise Wrong(f"a message of another kind: {done.stderr[:600]}")
        return done.stderr

    def sort(self, inputs, keys, *options, output="out.parquet"):
        """Sorts the inputs, and compares the result with the rows, the schema and the claims that are expected."""
        path = os.path.join(self.folder, output)
        if os.path.exists(path):
            os.remove(path)
        words = [word for key in keys for word in ("-k", key)]
        self.run(*words, *options, "-o", output, *inputs)
        sources = [os.path.join(self.folder, name) for name in inputs]
        self.compare(sources, path, keys, options)

    def compare(self, sources, path, keys, options):
        table = table_of(sources)
        rows, all_keys = stable_order(table, columns_of(table), keys, "-r" in options)
        if "-u" in options:
            rows = [next(group) for _, group in itertools.groupby(rows, key=lambda row: repr(all_keys[row]))]
        if "--top" in options:
            rows = rows[:int(options[options.index("--top") + 1])]
        for name, reader in READERS.items():
            before = readable(reader, sources)
            if before is None or len(before) != table.num_rows:
                if name == "pyarrow":
                    raise Wrong("pyarrow cannot read its own rows: a mistake of this test")
                continue
            found = readable(reader, [path])
            if found is None:
                raise Wrong(f"{name} cannot read the output")
            if problem := first_difference([before[row] for row in rows], found):
                raise Wrong(f"{name}: {problem}")
        self.compare_footer(sources, path, keys, options)
        if self.with_checker and "--top" not in options:
            words = [word for key in keys for word in ("-k", key)] + [word for word in options if word in ("-r", "-u")]
            if "-u" not in words:
                words.append("--stable")
            against = [word for source in sources for word in ("--against", source)]
            done = subprocess.run([self.check, "--format", "parquet", *words, *against, path], capture_output=True, text=True,
                                  env={**os.environ, "GPUSORT_PYTHON": sys.executable})
            if done.returncode != 0:
                raise Wrong(f"gpusort_check: exit {done.returncode}: {done.stderr[-600:]}")

    def compare_footer(self, sources, path, keys, options):
        before, after = pq.ParquetFile(sources[0]), pq.ParquetFile(path)
        if shape(sources[0]) != shape(path):
            raise Wrong(f"the schema is\n{shape(path)}instead of\n{shape(sources[0])}")
        texts = [dict(file.metadata.metadata or {}) for file in (before, after)]
        # Names of the elements of lists may differ there. The comparison of the schemas finds other differences.
        if [b"ARROW:schema" in one for one in texts] == [True, True]:
            for one in texts:
                del one[b"ARROW:schema"]
        if texts[0] != texts[1]:
            raise Wrong(f"the key-value metadata is {texts[1]} instead of {texts[0]}")
        if not before.schema_arrow.equals(after.schema_arrow, check_metadata=True):
            raise Wrong(f"pyarrow sees another schema:\n{after.schema_arrow}\ninstead of\n{before.schema_arrow}")
        wanted: list = []
        leaves = {before.schema.column(i).path: i for i in range(len(before.schema))}
        for key in keys:
            name, words = key_words(key)
            if "nocase" in words:
                break
            descending = ("desc" in words) ^ ("-r" in options)
            nulls_first = "nulls-first" in words or (descending and "nulls-last" not in words)
            wanted.append((leaves[name], descending, nulls_first))
        chosen = options[options.index("--compress") + 1].split(":")[0] if "--compress" in options else None
        for i in range(after.metadata.num_row_groups):
            group = after.metadata.row_group(i)
            found = [(c.column_index, c.descending, c.nulls_first) for c in group.sorting_columns or ()]
            if found != wanted:
                raise Wrong(f"row group {i} says that it is sorted by {found} instead of {wanted}")
            if after.metadata.num_rows == 0 or before.metadata.num_row_groups == 0:
                continue
            for j in range(group.num_columns):
                column, old = group.column(j), before.metadata.row_group(0).column(j)
                where = f"row group {i}, column {column.path_in_schema}"
                codec = old.compression if chosen is None else {"none": "UNCOMPRESSED"}.get(chosen, chosen.upper())
                if column.compression != codec:
                    raise Wrong(f"{where}: {column.compression} instead of {codec}")
                if not column.has_offset_index:
                    raise Wrong(f"{where}: no offset index")
                if not column.has_column_index and column.is_stats_set and column.statistics.has_min_max:
                    raise Wrong(f"{where}: no column index")
                if column.has_dictionary_page and not any(
                        before.metadata.row_group(g).column(j).has_dictionary_page for g in range(before.metadata.num_row_groups)):
                    raise Wrong(f"{where}: a dictionary, which the input does not have")


def pick_keys(rng, table, most=3):
    names = [field.name for field in table.schema if is_scalar(field.type) and not pa.types.is_null(value_type(field.type))]
    rng.shuffle(names)
    keys = []
    for name in names[:rng.randint(1, most)]:
        keys.append(name + rng.choice(["", ":desc", ":asc"]) + rng.choice(["", "", ":nulls-first", ":nulls-last"]))
    return keys


def random_case(case, rng):
    writer = rng.choice([name for name in READERS for _ in range(3 if name == "pyarrow" else 1)])
    count = rng.choice([0, 1, 2, 10, 100, 100, 1000])
    schema = make_schema(rng, rng.choice([1, 2, 5, 8, 20]))
    options = pyarrow_options(rng, schema)
    table = make_table(rng, schema, count)
    while not (keys := pick_keys(rng, table)):
        schema = make_schema(rng, 5)
        table = make_table(rng, schema, count)
        options = pyarrow_options(rng, schema)
    files = rng.choice([1, 1, 1, 2, 5])
    seed, inputs = rng.random(), []
    for i in range(files):
        if i > 0:
            table = make_table(rng, table.schema, rng.choice([0, 1, 50]))
        name = f"in{i}.parquet"
        path = os.path.join(case.folder, name)
        if not write(random.Random(seed), writer, table, path, options):
            # pyarrow has types that the others do not have, and encodings for some types only.
            if i > 0 or not write(rng, "pyarrow", table, path, {"row_group_size": 50, "data_page_version": "2.0"}):
                return "not written"
            writer, options = "pyarrow", {"row_group_size": 50, "data_page_version": "2.0"}
        inputs.append(name)
    how = rng.choice([[], [], [], ["-r"], ["-u"], ["--top", "7"], ["--compress", "zstd:3"], ["--compress", "none"],
                      ["--threads", "1"], ["--batch-bytes", "20000", "--fan-in", "2"]])
    case.sort(inputs, keys, *how)
    if rng.random() < 0.3 and "-u" not in how and "--top" not in how:
        words = [word for key in keys for word in ("-k", key)] + [word for word in how if word == "-r"]
        case.run("-c", *words, "out.parquet")
    return writer


# ---- Named cases ------------------------------------------------------------------------------------------------


def save(case, table, name="in.parquet", **options):
    pq.write_table(table, os.path.join(case.folder, name), **options)
    return name


def numbers(rng, count):
    return pa.table({"k": pa.array([rng.randrange(count // 2 + 1) for _ in range(count)], pa.int32()),
                     "s": pa.array([rng.choice(WORDS) for _ in range(count)], pa.string()),
                     "l": pa.array([[i] * rng.randrange(3) for i in range(count)], pa.list_(pa.int64()))})


def each_type(case, rng):
    """Each type is a key, ascending and descending, and travels along."""
    kinds = [pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
             pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal128(18, 9), pa.decimal128(38, 10),
             pa.decimal256(76, 3), pa.date32(), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
             pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("us", "America/New_York"),
             pa.string(), pa.large_string(), pa.binary(), pa.binary(7), pa.uuid(), pa.dictionary(pa.int32(), pa.string())]
    columns = {f"c{i}": make_values(rng, kind, 60, False) for i, kind in enumerate(kinds)}
    columns = {name: values.take(pa.array([None if rng.random() < 0.1 else i for i in range(60)], pa.int64()))
               for name, values in columns.items()}
    name = save(case, pa.table(columns), data_page_version="2.0")
    for i in rng.sample(range(len(kinds)), 8 if FEW else len(kinds)):
        case.with_checker = i == 5
        case.sort([name], [f"c{i}" + rng.choice(["", ":desc"])])


def pages_v1(case, rng):
    case.sort([save(case, numbers(rng, 500), data_page_version="1.0", data_page_size=100)], ["k", "s:desc"])


def pages_v2(case, rng):
    case.sort([save(case, numbers(rng, 500), data_page_version="2.0", data_page_size=100, compression="zstd")], ["k", "s"])


def no_dictionary(case, rng):
    case.sort([save(case, numbers(rng, 300), use_dictionary=False)], ["s"])


def fallback(case, rng):
    table = pa.table({"s": [f"{rng.random()}" for _ in range(3000)]})
    case.sort([save(case, table, dictionary_pagesize_limit=1000, data_page_size=1000)], ["s"])


def int96(case, rng):
    kind = pa.timestamp("ns")
    table = pa.table({"t": make_array(rng, kind, 200, False), "k": list(range(200))})
    case.sort([save(case, table, use_deprecated_int96_timestamps=True)], ["t:desc"])


def row_groups_of_one_row(case, rng):
    case.sort([save(case, numbers(rng, 100), row_group_size=1)], ["k"])


def no_rows(case, rng):
    name = save(case, numbers(rng, 10).slice(0, 0))
    case.sort([name], ["k"])
    case.sort([name, save(case, numbers(rng, 10), "more.parquet"), name], ["k"])


def no_row_groups(case, rng):
    with pq.ParquetWriter(os.path.join(case.folder, "in.parquet"), numbers(rng, 1).schema):
        pass
    case.sort(["in.parquet"], ["s"])


def no_columns(case, rng):
    del rng
    save(case, pa.Table.from_batches([pa.record_batch([], names=[])]))
    case.run("-o", "out.parquet", "in.parquet")
    if shape(os.path.join(case.folder, "out.parquet")) != shape(os.path.join(case.folder, "in.parquet")):
        raise Wrong("another schema")
    if "k" not in case.run("-k", "k", "-o", "out2.parquet", "in.parquet", code=2):
        raise Wrong("no name of the column")


def many_columns(case, rng):
    table = pa.table({f"c{i}": pa.array([rng.randrange(100) for _ in range(50)], rng.choice([pa.int32(), pa.float64()]))
                      for i in range(1000)})
    case.sort([save(case, table, row_group_size=20)], ["c999", "c0:desc", "c500"])


def nulls_everywhere(case, rng):
    table = pa.table({"n": pa.nulls(50, pa.int64()), "s": pa.array([None] * 49 + ["x"]), "m": make_array(rng, pa.float64(), 50),
                      "deep": pa.array([rng.choice([None, [], [None], [{"a": None}], [{"a": [None, 1]}]]) for _ in range(50)])})
    case.sort([save(case, table)], ["n", "s:desc:nulls-last", "m"])


def floats(case, rng):
    values = [float("nan"), -float("nan"), 0.0, -0.0, float("inf"), -float("inf"), 1e-310, -1e-310, 1.0, -1.0, None]
    picked = [rng.choice(values) for _ in range(200)]
    table = pa.table({"d": pa.array(picked, pa.float64()), "f": pa.array(picked[::-1], pa.float32()), "row": list(range(200))})
    for keys in (["d"], ["d:desc"], ["f:nulls-first", "d"]):
        case.sort([save(case, table, row_group_size=50)], keys)
    case.sort(["in.parquet"], ["d"], "-u")


def nested(case, rng):
    kinds = [pa.list_(pa.list_(pa.string())), pa.struct([pa.field("a", pa.struct([pa.field("b", pa.list_(pa.int32()))]))]),
             pa.map_(pa.string(), pa.list_(pa.struct([pa.field("x", pa.float64()), pa.field("y", pa.string())]))),
             pa.list_(pa.map_(pa.string(), pa.timestamp("us"))), pa.list_(pa.float32(), 3), pa.large_list(pa.binary())]
    table = pa.table({"k": [rng.randrange(20) for _ in range(150)]} | {f"c{i}": make_array(rng, kind, 150) for i, kind in enumerate(kinds)})
    case.sort([save(case, table, row_group_size=40, data_page_size=64)], ["k:desc"])
    message = case.run("-k", "c0", "-o", "out2.parquet", "in.parquet", code=2)
    if "c0" not in message:
        raise Wrong(f"no name of the column: {message}")


def field_ids(case, rng):
    table = numbers(rng, 30)
    fields = [field.with_metadata({"PARQUET:field_id": str(7 - i)}) for i, field in enumerate(table.schema)]
    fields[0] = fields[0].with_nullable(False)
    schema = pa.schema(fields, {"iceberg.schema": '{"type": "struct"}', "empty": ""})
    for store in (True, False):
        case.sort([save(case, table.cast(schema), store_schema=store)], ["k"])


def names(case, rng):
    del rng
    table = pa.table({"a:b": [2, 1], "": [1, 2], "a.b": [3, 4], "tab\there": ["x", "y"], "ä ö": [None, 1]})
    save(case, table)
    case.run("-k", '"a:b"', "-o", "out.parquet", "in.parquet")
    found = table_of([os.path.join(case.folder, "out.parquet")])
    if found.to_pylist() != table.take([1, 0]).to_pylist():
        raise Wrong(f"found {found.to_pylist()}")
    case.sort(["in.parquet"], ["a.b:desc", "tab\there"])
    case.sort(["in.parquet"], ["ä ö:desc"])


def codecs(case, rng):
    for codec in CODECS:
        case.sort([save(case, numbers(rng, 200), compression=codec)], ["k"])
    for codec in ("zstd:3", "snappy", "lz4", "gzip", "brotli:5", "none"):
        case.sort(["in.parquet"], ["k"], "--compress", codec)


def writers(case, rng):
    """DuckDB and polars write what most files have, with each codec."""
    rows = 300 if FEW else 3000
    table = pa.table({
        "i": [rng.randrange(50) for _ in range(rows)], "d": make_array(rng, pa.decimal128(12, 3), rows, False),
        "s": make_array(rng, pa.string(), rows, True), "t": make_array(rng, pa.timestamp("us"), rows, False),
        "z": make_array(rng, pa.timestamp("us", "UTC"), rows, True), "f": make_array(rng, pa.float64(), rows, True),
        "b": make_array(rng, pa.bool_(), rows), "bin": make_array(rng, pa.binary(), rows), "day": make_array(rng, pa.date32(), rows),
        "l": make_array(rng, pa.list_(pa.int64()), rows), "st": make_array(rng, pa.struct([pa.field("x", pa.string())]), rows)})
    for writer in READERS:
        for codec in CODECS:
            name = f"{writer}-{codec}.parquet"
            if not write(rng, writer, table, os.path.join(case.folder, name), {"compression": codec}):
                if (writer, codec) != ("polars", "lz4") and codec != "brotli":
                    raise Wrong(f"{writer} cannot write {codec}: a mistake of this test")
                continue
            case.with_checker = writer == "DuckDB" and codec == "zstd"
            case.sort([name], [rng.choice(["i", "s:desc", "d", "t:nulls-first", "z", "f", "day", "bin", "b:desc"]), "i"])


def several(case, rng):
    for i in range(5):
        save(case, numbers(rng, 100 * i), f"in{i}.parquet", compression=CODECS[i])
    case.sort([f"in{i}.parquet" for i in (3, 1, 4, 0, 2)], ["k", "s"])
    case.sort([f"in{i}.parquet" for i in (3, 1, 4, 0, 2)], ["k"], "-u")
    case.sort([f"in{i}.parquet" for i in (3, 1, 4, 0, 2)], ["k:desc"], "--top", "10")
    save(case, numbers(rng, 10).rename_columns(["k", "s", "other"]), "other.parquet")
    message = subprocess.run([case.gpusort, "-k", "k", "-o", "no.parquet", "in1.parquet", "other.parquet"], cwd=case.folder,
                             capture_output=True, text=True)
    if message.returncode not in (2, 3) or "other.parquet" not in message.stderr or os.path.exists(os.path.join(case.folder, "no.parquet")):
        raise Wrong(f"other columns: exit {message.returncode}: {message.stderr}")


def merge(case, rng):
    for i in range(4):
        table = numbers(rng, 200)
        table = table.sort_by([("k", "ascending")])
        save(case, table, f"in{i}.parquet", row_group_size=30)
    case.sort([f"in{i}.parquet" for i in range(4)], ["k"], "-m")
    case.run("-c", "-k", "k", "out.parquet")
    case.run("-c", "-k", "s", "out.parquet", code=1)


def long_values(case, rng):
    texts = [rng.choice("ab") * rng.choice([1, 1000, 100000, 1000000]) for _ in range(20)]
    case.sort([save(case, pa.table({"s": texts, "row": list(range(20))}), compression="zstd")], ["s"])


def intervals(case, _):
    """DuckDB finds an interval in the output as in the input, whatever the Bloom filters of its files hold."""
    if duckdb is None:
        return
    path = os.path.join(case.folder, "in.parquet")
    duckdb.sql("select i, interval '24 hours' as t from range(4000) r(i)").write_parquet(path)
    chunks = duckdb.sql(f"select bloom_filter_offset from parquet_metadata('{path}') where path_in_schema = 't'")
    if None in [offset for offset, in chunks.fetchall()]:
        raise Wrong("DuckDB writes no Bloom filter: a mistake of this test")
    case.run("-k", "i:desc", "in.parquet", "out.parquet")
    for name in ("in", "out"):
        path = os.path.join(case.folder, f"{name}.parquet")
        found = duckdb.sql(f"select count(*) from '{path}' where t = interval '24 hours'").fetchall()
        if found != [(4000,)]:
            raise Wrong(f"DuckDB finds {found} intervals in {name}.parquet")


def wide_integers(case, _):
    """Integers of 128 bits of polars are bytes for Parquet, in an order that is not theirs."""
    if polars is None:
        return
    for kind in (polars.Int128, polars.UInt128):
        frame = polars.DataFrame({"i": polars.Series([2**100, 1, None, 256], dtype=kind), "k": [4, 3, 2, 1]})
        frame.write_parquet(os.path.join(case.folder, "in.parquet"))
        case.run("-k", "k", "in.parquet", "out.parquet")
        if not polars.read_parquet(os.path.join(case.folder, "out.parquet")).equals(frame.reverse()):
            raise Wrong("other rows")
        for words in (["-k", "i"], []):
            if "integers of 128 bits" not in case.run(*words, "in.parquet", "no.parquet", code=2):
                raise Wrong("the message does not name the type")


def misnamed_output(case, rng):
    said = case.run("-k", "k", save(case, numbers(rng, 10)), "out.csv")
    if "'out.csv' gets parquet records" not in said:
        raise Wrong(f"nothing is said of the name: {said}")


# The names of cases that take longer than the others come last.
NAMED = [intervals, wide_integers, misnamed_output, pages_v1, pages_v2, no_dictionary, fallback, int96, row_groups_of_one_row, no_rows, no_row_groups, no_columns,
         many_columns, nulls_everywhere, floats, nested, field_ids, names, several, merge, long_values, each_type, codecs,
         writers]


def main():
    gpusort, check, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    chosen = sys.argv[5:]
    cases = [(function.__name__, function) for function in NAMED] + [(str(i), random_case) for i in range(count)]
    failed = 0
    results: collections.Counter = collections.Counter()
    folder = tempfile.mkdtemp(prefix="readers-", dir=os.getcwd())
    for name, function in cases:
        if chosen and name not in chosen:
            continue
        place = os.path.join(folder, name)
        os.mkdir(place)
        case = Case((os.path.abspath(gpusort), os.path.abspath(check)), place)
        try:
            result = function(case, random.Random(f"{seed} {name}"))
            results[result] += 1
        except (Wrong, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAIL: case {name} of seed {seed} in {place}: gpusort {' '.join(case.command)}: {error}", flush=True)
            continue
        subprocess.run(["rm", "-rf", place], check=True)
    told = ", ".join(f"{number} {what}" for what, number in sorted((w, n) for w, n in results.items() if w))
    print(f"{sum(results.values())} cases, readers {' '.join(READERS)}; random files by: {told or 'none'}; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
