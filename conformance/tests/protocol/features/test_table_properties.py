"""Table properties: valid values, required features, and active features. Source: Table Properties."""

from typing import Any

import pytest

from deltaspec.protocol.actions import Format, MetaData, Protocol
from deltaspec.protocol.features.table_features import FEATURES
from deltaspec.protocol.features.table_properties import (
    MISPRINTED_PROPERTIES,
    compute_tombstone_cutoff_ms,
    compute_transaction_cutoff_ms,
    find_active_features,
    find_property_fault,
    find_property_warning,
    find_undefined_value,
    get_file_retention_ms,
    get_log_retention_ms,
    get_requested_codecs,
    get_required_feature,
    has_in_commit_timestamps,
    is_append_only,
    is_property_true,
    parse_interval_ms,
    parse_page_version,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Array, Field, Primitive, Struct

DAY = 86_400_000
LONG = Primitive("long")


def metadata(configuration: dict[str, str]) -> MetaData:
    return MetaData(
        id="00000000-0000-0000-0000-000000000000",
        format=Format(provider="parquet", options={}),
        schema_string='{"type":"struct","fields":[]}',
        partition_columns=[],
        configuration=configuration,
    )


def listing(*features: str) -> Protocol:
    return Protocol(
        min_reader_version=3, min_writer_version=7, reader_features=list(features), writer_features=list(features)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.appendOnly", "true"),
        ("delta.appendOnly", "FALSE"),
        ("delta.enableVariantShredding", "false"),
        ("delta.columnMapping.mode", "none"),
        ("delta.columnMapping.mode", "id"),
        ("delta.columnMapping.maxColumnId", "0"),
        ("delta.inCommitTimestampEnablementTimestamp", "1700000000000"),
        ("delta.deletedFileRetentionDuration", "interval 1 week"),
        ("delta.deletedFileRetentionDuration", "interval 168 hours"),
        ("delta.parquet.compression.codec", "brotli"),
        ("delta.unheardOf", "whatever"),
        ("delta.constraints.positive", "x > 0"),
        ("appendOnly", "perhaps"),
        ("owner", ""),
    ],
)
def test_valid_values_have_no_fault(name: str, value: str) -> None:
    assert find_property_fault(name, value) is None


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("delta.enableVariantShredding", "yes", "is neither true nor false"),
        ("delta.columnMapping.mode", "position", "is not one of none, id and name"),
        ("delta.columnMapping.maxColumnId", "-1", "is not an integer"),
        ("delta.columnMapping.maxColumnId", "٣", "is not an integer"),
        ("delta.inCommitTimestampEnablementVersion", "1.0", "is not an integer"),
    ],
)
def test_invalid_values_are_a_fault(name: str, value: str, fault: str) -> None:
    assert find_property_fault(name, value) == fault
    assert find_undefined_value(name, value) is None


NEITHER = "is neither true nor false"


@pytest.mark.parametrize(
    ("name", "value", "first", "reason"),
    [
        ("delta.appendOnly", "yes", Revision.R1, NEITHER),
        ("delta.checkpoint.writeStatsAsJson", "1", Revision.R1, NEITHER),
        ("delta.enableRowTracking", "", Revision.R2, NEITHER),
        ("delta.enableDeletionVectors", "on", Revision.R3, NEITHER),
        ("delta.enableInCommitTimestamps", "0", Revision.CURRENT, NEITHER),
        ("delta.deletedFileRetentionDuration", "a week", Revision.R1, "is not an interval of fixed length"),
        ("delta.logRetentionDuration", "interval 1 month", Revision.R1, "is not an interval of fixed length"),
    ],
)
def test_values_without_a_meaning_are_undefined_once_the_text_names_the_property(
    name: str, value: str, first: Revision, reason: str
) -> None:
    for revision in Revision:
        assert find_property_fault(name, value, revision) is None
        assert find_undefined_value(name, value, revision) == (reason if revision.since(first) else None)


def test_row_ids_are_enabled_by_a_property_of_the_first_revision() -> None:
    name = "delta.enableRowIds"
    found = {each: find_undefined_value(name, "yes", each) for each in Revision}
    assert found == {**dict.fromkeys(Revision), Revision.R1: NEITHER}


@pytest.mark.parametrize("name", ["delta.columnMapping.mode", "delta.inCommitTimestampEnablementVersion"])
def test_properties_that_a_revision_does_not_name_may_have_any_value(name: str) -> None:
    faulty = [each for each in Revision if find_property_fault(name, "x", each) is not None]
    assert faulty == (list(Revision) if name.endswith("mode") else [Revision.CURRENT])


