"""Draw valid logs with one more commit that changes one side of the state or one file, whether that is legal or not."""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.revisions import Revision
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.tables.strategies import logs

Body = dict[str, Any]
_Change = Callable[[st.DrawFn, Mapping[str, Body]], Mapping[str, Body]]

_VALUES = {
    "stats": ['{"numRecords":5}', "{}", "[]", '{"numRecords":-2}', '{"numRecords":3,"nullCount":{"id":9}}', None],
    "baseRowId": [-1, 0, 5, 10**6, None],
    "defaultRowCommitVersion": [-1, 0, 1, 10**6, None],
    "size": [-1, 0],
    "dataChange": [True, False],
    "clusteringProvider": ["", "liquid", None],
    "partitionValues": [{}, {"extra": "1"}],
    "tags": [{"a": "b"}, None],
    "deletionVector": [
        {
            "storageType": "u",
            "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
            "offset": 4,
            "sizeInBytes": 40,
            "cardinality": 6,
        },
        {"storageType": "p", "pathOrInlineDv": "relative", "offset": 4, "sizeInBytes": 40, "cardinality": 6},
        {"storageType": "u", "pathOrInlineDv": "short", "sizeInBytes": 4, "cardinality": -1},
        None,
    ],
}
_PATHS = ["new.parquet", "a:b", "a b", "x/%2", "../up", "_hidden/x", "%5Fhidden/x", "k=é/x", "file:/elsewhere/x"]
_TYPES = ["string", "double", "variant", "timestamp_ntz", "void", {"type": "array", "elementType": "void"}]
_METADATA = {
    "delta.columnMapping.id": [1, 2, 2**40],
    "delta.columnMapping.physicalName": ["x", "y"],
    "delta.identity.step": [0, 1],
    "delta.typeChanges": [[], {}, [{"fromType": "byte", "toType": "long"}]],
    "CURRENT_DEFAULT": ["1"],
}


@st.composite
def changed_logs(draw: st.DrawFn, revision: Revision) -> TableFiles:
    """Draw a valid log from version 0 on, and a commit that need not be legal."""
    files = draw(logs(revision=revision, blank_lines=False))
    last = _find_last_actions(files)
    if 0 not in files.commits or not {"protocol", "metaData"} <= last.keys():
        return TableFiles()
    changes = [_drop_feature, _change_property, _change_column, _change_partitioning, _remove_domain, _add, _remove]
    change: _Change = draw(st.sampled_from(changes))
    operation = draw(st.sampled_from(["WRITE", "RESTORE"]))
    info = {"operation": operation, "inCommitTimestamp": 4_000_000_000_000, "txnId": "a new one"}
    lines = [{kind: body} for kind, body in change(draw, deepcopy(last)).items()]
    return TableFiles(commits={**files.commits, max(files.commits) + 1: [{"commitInfo": info}, *lines]})


def _find_last_actions(files: TableFiles) -> dict[str, Body]:
    """Return the last action of each kind."""
    found = {}
    for version in sorted(files.commits):
        for line in files.commits[version]:
            found.update(line if isinstance(line, dict) else json.loads(line))
    return found


def _drop_feature(draw: st.DrawFn, last: Mapping[str, Body]) -> Mapping[str, Body]:
    """Drop a feature from both lists, or only from that of readers; or list none."""
    protocol = last["protocol"]
    lists = {name: protocol[name] for name in ("readerFeatures", "writerFeatures") if protocol.get(name)}
    if not lists:
        return {"protocol": {"minReaderVersion": 1, "minWriterVersion": draw(st.integers(2, 6))}}
    dropped = draw(st.sampled_from(lists[draw(st.sampled_from(sorted(lists)))]))
    chosen = draw(st.sampled_from([sorted(lists), sorted(lists)[:1]]))
    lists |= {name: [each for each in lists[name] if each != dropped] for name in chosen}
    return {"protocol": {**protocol, **lists}}


def _change_property(draw: st.DrawFn, last: Mapping[str, Body]) -> Mapping[str, Body]:
    settings = last["metaData"]["configuration"]
    name = draw(st.sampled_from([*sorted(settings), "delta.enableRowTracking", "delta.columnMapping.mode"]))
    value = draw(st.sampled_from([None, "true", "false", "none", "name", "0"]))
    changed = {key: each for key, each in {**settings, name: value}.items() if each is not None}
    return {"metaData": {**last["metaData"], "configuration": changed}}


def _change_column(draw: st.DrawFn, last: Mapping[str, Body]) -> Mapping[str, Body]:
    """Drop, add, rename or retype a column, or change its metadata."""
    schema = json.loads(last["metaData"]["schemaString"])
    fields = schema["fields"]
    position = draw(st.integers(0, max(len(fields) - 1, 0)))
    column = fields[position] if fields else {"name": "c", "type": "long", "nullable": True, "metadata": {}}
    key = draw(st.sampled_from(sorted(_METADATA)))
    metadata = {**column.get("metadata", {}), key: draw(st.sampled_from(_METADATA[key]))}
    replacements = [
        [],
        [column, {**column, "name": "new"}],
        [column, {"name": "plain", "type": "long", "nullable": True, "metadata": {}}],
        [{**column, "name": "renamed"}],
        [{**column, "type": draw(st.sampled_from(_TYPES))}],
        [{**column, "metadata": metadata}],
    ]
    fields[position : position + 1] = draw(st.sampled_from(replacements))
    return {"metaData": {**last["metaData"], "schemaString": json.dumps(schema)}}


def _change_partitioning(draw: st.DrawFn, last: Mapping[str, Body]) -> Mapping[str, Body]:
    names = [each["name"] for each in json.loads(last["metaData"]["schemaString"])["fields"]]
    columns = draw(st.lists(st.sampled_from([*names, "unknown"]), max_size=2))
    return {"metaData": {**last["metaData"], "partitionColumns": columns}}


def _remove_domain(draw: st.DrawFn, last: Mapping[str, Body]) -> Mapping[str, Body]:
    """Remove a domain, or write one."""
    written = {
        "domain": draw(st.sampled_from(["mine", "delta.rowTracking", "delta.clustering"])),
        "configuration": "{}",
    }
    domain = last.get("domainMetadata", written)
    return {"domainMetadata": {**domain, "removed": draw(st.booleans())}}


def _add(draw: st.DrawFn, last: Mapping[str, Body]) -> Mapping[str, Body]:
    plain = {"path": "x", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    add = last.get("add", plain)
    path = draw(st.sampled_from([add["path"], *_PATHS]))
    return {"add": {**add, "path": path, **_draw_fields(draw)}}


def _remove(draw: st.DrawFn, last: Mapping[str, Body]) -> Mapping[str, Body]:
    """Remove a file with some of the fields of its add."""
    add = last.get("add", {"path": "x", "dataChange": True})
    names = draw(st.sets(st.sampled_from(sorted(add.keys() - {"modificationTime", "clusteringProvider"}))))
    kept = {name: add[name] for name in (*sorted(names), "path", "dataChange")}
    return {"remove": {**kept, "deletionTimestamp": 1, "extendedFileMetadata": draw(st.booleans())}}


def _draw_fields(draw: st.DrawFn) -> Body:
    names = draw(st.lists(st.sampled_from(sorted(_VALUES)), max_size=2))
    return {name: draw(st.sampled_from(_VALUES[name])) for name in names}
