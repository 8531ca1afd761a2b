"""The table of features names everything that an engine knows, and agrees with what a run reports as unchecked."""

import json

from click.testing import CliRunner

from deltaspec.cli import main
from deltaspec.protocol.features.feature_table import ENGINES, build_feature_table
from deltaspec.protocol.features.table_features import FEATURES, get_unchecked_effect

ENTRIES = {entry.name: entry for entry in build_feature_table()}


def test_every_name_of_an_engine_has_an_entry() -> None:
    assert set().union(*ENGINES.values()) <= ENTRIES.keys()
    assert FEATURES.keys() <= ENTRIES.keys()
    assert [entry.name for entry in ENTRIES.values() if entry.status == "engine-only"] == [
        "icebergWriterCompatV3",
        "intervalType",
    ]


def test_status_of_names() -> None:
    expected = {
        "deletionVectors": "accepted",
        "collations": "proposed",
        "materializePartitionColumns": "proposed",
        "fileType": "proposed",
        "decFloat": "proposed",
        "tableBranching": "proposed",
        "geospatial-dev": "preview",
        "catalogOwned": "superseded",
        "rowIds": "earlier",
    }
    assert {name: ENTRIES[name].status for name in expected} == expected


def test_unchecked_effects_are_those_of_a_run() -> None:
    named = {name: entry for name, entry in ENTRIES.items() if entry.status != "earlier"}
    assert {name: entry.unchecked for name, entry in named.items()} == {
        name: get_unchecked_effect(name) for name in named
    }


def test_command_lists_every_feature_in_every_format() -> None:
    listed = {name: CliRunner().invoke(main, ["features", "--format", name]).output for name in ("text", "markdown")}
    for text in listed.values():
        assert [name for name in ENTRIES if name not in text] == []
    found = json.loads(CliRunner().invoke(main, ["features", "--format", "json"]).output)
    assert [each["name"] for each in found] == list(ENTRIES)
    assert next(each for each in found if each["name"] == "adaptiveMetadata")["excludes"] == ["v2Checkpoint"]