@pytest.mark.parametrize(
    ("name", "value", "warning"),
    [
        ("delta.parquet.format.version", "1.0.0", None),
        ("delta.parquet.format.version", "2.12.0", None),
        ("delta.parquet.format.version", "1.0.1", "is neither 1.0.0 nor 2.x.x"),
        ("delta.parquet.format.version", "2.12", "is neither 1.0.0 nor 2.x.x"),
        ("delta.unheardOf", "x", None),
    ],
)
def test_values_that_writers_should_avoid(name: str, value: str, warning: str | None) -> None:
    assert find_property_warning(name, value) == warning
    assert find_property_fault(name, value) is None


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("interval 7 days", 7 * DAY),
        ("interval 1 week", 7 * DAY),
        ("INTERVAL 1 WEEK", 7 * DAY),
        ("7 days", 7 * DAY),
        ("interval  1 week   2 hours", 7 * DAY + 7_200_000),
        ("interval 1 day 1 hour 1 minute 1 second 1 millisecond", DAY + 3_661_001),
        ("interval 0 seconds", 0),
        ("interval 1.5 seconds", 1500),
        ("interval 2500 microseconds", 2),
        ("interval -1 day", -DAY),
        ("interval 2 days -1 hours", 2 * DAY - 3_600_000),
    ],
)
def test_intervals_as_spark_writes_them(text: str, milliseconds: int) -> None:
    assert parse_interval_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text",
    ["", "interval", "7", "days", "interval 1 month", "interval 1 year", "interval 1 dayss", "1.5 days",
     "1 day2 hours", "P7D",
     "interval 1 week and a bit", "interval ٧ days", "9" * 100_000 + " days"],
)  # fmt: skip
def test_invalid_intervals(text: str) -> None:
    assert parse_interval_ms(text) is None


def test_retention_falls_back_to_its_default() -> None:
    assert get_file_retention_ms({}) == 7 * DAY
    assert get_log_retention_ms({}) == 30 * DAY
    assert get_file_retention_ms({"delta.deletedFileRetentionDuration": "interval 0 hours"}) == 0
    assert get_log_retention_ms({"delta.logRetentionDuration": "interval 2 days"}) == 2 * DAY
    for odd in ("soon", "interval -1 day"):
        assert get_file_retention_ms({"delta.deletedFileRetentionDuration": odd}) == 7 * DAY
        assert get_log_retention_ms({"delta.logRetentionDuration": odd}) == 30 * DAY


@pytest.mark.parametrize(
    ("text", "days"), [(None, 7), ("interval 1 week", 7), ("interval 30 days", 30), ("interval 0 hours", 0)]
)
def test_tombstones_are_kept_for_their_retention(text: str | None, days: int) -> None:
    settings = {} if text is None else {"delta.deletedFileRetentionDuration": text}
    assert compute_tombstone_cutoff_ms(settings, 100 * DAY) == (100 - days) * DAY


@pytest.mark.parametrize("text", ["interval 1 month", "interval -1 days", "", "week"])
def test_invalid_retention_has_no_cutoff(text: str) -> None:
    assert compute_tombstone_cutoff_ms({"delta.deletedFileRetentionDuration": text}, 100 * DAY) is None
    assert compute_transaction_cutoff_ms({"delta.setTransactionRetentionDuration": text}, 100 * DAY) is None


def test_transactions_expire_only_with_a_retention() -> None:
    assert compute_transaction_cutoff_ms({}, 100 * DAY) is None
    settings = {"delta.setTransactionRetentionDuration": "interval 2 weeks"}
    assert compute_transaction_cutoff_ms(settings, 100 * DAY) == 86 * DAY


@pytest.mark.parametrize(
    ("name", "value", "feature"),
    [
        ("delta.columnMapping.mode", "name", "columnMapping"),
        ("delta.columnMapping.mode", "none", None),
        ("delta.enableDeletionVectors", "true", "deletionVectors"),
        ("delta.enableDeletionVectors", "false", None),
        ("delta.enableRowTracking", "True", "rowTracking"),
        ("delta.enableChangeDataFeed", "true", "changeDataFeed"),
        ("delta.enableInCommitTimestamps", "true", "inCommitTimestamp"),
        ("delta.enableTypeWidening", "true", "typeWidening"),
        ("delta.enableVariantShredding", "true", "variantShredding"),
        ("delta.enableIcebergCompatV2", "true", "icebergCompatV2"),
        ("delta.constraints.positive", "x > 0", "checkConstraints"),
        ("delta.checkpoint.writeStatsAsStruct", "true", None),
        ("delta.unheardOf", "true", None),
    ],
)
def test_required_feature_of_a_property(name: str, value: str, feature: str | None) -> None:
    assert get_required_feature(name, value) == feature
    assert feature is None or feature in FEATURES


