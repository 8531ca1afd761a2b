"""Broken clustered tables: features, the domain and its columns, and who clustered a file."""

import json

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.bases import action, commit_info
from deltaspec_generators.builder import TableFiles, domain_action, protocol_action
from deltaspec_generators.data_bases import with_data
from deltaspec_generators.mutations import mutation, pick
from deltaspec_generators.permissions_single_features import CLUSTERING, clustered


def _clustered_by(*columns: object) -> dict[str, object]:
    return domain_action("delta.clustering", json.dumps({"clusteringColumns": list(columns)}))


@mutation("clustering.feature")
def clustering_columns_without_the_feature(draw: st.DrawFn) -> TableFiles:
    files = bases.plain(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[pick(draw, 0, 2)].append(_clustered_by(pick(draw, "id", ["id"])))
    return files


@mutation("clustering.needs-domains")
def clustering_without_domains(draw: st.DrawFn) -> TableFiles:
    """From the beginning, or by a later upgrade."""
    alone = protocol_action(1, 7, None, ["appendOnly", "invariants", "clustering"])
    files = bases.plain()
    if pick(draw, True, False):
        files.commits[0][1] = alone
    else:
        files.commits[3] = [commit_info(3), alone]
    return files


@mutation("clustering.statistics-of-new-columns", "rows")
def clustered_by_a_column_that_older_files_pass_over(draw: st.DrawFn) -> TableFiles:
    """The column is new, or comes again; alone, or beside one that was there before."""
    files = with_data(protocol=CLUSTERING)
    before = pick(draw, [], ["id"])
    files.commits[0].append(_clustered_by(*before))
    for version, which in ((1, 1), (2, 0)):
        body = action(files, version, "add", which)
        stats = json.loads(body["stats"])
        for name in ("minValues", "maxValues", "nullCount"):
            stats[name].pop("price")
        body["stats"] = json.dumps(stats)
        if pick(draw, True, False):
            break
    named = pick(draw, "price", ["price"])
    files.commits[3] = [commit_info(3), _clustered_by(*before, named)]
    if pick(draw, True, False):  # the column was one before the files came, and was none while they did
        files.commits[0][-1] = _clustered_by(*before, named)
        files.commits[1].append(_clustered_by(*before))
    return files


@mutation("clustering.provider")
def clustered_by_nobody(draw: st.DrawFn) -> TableFiles:
    files = clustered()
    action(files, 2, "add")["clusteringProvider"] = pick(draw, "", " ")
    return files


def _by_name(*columns: object) -> TableFiles:
    """A table with mapped columns, clustered, that adds no file: statistics are of no concern."""
    files = bases.mapped()
    files.commits[0][1] = protocol_action(2, 7, None, ["columnMapping", "domainMetadata", "clustering"])
    del files.commits[2], files.commits[1]
    files.commits[1] = [commit_info(1), _clustered_by(*columns)]
    return files


@mutation("clustering.physical-names", revisions=("r3",))
def clustered_by_displayed_names(draw: st.DrawFn) -> TableFiles:
    return _by_name(pick(draw, "id", ["id"], ["s", "x"], "s.x"))


@mutation("clustering.physical-names", revisions=("current",))
def clustered_by_names_that_files_lack(draw: st.DrawFn) -> TableFiles:
    return _by_name(["col-1"], pick(draw, ["s", "x"], "s.y"))


@mutation("clustering.columns-by-physical-name")
def clustered_by_a_column_that_never_was(draw: st.DrawFn) -> TableFiles:
    files = bases.plain(protocol=CLUSTERING)
    del files.commits[2], files.commits[1]
    files.commits[0].append(_clustered_by("id", pick(draw, "day", ["id", "x"], "")))
    return files
