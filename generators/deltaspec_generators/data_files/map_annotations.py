"""Annotate the maps of a Parquet file as parquet-mr 1.11.0 does.

Its key-value groups have the converted type MAP_KEY_VALUE and the logical type UNKNOWN. Arrow alone rejects such files.
"""

from deltaspec.wire.parquet.thrift import BINARY, LIST, STRUCT, ThriftReader

_SCHEMA, _NAME, _CONVERTED_TYPE = 2, 4, 6
_MAP_KEY_VALUE = b"\x15\x04"
"""The converted type, an enum, after field 5."""
_UNKNOWN = b"\x4c\xbc\x00\x00"
"""The logical type, a struct with field 11, after field 6."""


def annotate_key_values(data: bytes) -> bytes:
    """Return a Parquet file of pyarrow with these annotations; its key-value groups are called `key_value`.

    Raises:
        ValueError: the file has no such group.
    """
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    reader = ThriftReader(data[start:])
    footer, done = b"", 0
    for number, kind in reader.iter_fields():
        if number != _SCHEMA or kind != LIST:
            reader.skip(kind)
            continue
        for _ in range(reader.read_list_length(STRUCT)):
            name, last = "", 0
            for last, field in reader.iter_fields():
                if (last, field) == (_NAME, BINARY):
                    name = reader.read_text()
                else:
                    reader.skip(field)
            if name == "key_value":
                if last != _CONVERTED_TYPE - 1:
                    raise ValueError(f"the last field of the key-value group is {last}")
                end = start + reader.position - 1
                footer += data[start + done : end] + _MAP_KEY_VALUE + _UNKNOWN
                done = reader.position - 1
    if not done:
        raise ValueError("the file has no map")
    footer += data[start + done : -8]
    return data[:start] + footer + len(footer).to_bytes(4, "little") + data[-4:]
