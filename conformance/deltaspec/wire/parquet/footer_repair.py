"""Repair footers that other readers accept and Arrow rejects.

parquet-mr 1.11.0 annotates the key-value group of a map with the logical type UNKNOWN, next to the converted type
MAP_KEY_VALUE. Arrow refuses the annotation on a group. Readers take the type of a map from the outer group.
"""

from deltaspec.wire.parquet.thrift import I32, LIST, STRUCT, ThriftError, ThriftReader

_SCHEMA = 2
"""Field of FileMetaData."""
_PHYSICAL_TYPE, _LOGICAL_TYPE, _UNKNOWN = 1, 10, 11
"""Fields of SchemaElement, and a field of LogicalType."""


def drop_unknown_group_types(footer: bytes) -> bytes:
    """Return a footer without the logical type UNKNOWN of groups; the same object if none has it, or it is broken.

    Args:
        footer: the Thrift structure, its length and the magic number.
    """
    reader = ThriftReader(footer)
    parts, start = [], 0
    try:
        for number, kind in reader.iter_fields():
            if number != _SCHEMA or kind != LIST:
                reader.skip(kind)
                continue
            for _ in range(reader.read_list_length(STRUCT)):
                begin, end = _find_unknown_group_type(reader)
                if begin < end:
                    parts.append(footer[start:begin])
                    start = end
    except ThriftError:
        return footer
    if not parts:
        return footer
    repaired = b"".join((*parts, footer[start:-8]))
    return repaired + len(repaired).to_bytes(4, "little") + footer[-4:]


def _find_unknown_group_type(reader: ThriftReader) -> tuple[int, int]:
    """Move past a schema element; return the bounds of its last field if it is UNKNOWN on a group, else (0, 0)."""
    is_group, found, before = True, (0, 0), reader.position
    for number, kind in reader.iter_fields():
        found = (0, 0)  # numbers of later fields are relative to the previous one, so only the last can be dropped
        if number == _LOGICAL_TYPE and kind == STRUCT:
            if reader.skip_struct(_UNKNOWN, STRUCT) is not None:
                found = (before, reader.position)
        else:
            is_group = is_group and not (number == _PHYSICAL_TYPE and kind == I32)
            reader.skip(kind)
        before = reader.position
    return found if is_group else (0, 0)