def test_bare_append_only_is_a_misprint_without_effect() -> None:
    """E03."""
    assert MISPRINTED_PROPERTIES["appendOnly"] == "delta.appendOnly"
    supporting = Protocol(min_reader_version=1, min_writer_version=2)
    assert not is_append_only(supporting, metadata({"appendOnly": "true"}))
    assert is_append_only(supporting, metadata({"delta.appendOnly": "true"}))
    assert not is_append_only(supporting, metadata({"delta.appendOnly": "false"}))
    assert not is_append_only(
        Protocol(min_reader_version=1, min_writer_version=1), metadata({"delta.appendOnly": "true"})
    )


def test_in_commit_timestamps_require_feature_and_property() -> None:
    on = metadata({"delta.enableInCommitTimestamps": "true"})
    assert has_in_commit_timestamps(listing("inCommitTimestamp"), on)
    assert not has_in_commit_timestamps(listing("inCommitTimestamp"), metadata({}))
    assert not has_in_commit_timestamps(listing(), on)
    assert is_property_true(on.configuration, "delta.enableInCommitTimestamps")


def _schema(kind: Any = LONG, **keys: Any) -> Struct:
    return Struct((Field("x", Array(Struct((Field("y", kind, True, keys),)), True), True),))


@pytest.mark.parametrize(
    ("configuration", "schema", "feature"),
    [
        ({"delta.appendOnly": "true"}, _schema(), "appendOnly"),
        ({"delta.constraints.c": "y > 0"}, _schema(), "checkConstraints"),
        ({"delta.enableChangeDataFeed": "true"}, _schema(), "changeDataFeed"),
        ({"delta.columnMapping.mode": "id"}, _schema(), "columnMapping"),
        ({"delta.enableDeletionVectors": "true"}, _schema(), "deletionVectors"),
        ({"delta.enableRowTracking": "true"}, _schema(), "rowTracking"),
        ({"delta.enableRowIds": "true"}, _schema(), "rowIds"),
        ({"delta.enableIcebergCompatV1": "true"}, _schema(), "icebergCompatV1"),
        ({"delta.enableIcebergCompatV2": "true"}, _schema(), "icebergCompatV2"),
        ({"delta.enableInCommitTimestamps": "true"}, _schema(), "inCommitTimestamp"),
        ({"delta.enableTypeWidening": "true"}, _schema(), "typeWidening"),
        ({"delta.enableVariantShredding": "true"}, _schema(), "variantShredding"),
        ({}, _schema(**{"delta.invariants": "{}"}), "invariants"),
        ({}, _schema(**{"delta.generationExpression": "1"}), "generatedColumns"),
        ({}, _schema(CURRENT_DEFAULT="1"), "allowColumnDefaults"),
        ({}, _schema(**{"delta.identity.start": 1}), "identityColumns"),
        ({}, _schema(Primitive("variant")), "variantType"),
        ({}, _schema(Primitive("timestamp_ntz")), "timestampNtz"),
    ],
)
def test_metadata_makes_a_feature_active(configuration: dict[str, str], schema: Struct, feature: str) -> None:
    everything = listing(*(name for name in FEATURES if name not in ("timestampNTZ", "columnInvariants")))
    always = {"domainMetadata", "v2Checkpoint", "clustering", "vacuumProtocolCheck", "catalogManaged"}
    assert find_active_features(everything, metadata(configuration), schema) - always == {feature}
    assert find_active_features(listing(), metadata(configuration), schema) == set()


def test_supported_feature_is_not_always_active() -> None:
    assert find_active_features(Protocol(min_reader_version=2, min_writer_version=6), metadata({}), _schema()) == set()
    assert find_active_features(listing("appendOnly", "v2Checkpoint"), metadata({}), _schema()) == {"v2Checkpoint"}
    suspended = metadata({"delta.rowTrackingSuspended": "true"})
    assert find_active_features(listing("rowTracking", "domainMetadata"), suspended, _schema()) == {"domainMetadata"}


def test_timestamp_without_zone_with_its_old_name() -> None:
    assert find_active_features(listing("timestampNTZ"), metadata({}), _schema(Primitive("timestamp_ntz"))) == {
        "timestampNTZ"
    }


@pytest.mark.parametrize(
    ("value", "codecs"),
    [
        ("zstd", ("zstd",)),
        ("SNAPPY", ("snappy",)),
        ("None", ("uncompressed",)),
        ("uncompressed", ("uncompressed",)),
        ("Gzip", ("gzip",)),
        ("lz4", ("lz4", "lz4_raw")),
        ("LZ4_RAW", ("lz4_raw",)),
        ("brotli", None),
        ("", None),
    ],
)
def test_codecs_of_the_property(value: str, codecs: tuple[str, ...] | None) -> None:
    assert get_requested_codecs(value) == codecs


@pytest.mark.parametrize(
    ("value", "version"), [("1.0.0", 1), ("2.0.0", 2), ("2.12.1", 2), ("1.0.1", None), ("2", None), ("3.0.0", None)]
)
def test_page_version_of_the_property(value: str, version: int | None) -> None:
    assert parse_page_version(value) == version
