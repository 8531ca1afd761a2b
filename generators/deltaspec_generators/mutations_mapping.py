"""Broken column mapping: modes, ids and names of a schema, and what they become over its history."""

import json

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.bases import action, commit_info
from deltaspec_generators.builder import TableFiles, domain_action, metadata_action, protocol_action
from deltaspec_generators.mutations import mutation, pick


@mutation("column-mapping.modes")
def mode_of_no_kind(draw: st.DrawFn) -> TableFiles:
    return bases.plain(configuration={"delta.columnMapping.mode": pick(draw, "names", "ID", "", "index")})


@mutation("column-mapping.reader-versions")
def mapping_that_readers_miss(draw: st.DrawFn) -> TableFiles:
    """Writers must know the mapping, readers need not."""
    files = bases.mapped(pick(draw, "id", "name"))
    reader, listed = pick(draw, (1, None), (3, []))
    files.commits[0][1] = protocol_action(reader, 7, listed, ["columnMapping"])
    return files


@mutation("column-mapping.enabled-by-feature")
def feature_enabled_for_writers_alone(draw: st.DrawFn) -> TableFiles:
    """The commit that turns the mapping on lists the feature on one side."""
    files = bases.mapped(pick(draw, "id", "name"))
    mapped = files.commits[0][2]
    files.commits[0][1:] = [protocol_action(1, 2), metadata_action(bases.FIELDS)]
    files.commits[3] = [commit_info(3), protocol_action(3, 7, [], ["columnMapping"]), mapped]
    return files


@mutation("column-mapping.writer-versions")
def mode_without_writers_of_it(draw: st.DrawFn) -> TableFiles:
    files = bases.mapped(pick(draw, "id", "name"))
    files.commits[0][1] = pick(draw, protocol_action(1, 2), protocol_action(2, 4), protocol_action(1, 7, None, []))
    return files


@mutation("column-mapping.new-columns-have-ids")
def added_column_without_id(draw: st.DrawFn) -> TableFiles:
    """The second metaData has a column more, with a physical name alone."""
    files = bases.mapped(pick(draw, "id", "name"))
    body = dict(action(files, 0, "metaData"))
    schema = json.loads(body["schemaString"])
    metadata = {"delta.columnMapping.physicalName": "col-5"}
    schema["fields"].append({"name": "new", "type": "long", "nullable": True, "metadata": metadata})
    body["schemaString"] = json.dumps(schema)
    files.commits[3] = [commit_info(3), {"metaData": body}]
    return files


@mutation("column-mapping.physical-names-unique")
def physical_name_of_a_neighbour(draw: st.DrawFn) -> TableFiles:
    files = bases.mapped(pick(draw, "id", "name"))
    body = action(files, 0, "metaData")
    body["schemaString"] = body["schemaString"].replace("col-1", "col-2").replace("col-4", pick(draw, "col-4", "col-3"))
    return files


@mutation("column-mapping.clustering-physical")
def clustered_by_logical_name(draw: st.DrawFn) -> TableFiles:
    """Statistics are those of the physical name, so that the domain alone is wrong."""
    files = bases.mapped(pick(draw, "id", "name"))
    listed = ["columnMapping", "domainMetadata", "clustering"]
    files.commits[0][1] = protocol_action(2, 7, None, listed)
    column = pick(draw, ["id"], ["s", "x"], ["s", "col-3"], ["col-2", "x"])
    files.commits[0].append(domain_action("delta.clustering", json.dumps({"clusteringColumns": [column]})))
    return files
