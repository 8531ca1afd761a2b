"""Schemas of Parquet files that the log states: `sidecarFileSchema` and `checkpointSchema`.

Source: Checkpoint Metadata, Last Checkpoint File Schema.
"""

from deltaspec.protocol.schema.data_types import DataType, Struct, get_type_name
from deltaspec.protocol.schema.parquet_types import Node, get_stored_type
from deltaspec.protocol.schema.schema_string import SchemaError, parse_schema


def find_schema_difference(stated: str, root: Node, *, partial: bool) -> str | None:
    """Return the first difference between a stated schema and the columns of a Parquet file; None if there is none.

    Args:
        stated: schema as JSON, as in `schemaString`.
        root: root of the file's schema.
        partial: whether the stated schema may leave out columns of the file.
    """
    try:
        schema = parse_schema(stated)
    except SchemaError as fault:
        return f"it is not a schema: {fault}"
    return _find_difference(schema, root, (), partial=partial)


def _find_difference(data_type: DataType, node: Node, path: tuple[str, ...], *, partial: bool) -> str | None:
    if not isinstance(data_type, Struct):
        fault = get_stored_type(data_type, node).fault
        return fault and f"{'.'.join(path)} is {node} in the file, but {get_type_name(data_type)} in the stated schema"
    stated, stored = {each.name: each.type for each in data_type.fields}, {each.name: each for each in node.children}
    if path and get_stored_type(data_type, node).fault:
        return f"{'.'.join(path)} is {node} in the file, but struct in the stated schema"
    for name in sorted(stated.keys() - stored.keys() if partial else stated.keys() ^ stored.keys()):
        where = "the stated schema" if name in stored else "the file"
        return f"{'.'.join((*path, name))} is missing from {where}"
    found = (_find_difference(each, stored[name], (*path, name), partial=partial) for name, each in stated.items())
    return next((difference for difference in found if difference), None)
