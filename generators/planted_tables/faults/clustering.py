"""Planted faults of clustering: features, the domain and its columns, and the clustering provider."""

import json

from hypothesis import strategies as st

from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import TableFiles, commit_info_action, domain_action, get_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.clustering import CLUSTERING_PROTOCOL, build_clustered_table
from planted_tables.faults.registry import draw_one, planted_fault


def _clustering_domain(*columns: object) -> dict[str, object]:
    return domain_action("delta.clustering", json.dumps({"clusteringColumns": list(columns)}))


@planted_fault("clustering.feature")
def clustering_columns_without_the_feature(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[draw_one(draw, 0, 2)].append(_clustering_domain(draw_one(draw, "id", ["id"])))
    return files


@planted_fault("clustering.needs-domains")
def clustering_without_domains(draw: st.DrawFn) -> TableFiles:
    """From the first commit, or by a later upgrade."""
    alone = protocol_action(1, 7, None, ["appendOnly", "invariants", "clustering"])
    files = log_only.build_table()
    if draw_one(draw, True, False):
        files.commits[0][1] = alone
    else:
        files.commits[3] = [commit_info_action(3), alone]
    return files


@planted_fault("clustering.statistics-of-new-columns", "rows")
def clustered_by_a_column_that_older_files_pass_over(draw: st.DrawFn) -> TableFiles:
    """The column is new or returns; alone or with an existing clustering column."""
    files = build_table_with_data(protocol=CLUSTERING_PROTOCOL)
    before = draw_one(draw, [], ["id"])
    files.commits[0].append(_clustering_domain(*before))
    for version, which in ((1, 1), (2, 0)):
        body = get_action(files, version, "add", which)
        stats = json.loads(body["stats"])
        for name in ("minValues", "maxValues", "nullCount"):
            stats[name].pop("price")
        body["stats"] = json.dumps(stats)
        if draw_one(draw, True, False):
            break
    named = draw_one(draw, "price", ["price"])
    files.commits[3] = [commit_info_action(3), _clustering_domain(*before, named)]
    if draw_one(draw, True, False):  # clustered before and after the files were added, but not while they were added
        files.commits[0][-1] = _clustering_domain(*before, named)
        files.commits[1].append(_clustering_domain(*before))
    return files


@planted_fault("clustering.provider")
def clustered_by_nobody(draw: st.DrawFn) -> TableFiles:
    files = build_clustered_table()
    get_action(files, 2, "add")["clusteringProvider"] = draw_one(draw, "", " ")
    return files


def _build_mapped_table(*columns: object) -> TableFiles:
    """Build a clustered table with column mapping and no files, so statistics do not matter."""
    files = log_only.build_table_with_column_mapping()
    files.commits[0][1] = protocol_action(2, 7, None, ["columnMapping", "domainMetadata", "clustering"])
    del files.commits[2], files.commits[1]
    files.commits[0].append(_clustering_domain(*columns))
    return files


@planted_fault("clustering.physical-names", revisions=("r3",))
def clustered_by_displayed_names(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table(draw_one(draw, "id", ["id"], ["s", "x"], "s.x"))


@planted_fault("clustering.physical-names", revisions=("current",))
def clustered_by_names_that_files_lack(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table(["col-1"], draw_one(draw, ["s", "x"], "s.y"))


@planted_fault("clustering.columns-by-physical-name")
def clustered_by_a_column_that_never_was(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=CLUSTERING_PROTOCOL)
    del files.commits[2], files.commits[1]
    files.commits[0].append(_clustering_domain("id", draw_one(draw, "day", ["id", "x"], "")))
    return files


@planted_fault("clustering.columns-by-physical-name")
def clustered_table_without_domain(draw: st.DrawFn) -> TableFiles:
    """The domain is absent from the beginning, or removed later."""
    files = log_only.build_table(protocol=CLUSTERING_PROTOCOL)
    if draw_one(draw, True, False):
        files.commits[0].append(_clustering_domain())
        files.commits[3] = [
            commit_info_action(3),
            domain_action("delta.clustering", json.dumps({"clusteringColumns": []}), removed=True),
        ]
    return files


@planted_fault("clustering.not-partitioned")
def clustering_feature_on_a_partitioned_table(draw: st.DrawFn) -> TableFiles:
    """The domain names no columns; the feature is there from the beginning, or added later."""
    files = log_only.build_table(
        fields=(("id", "long"), ("p", "string")), partition_columns=["p"], partition={"p": "x"}
    )
    first = draw_one(draw, True, False)
    if first:
        files.commits[0] = [files.commits[0][0], CLUSTERING_PROTOCOL, files.commits[0][2], _clustering_domain()]
    else:
        files.commits[3] = [commit_info_action(3), CLUSTERING_PROTOCOL, _clustering_domain()]
    return files
