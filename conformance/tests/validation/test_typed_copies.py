"""Typed columns of a checkpoint contradict their text, the commits or the data: such a table never conforms."""

import copy
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.views.files import copy_differences
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.small_tables import encode_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    metadata_action,
    protocol_action,
    write_table,
)
from deltaspec_generators.values.variant_encoder import encode_variant, encode_variant_bound
from planted_tables.bases.typed_copies import (
    FEATURE_TYPES,
    LAYOUTS,
    SAMPLES,
    STATISTICS,
    TYPES,
    CopiedFacts,
    build_facts,
    build_table_of_copies,
    change_typed_statistic,
    get_column_name,
)

NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)
_OLD_REVISIONS = ("r1", "r2", "r3")
OLD_TYPES = tuple(kind for kind in TYPES if kind not in FEATURE_TYPES | {"timestamp"})


def validate(files: TableFiles, directory: Path, **options: Any) -> Report:
    """Validate a table; without data files only its log."""
    write_table(files, directory)
    return deltaspec.validate(str(directory), **{"level": "log", "history": "all", **options})


def find_violations(report: Report) -> set[str]:
    return {each.rule for each in report.findings if each.severity == "violation"}


@st.composite
def settings_of_tables(draw: st.DrawFn) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Draw a revision, the types of the columns, and the layout of the checkpoint."""
    revision = draw(st.sampled_from([*_OLD_REVISIONS, "current"]))
    every = TYPES if revision == "current" else OLD_TYPES
    types = tuple(sorted(draw(st.sets(st.sampled_from(every), min_size=1, max_size=4))))
    layouts = [each for each in LAYOUTS if revision in ("r3", "current") or LAYOUTS[each] != "uuid-parquet"]
    return revision, types, {"layout": draw(st.sampled_from(layouts))}


Change = Callable[[CopiedFacts], None]


@st.composite
def contradictions(draw: st.DrawFn, types: tuple[str, ...]) -> Change:
    """Draw a change of one typed fact."""
    kind = draw(st.sampled_from(types))
    if draw(st.integers(0, 3)) == 0:
        column, value = get_column_name(kind, "p"), draw(st.sampled_from([SAMPLES[kind].other, None]))
        return lambda facts: facts.typed_values.update({column: value})
    statistic, nested = draw(st.sampled_from(STATISTICS)), draw(st.booleans())
    return lambda facts: change_typed_statistic(facts, statistic, kind, nested=nested)


@example_settings(25)
@given(data=st.data())
def test_contradicting_copies_never_conform(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    revision, types, layout = data.draw(settings_of_tables())
    facts, committed = build_facts(types), build_facts(types)
    has_json, has_commits = data.draw(st.sampled_from([(True, False), (True, True), (False, True)]))
    if not has_json:
        facts.stats = None
    parts = {**layout, "committed": committed if has_commits else None}
    directory = tmp_path_factory.mktemp("copies")
    sound = validate(build_table_of_copies(facts, types, **parts), directory / "sound", revision=revision)
    assert (find_violations(sound), sound.checked.not_checked) == (set(), [])
    data.draw(contradictions(types))(facts)
    wrong = validate(build_table_of_copies(facts, types, **parts), directory / "wrong", revision=revision)
    assert find_violations(wrong) in ({"CKP080"}, {"CKP081"}, {"CKP032"})


# each comparison is needed


def disable(monkeypatch: pytest.MonkeyPatch, table: dict[str, Any], *names: str) -> None:
    """Make entries of a table of comparisons find every two values equal."""
    for name in names:
        monkeypatch.setitem(table, name, lambda *_: True)


def iter_statistic_comparisons() -> Iterable[tuple[str, str]]:
    """Yield every statistic with every type of its column."""
    for statistic in (*copy_differences.FILE_STATISTICS, *copy_differences.COLUMN_STATISTICS):
        is_bound = statistic in ("minValues", "maxValues")
        for kind in TYPES if is_bound else ("long",):
            yield statistic, kind


def get_family(kind: str) -> str:
    return kind.partition("(")[0]


@pytest.mark.parametrize(("statistic", "kind"), list(iter_statistic_comparisons()))
def test_only_the_comparison_of_a_statistic_finds_its_contradiction(
    statistic: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = build_facts((kind,))
    change_typed_statistic(facts, statistic, kind)
    files = build_table_of_copies(facts, (kind,))
    assert find_violations(validate(files, tmp_path / "a")) == {"CKP080"}
    disabled = [copy_differences.FILE_STATISTICS, copy_differences.COLUMN_STATISTICS]
    with monkeypatch.context() as patch:
        disable(patch, next(table for table in disabled if statistic in table), statistic)
        assert find_violations(validate(files, tmp_path / "b")) == set()
    if statistic in ("minValues", "maxValues"):
        with monkeypatch.context() as patch:
            disable(patch, copy_differences.BOUNDS, get_family(kind))
            assert find_violations(validate(files, tmp_path / "c")) == set()


@pytest.mark.parametrize("kind", TYPES)
def test_only_the_comparison_of_a_partition_value_finds_its_contradiction(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = build_facts((kind,))
    facts.typed_values[get_column_name(kind, "p")] = SAMPLES[kind].other
    files = build_table_of_copies(facts, (kind,))
    assert find_violations(validate(files, tmp_path / "a")) == {"CKP081"}
    disable(monkeypatch, copy_differences.PARTITION_VALUES, get_family(kind))
    assert find_violations(validate(files, tmp_path / "b")) == set()


def test_every_comparison_is_drawn() -> None:
    """Variants and binary have forms of their own, which other tests compare."""
    families = {get_family(kind) for kind in TYPES}
    assert families == copy_differences.BOUNDS.keys() - {"variant"}
    assert families == copy_differences.PARTITION_VALUES.keys() - {"binary"}
    assert {*STATISTICS} == copy_differences.FILE_STATISTICS.keys() | copy_differences.COLUMN_STATISTICS.keys()


# statistics that exist only as columns reach the rules of the log


_INLINE_VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 44,
    "cardinality": 6,
}


def build_base(
    statistics: list[dict[str, Any]], *, features: tuple[str, ...] = (), domain: Any = None, **more: Any
) -> TableFiles:
    """Build a table that begins with a checkpoint; its adds have these statistics as columns, and equal fields."""
    files = build_table_of_copies(build_facts(("long",)), ("long",))
    checkpoint = files.checkpoints[0]
    table = checkpoint.rows[1]
    assert isinstance(table, dict)
    properties = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}
    readers = [each for each in features if each == "deletionVectors"]
    checkpoint.rows = [
        protocol_action(3, 7, readers, features) if readers else protocol_action(1, 7, None, features),
        {"metaData": {**table["metaData"], "partitionColumns": [], "configuration": properties}},
        *([] if domain is None else [domain]),
        *(add_action(f"{number}.parquet", stats_parsed=each, **more) for number, each in enumerate(statistics)),
    ]
    del checkpoint.parsed["partitionValues_parsed"]
    return files


_ROW_IDS = domain_action("delta.rowTracking", '{"rowIdHighWaterMark":100}')
_TRACKED: dict[str, Any] = {
    "features": ("rowTracking", "domainMetadata"),
    "domain": _ROW_IDS,
    "baseRowId": 5,
    "defaultRowCommitVersion": 1,
}


@pytest.mark.parametrize(
    ("statistics", "more", "rule"),
    [
        ([{"numRecords": -1}], {}, "FIL017"),
        ([{"numRecords": 1, "nullCount": {"c_long": 2}}], {}, "FIL018"),
        ([{"numRecords": 1}], {"features": ("deletionVectors",), "deletionVector": _INLINE_VECTOR}, "DVX008"),
        (
            [{"nullCount": {"c_long": 1}}],
            {"features": ("deletionVectors",), "deletionVector": _INLINE_VECTOR},
            "FIL015",
        ),
        ([{"numRecords": 10}, {"numRecords": 10}], _TRACKED, "RID001"),
    ],
)
def test_statistics_that_exist_only_as_columns_reach_the_rules(
    statistics: list[dict[str, Any]], more: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    assert find_violations(validate(build_base(statistics, **more), tmp_path / "t")) == {rule}


# statistics that exist only as columns, compared with the data


def build_table_with_rows(facts: CopiedFacts, types: tuple[str, ...], **parts: Any) -> TableFiles:
    """Build the table of copies with a data file of two rows, whose values are the bounds."""
    columns = {
        get_column_name(kind): pa.array([SAMPLES[kind].low, SAMPLES[kind].high], SAMPLES[kind].arrow) for kind in types
    }
    nested = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    content = encode_data_file(pa.table({**columns, "s": nested}))
    files = build_table_of_copies(facts, types, **parts)
    for row in [*files.checkpoints[0].rows, *(row for each in files.checkpoints[0].sidecars for row in each.rows)]:
        if isinstance(row, dict) and "add" in row:
            row["add"]["size"] = len(content)
    files.data["a.parquet"] = content
    return files


def build_facts_of_rows(types: tuple[str, ...]) -> CopiedFacts:
    """Build facts with the row count of `build_table_with_rows`, without JSON."""
    facts = build_facts(types)
    assert facts.typed is not None
    facts.stats, facts.typed["numRecords"] = None, 2
    return facts


@pytest.mark.parametrize("layout", ["classic", "sidecar"])
@pytest.mark.parametrize("kind", TYPES)
def test_typed_statistics_that_contradict_the_rows_are_found(kind: str, layout: str, tmp_path: Path) -> None:
    sound = build_table_with_rows(build_facts_of_rows((kind,)), (kind,), layout=layout)
    report = validate(sound, tmp_path / "sound", level="rows")
    assert (find_violations(report), report.checked.not_checked) == (set(), [])
    expected = {"numRecords": "PQT002", "nullCount": "STA005", "minValues": "STA001", "maxValues": "STA002"}
    for statistic, rule in expected.items():
        facts = build_facts_of_rows((kind,))
        change_typed_statistic(facts, statistic, kind)
        wrong = build_table_with_rows(facts, (kind,), layout=layout)
        assert find_violations(validate(wrong, tmp_path / statistic, level="rows")) == {rule}


def test_bounds_that_json_leaves_out_are_compared_with_the_rows(tmp_path: Path) -> None:
    facts = build_facts_of_rows(("long",))
    facts.stats = {"numRecords": 2}
    change_typed_statistic(facts, "minValues", "long")
    report = validate(build_table_with_rows(facts, ("long",)), tmp_path / "t", level="rows")
    assert find_violations(report) == {"STA001"}


# differences that the protocol permits


def change_typed(statistic: str, kind: str, value: Any) -> TableFiles:
    facts = build_facts((kind,))
    assert facts.typed is not None
    facts.typed[statistic][get_column_name(kind)] = value
    return build_table_of_copies(facts, (kind,), committed=build_facts((kind,)))


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
@pytest.mark.parametrize(("microseconds", "conforms"), [(0, True), (1, True), (999, True), (1000, False), (-1, False)])
def test_json_may_truncate_timestamps_to_milliseconds(
    kind: str, microseconds: int, conforms: bool, tmp_path: Path
) -> None:
    low: datetime = SAMPLES[kind].low
    files = change_typed("minValues", kind, low + timedelta(microseconds=microseconds))
    assert find_violations(validate(files, tmp_path / "t")) == (set() if conforms else {"CKP080"})


@pytest.mark.parametrize(
    ("statistic", "value", "conforms"),
    [
        ("minValues", "a", True),
        ("minValues", "abc", True),
        ("minValues", "b", False),
        ("minValues", "", False),
        ("maxValues", "zzz", True),
        ("maxValues", "z\x7f", True),
        ("maxValues", "zy", False),
    ],
)
def test_strings_may_be_truncated(statistic: str, value: str, conforms: bool, tmp_path: Path) -> None:
    report = validate(change_typed(statistic, "string", value), tmp_path / "t")
    assert find_violations(report) == (set() if conforms else {"CKP080"})


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("copy_name", ["stats", "typed"])
def test_statistics_may_be_missing_in_one_copy(statistic: str, copy_name: str, tmp_path: Path) -> None:
    facts = build_facts(("long", "string"))
    statistics = copy.deepcopy(getattr(facts, copy_name))
    del statistics[statistic]
    setattr(facts, copy_name, statistics)
    report = validate(
        build_table_of_copies(facts, ("long", "string"), committed=build_facts(("long", "string"))), tmp_path / "t"
    )
    assert find_violations(report) == set()


@pytest.mark.parametrize(("revision", "conforms"), [("r1", True), ("r3", True), ("current", False)])
def test_missing_tight_bounds_mean_tight_in_the_current_revision(revision: str, conforms: bool, tmp_path: Path) -> None:
    facts = build_facts(("long",))
    assert facts.stats is not None
    assert facts.typed is not None
    facts.stats["tightBounds"] = False
    del facts.typed["tightBounds"]
    report = validate(build_table_of_copies(facts, ("long",)), tmp_path / "t", revision=revision)
    assert find_violations(report) == (set() if conforms else {"CKP080"})


@pytest.mark.parametrize(
    ("kind", "text", "typed", "conforms"),
    [
        ("string", "", None, True),
        ("string", None, None, True),
        ("string", "", "", True),
        ("string", None, "a", False),
        ("string", "a", None, False),
        ("string", "__HIVE_DEFAULT_PARTITION__", None, False),
        ("long", "01", 1, True),
        ("double", "NaN", float("nan"), True),
        ("double", "-0.0", 0.0, True),
        ("double", "1", float("nan"), False),
        ("boolean", "TRUE", True, True),
        ("timestamp", "2024-01-02 12:00:00", NOON + timedelta(hours=5, minutes=30), True),
        ("timestamp", "2024-01-02 12:00:00", NOON + timedelta(minutes=31), False),
        ("timestamp", "2024-01-02 12:00:00", NOON + timedelta(hours=17), False),
        ("timestamp", "2024-01-02T12:00:00Z", NOON + timedelta(hours=1), False),
    ],
)
def test_partition_values_are_compared_as_values(
    kind: str, text: str | None, typed: Any, conforms: bool, tmp_path: Path
) -> None:
    facts = build_facts((kind,))
    column = get_column_name(kind, "p")
    facts.values[column], facts.typed_values[column] = text, typed
    report = validate(build_table_of_copies(facts, (kind,)), tmp_path / "t", select=["CKP"])
    assert find_violations(report) == (set() if conforms else {"CKP081"})


def test_statistics_of_unknown_columns_are_ignored(tmp_path: Path) -> None:
    facts = build_facts(("long", "string"))
    change_typed_statistic(facts, "minValues", "string")
    files = build_table_of_copies(facts, ("long", "string"))
    row = files.checkpoints[0].rows[1]
    assert isinstance(row, dict)
    schema = msgspec.json.decode(row["metaData"]["schemaString"])
    schema["fields"] = [each for each in schema["fields"] if each["name"] != "c_string"]
    row["metaData"]["schemaString"] = msgspec.json.encode(schema).decode()
    assert find_violations(validate(files, tmp_path / "t")) == set()


@pytest.mark.parametrize("statistic", ["numRecords", "minValues"])
def test_json_of_a_later_checkpoint_is_compared_with_the_columns_of_the_base(statistic: str, tmp_path: Path) -> None:
    facts, later = build_facts(("timestamp",)), build_facts(("timestamp",))
    facts.stats = None
    assert later.stats is not None
    for directory, expected in (("sound", set()), ("wrong", {"CKP032"})):
        files = build_table_of_copies(
            facts, ("timestamp",), configuration={"delta.checkpoint.writeStatsAsJson": "true"}
        )
        second = build_table_of_copies(later, ("timestamp",)).checkpoints[0]
        second.rows[1] = files.checkpoints[0].rows[1]
        second.version = 2
        files.checkpoints.append(second)
        report = validate(files, tmp_path / directory, select=["CKP032", "CKP080"])
        assert find_violations(report) == expected
        later.typed = None
        later.stats[statistic] = 11 if statistic == "numRecords" else {"c_timestamp": "2024-01-02T03:04:05.122Z"}


# bounds of variants


def build_table_with_variant_bound(
    text: dict[str, Any], typed: dict[str, Any], *, shredded: bool = False
) -> TableFiles:
    """Build a table whose checkpoint has a bound of the variant column `v` twice."""
    features = ["variantType", "variantShredding"]
    stored = dict(zip(("metadata", "value"), encode_variant(typed), strict=True))
    members = [("metadata", pa.binary()), ("value", pa.binary()), *([("typed_value", pa.int64())] if shredded else [])]
    kind = pa.struct([("numRecords", pa.int64()), ("minValues", pa.struct([("v", pa.struct(members))]))])
    stats = msgspec.json.encode({"numRecords": 2, "minValues": {"v": encode_variant_bound(text)}}).decode()
    add = add_action("a.parquet", stats=stats, stats_parsed={"numRecords": 2, "minValues": {"v": stored}})
    rows: list[Any] = [protocol_action(3, 7, features, features), metadata_action([("v", "variant")]), add]
    files = TableFiles()
    files.commits[2] = [commit_info_action(2)]
    files.checkpoints.append(CheckpointFiles(1, rows=rows, parsed={"stats_parsed": kind}))
    return files


@pytest.mark.parametrize(
    ("text", "typed", "conforms"),
    [
        ({"$['a']": 1}, {"$['a']": 1}, True),
        ({"$['a']": 1}, {"$['a']": 1, "$['b']": 2}, True),
        ({"$['a']": "ab"}, {"$['a']": "abc"}, True),
        ({"$['a']": 1}, {"$['a']": 2}, False),
        ({"$['a']": 1}, {"$['a']": "1"}, False),
        ({"$['a']": "ab"}, {"$['a']": "b"}, False),
    ],
)
def test_bounds_of_variants_are_compared_by_path(
    text: dict[str, Any], typed: dict[str, Any], conforms: bool, tmp_path: Path
) -> None:
    report = validate(build_table_with_variant_bound(text, typed), tmp_path / "t", select=["CKP080"])
    assert find_violations(report) == (set() if conforms else {"CKP080"})
    assert report.checked.not_checked == []


def test_bounds_of_shredded_variants_are_listed_as_not_checked(tmp_path: Path) -> None:
    bound = {"$['a']": 1}
    report = validate(build_table_with_variant_bound(bound, bound, shredded=True), tmp_path / "t", select=["CKP080"])
    reasons = [each.reason for each in report.checked.not_checked]
    assert reasons == ["add.stats_parsed.minValues.v has shredded variants, which cannot be compared"]


# values that cannot be compared


def test_values_that_cannot_be_compared_are_listed(tmp_path: Path) -> None:
    facts = build_facts(("long",))
    assert facts.typed is not None
    facts.typed["minValues"]["c_long"] = b"a"
    files = build_table_of_copies(facts, ("long",))
    bounds = pa.struct([("c_long", pa.binary())])
    statistics = pa.struct([("numRecords", pa.int64()), ("minValues", bounds)])
    files.checkpoints[0].parsed["stats_parsed"] = statistics
    report = validate(files, tmp_path / "t")
    reasons = {each.reason for each in report.checked.not_checked if each.rule == "CKP080"}
    assert reasons == {"add.stats_parsed.minValues.c_long has the type binary, whose values cannot be compared"}
    assert report.verdict != "conforms"


@pytest.mark.parametrize("level", ["log", "rows"])
def test_damaged_typed_statistics_are_not_checked(tmp_path: Path, level: str) -> None:
    files = build_table_with_rows(build_facts_of_rows(("string",)), ("string",))
    write_table(files, tmp_path)
    (path,) = (tmp_path / "_delta_log").glob("*.parquet")
    content, group = bytearray(path.read_bytes()), pq.read_metadata(path).row_group(0)
    chunks = [group.column(index) for index in range(group.num_columns)]
    (damaged,) = (each for each in chunks if each.path_in_schema == "add.stats_parsed.minValues.c_string")
    for position in range(damaged.data_page_offset, damaged.data_page_offset + damaged.total_compressed_size):
        content[position] = 255
    path.write_bytes(content)
    report = deltaspec.validate(str(tmp_path), level=level, history="all")
    assert (find_violations(report), report.verdict) == (set(), "incomplete")
    undecided = {each.rule for each in report.checked.not_checked if each.file == f"_delta_log/{path.name}"}
    assert {"CKP080", "CKP081", "FIL017"} <= undecided
    assert ("STA002" in undecided) == (level == "rows")


@pytest.mark.parametrize("has_text", [True, False])
def test_rows_need_typed_statistics_only_without_text(has_text: bool, tmp_path: Path) -> None:
    facts = build_facts(("long",)) if has_text else build_facts_of_rows(("long",))
    assert facts.typed is not None
    facts.typed["minValues"]["c_long"] = b"a"
    files = build_table_with_rows(facts, ("long",))
    bounds = pa.struct([("c_long", pa.binary())])
    statistics = pa.struct([("numRecords", pa.int64()), ("minValues", bounds)])
    files.checkpoints[0].parsed["stats_parsed"] = statistics
    report = validate(files, tmp_path, level="rows")
    reason = "add.stats_parsed.minValues.c_long has the type binary, whose values cannot be compared"
    undecided = {each.rule for each in report.checked.not_checked if each.reason == reason}
    assert "CKP080" in undecided
    assert ("STA001" in undecided) != has_text
    assert "FIL017" not in undecided


def test_repeated_typed_columns_are_not_checked(tmp_path: Path) -> None:
    files = build_table_with_rows(build_facts_of_rows(("long",)), ("long",))
    write_table(files, tmp_path)
    (path,) = (tmp_path / "_delta_log").glob("*.parquet")
    table = pq.read_table(path)
    adds = table["add"].combine_chunks()
    fields, arrays = list(adds.type), adds.flatten()
    numbers = [adds.type.get_field_index(name) for name in ("stats_parsed", "partitionValues_parsed")]
    twice = pa.StructArray.from_arrays(
        [*arrays, *(arrays[number] for number in numbers)],
        fields=[*fields, *(fields[number] for number in numbers)],
        mask=adds.is_null(),
    )
    pq.write_table(table.set_column(table.schema.get_field_index("add"), "add", twice), path)
    rules = ["CKP080", "CKP081", "FIL017", "STA001"]
    report = deltaspec.validate(str(tmp_path), level="rows", history="all", select=rules)
    assert report.verdict == "incomplete"
    assert {(each.rule, each.reason) for each in report.checked.not_checked} == {
        ("CKP080", "add.stats_parsed exists 2 times"),
        ("CKP081", "add.partitionValues_parsed exists 2 times"),
        ("FIL017", "add.stats_parsed exists 2 times"),
        ("STA001", "add.stats_parsed exists 2 times"),
    }


@pytest.mark.parametrize("text", ["", "x", "null", "[]"])
def test_short_statistics_that_are_not_an_object_are_found(text: str, tmp_path: Path) -> None:
    files = build_table_of_copies(build_facts(("long",)), ("long",))
    row = files.checkpoints[0].rows[-1]
    assert isinstance(row, dict)
    row["add"]["stats"] = text
    assert find_violations(validate(files, tmp_path / "t", select=["FIL"])) == {"FIL016"}


def test_statistics_that_are_not_json_are_reported_once(tmp_path: Path) -> None:
    facts = build_facts(("long",))
    files = build_table_of_copies(facts, ("long",))
    row = files.checkpoints[0].rows[-1]
    assert isinstance(row, dict)
    row["add"]["stats"] = msgspec.json.encode(facts.stats).decode()[:-1]
    assert find_violations(validate(files, tmp_path / "t")) == {"FIL016"}
