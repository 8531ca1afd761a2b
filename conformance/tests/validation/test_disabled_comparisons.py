"""Each comparison of variants, change data and stored types decides something.

Drawn tables are sound until one fact contradicts another. Without the comparison of the two facts, the contradiction
goes unnoticed.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st
from planted_faults.caught_by import CAUGHT_BY
from planted_faults.kill_table import write_and_validate

from deltaspec.protocol.schema import parquet_types
from deltaspec.protocol.variants import shredding
from deltaspec.protocol.variants.shredding import STORED_ONCE
from deltaspec.report.report_types import Report
from deltaspec.validation.data import variant_bound_checks
from deltaspec.views.data import footer_facts, variants
from deltaspec.wire.data import row_hashing
from deltaspec_generators.table_files import TableFiles, get_action
from deltaspec_generators.tables.strategies import shapes, variant_arrays, variant_values
from deltaspec_generators.values.variant_encoder import (
    MISSING,
    Shape,
    build_shredded_type,
    encode_names,
    encode_value,
    encode_variant_bound,
    shred_value,
)
from planted_tables.bases.variants import ENABLED, PLACES, build_table_with_changed_variant, build_table_with_variants
from planted_tables.faults.all_faults import PLANTED_FAULTS


@dataclass(frozen=True)
class Comparison:
    """A comparison, as the function or table entry that makes it, and what it returns if it is disabled."""

    owner: Any
    name: str
    disabled: Any
    """A replacement of the function; for an entry of a mapping, the function of that entry."""

    @contextmanager
    def off(self) -> Iterator[None]:
        """Disable the comparison."""
        with pytest.MonkeyPatch.context() as patch:
            if isinstance(self.owner, dict):
                patch.setitem(self.owner, self.name, self.disabled)
            else:
                patch.setattr(self.owner, self.name, self.disabled)
            yield


def find_nothing(*_: object) -> Iterator[str]:
    return iter(())


def return_none(*_: object) -> None:
    return None


def hash_nothing(_: object, array: pa.Array) -> Any:
    return row_hashing.hash_nulls(len(array))


def return_empty(*_: object) -> Any:
    return ()


def describe_nothing(*_: object) -> dict[str, Any]:
    return {}


COMPARISONS = {
    "variant_part_in_both_places": Comparison(shredding.CHECKS, STORED_ONCE, find_nothing),
    "object_beside_its_typed_column": Comparison(shredding.CHECKS, "variant-shredding.objects-typed", find_nothing),
    "array_beside_its_typed_column": Comparison(shredding.CHECKS, "variant-shredding.arrays-typed", find_nothing),
    "shredded_variant_is_missing": Comparison(shredding.CHECKS, "variant-shredding.present", find_nothing),
    "shredded_field_without_a_name": Comparison(shredding.CHECKS, "variant-shredding.names-in-metadata", find_nothing),
    "shredded_variant_of_other_bytes": Comparison(variants, "find_encoding_faults", find_nothing),
    "shredded_into_an_unlisted_type": Comparison(parquet_types, "is_shredded_scalar", lambda _: True),
    "variant_bound_that_excludes_a_value": Comparison(variant_bound_checks, "find_contradiction", return_none),
    "tight_variant_bound_that_is_loose": Comparison(variant_bound_checks, "find_loose_bound", return_none),
    "change_of_another_variant": Comparison(row_hashing, "hash_variants", hash_nothing),
    "change_of_another_row": Comparison(row_hashing, "hash_leaf", hash_nothing),
    "partition_column_of_another_type": Comparison(footer_facts, "list_stored_partition_columns", return_empty),
    "narrower_file_without_a_record": Comparison(footer_facts.WideningFacts, "of", describe_nothing),
}
"""Comparisons by the planted fault that contradicts them."""


def test_every_shredding_rule_is_listed() -> None:
    listed = {each.name for each in COMPARISONS.values() if each.owner is shredding.CHECKS}
    assert listed == set(shredding.CHECKS)


@pytest.mark.parametrize("name", COMPARISONS)
def test_contradiction_goes_unnoticed_without_the_comparison(name: str) -> None:
    @example_settings(2)
    @given(PLANTED_FAULTS[name].tables())
    def run(files: TableFiles) -> None:
        level = PLANTED_FAULTS[name].level
        assert CAUGHT_BY[name] in write_and_validate(files, level).totals
        with COMPARISONS[name].off():
            assert CAUGHT_BY[name] not in write_and_validate(files, level).totals

    run()


# drawn variants


def verdict(report: Report) -> tuple[str, dict[str, int], list[str]]:
    return report.verdict, dict(report.totals), [each.reason for each in report.checked.not_checked]


CONFORMS: tuple[str, dict[str, int], list[str]] = ("conforms", {}, [])


@example_settings(6)
@given(st.data())
def test_sound_shredded_variants_conform(data: st.DataObject) -> None:
    values = data.draw(st.lists(variant_values(), max_size=5))
    files = build_table_with_variants(data.draw(variant_arrays(values)), configuration=ENABLED)
    assert verdict(write_and_validate(files, "rows")) == CONFORMS


@example_settings(6)
@given(st.data())
def test_change_data_of_equal_variants_conforms(data: st.DataObject) -> None:
    old, new = data.draw(variant_values()), data.draw(variant_values())
    files = build_table_with_changed_variant(
        data.draw(st.sampled_from(PLACES)),
        before=data.draw(variant_arrays([old])),
        after=data.draw(variant_arrays([new])),
        changes=data.draw(variant_arrays([old, new])),
    )
    assert verdict(write_and_validate(files, "rows")) == CONFORMS


Pair = dict[str, Any]
_objects = variant_values().filter(lambda value: isinstance(value, dict))
_arrays = variant_values().filter(lambda value: isinstance(value, list))


def _encode(value: Any) -> bytes:
    return encode_value(value, _ALL_NAMES)


_ALL_NAMES = ("a", "b", "c", "part")


def _store_scalar_twice(draw: st.DrawFn) -> tuple[Pair, Shape]:
    return {"value": _encode(draw(variant_values())), "typed_value": 5}, pa.int64()


def _store_field_in_value(draw: st.DrawFn) -> tuple[Pair, Shape]:
    shape = draw(shapes().filter(lambda each: isinstance(each, dict)))
    assert isinstance(shape, dict)
    name = draw(st.sampled_from(sorted(shape)))
    fields = dict.fromkeys(shape, MISSING)
    if draw(st.booleans()):
        fields[name] = shred_value(draw(variant_values()), shape[name], _ALL_NAMES)
    return {"value": _encode({name: draw(variant_values())}), "typed_value": fields}, shape


def _store_object_in_value(draw: st.DrawFn) -> tuple[Pair, Shape]:
    shape = draw(shapes().filter(lambda each: isinstance(each, dict)))
    return {"value": _encode(draw(_objects)), "typed_value": None}, shape


def _store_array_in_value(draw: st.DrawFn) -> tuple[Pair, Shape]:
    shape = draw(shapes().filter(lambda each: isinstance(each, list)))
    return {"value": _encode(draw(_arrays)), "typed_value": None}, shape


def _omit_value(draw: st.DrawFn) -> tuple[Pair, Shape]:
    return MISSING, draw(shapes())


def _omit_element(draw: st.DrawFn) -> tuple[Pair, Shape]:
    element = draw(shapes())
    elements = [shred_value(each, element, _ALL_NAMES) for each in draw(st.lists(variant_values(), max_size=2))]
    return {"value": None, "typed_value": draw(st.permutations([*elements, MISSING]))}, [element]


def _store_unnamed_field(draw: st.DrawFn) -> tuple[Pair, Shape]:
    shape = draw(shapes())
    field = shred_value(draw(variant_values()), shape, _ALL_NAMES)
    return {"value": None, "typed_value": {"unnamed": field}}, {"unnamed": shape}


CONTRADICTIONS: dict[str, tuple[Callable[[st.DrawFn], tuple[Pair, Shape]], str]] = {
    "scalar stored twice": (_store_scalar_twice, "VAR006"),
    "field stored twice": (_store_field_in_value, "VAR006"),
    "object in value": (_store_object_in_value, "VAR008"),
    "array in value": (_store_array_in_value, "VAR008"),
    "value missing": (_omit_value, "VAR008"),
    "element missing": (_omit_element, "VAR008"),
    "name missing": (_store_unnamed_field, "VAR008"),
}


def wrap(pair: Pair, shape: Shape, place: str) -> tuple[Pair, Shape]:
    """Make the pair a field or an element of a variant."""
    match place:
        case "field":
            return {"value": None, "typed_value": {"part": pair}}, {"part": shape}
        case "element":
            return {"value": None, "typed_value": [pair]}, [shape]
    return pair, shape


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_one_contradiction_is_found_anywhere(name: str) -> None:
    contradict, rule = CONTRADICTIONS[name]

    @example_settings(3)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        pair, shape = contradict(data.draw)
        places = ["top", "element"] if pair == MISSING else ["top", "field", "element"]  # a field may be missing
        for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=2)):
            pair, shape = wrap(pair, shape, place)
            places = ["top", "field", "element"]
        row = {"metadata": encode_names(_ALL_NAMES), **pair}
        files = build_table_with_variants(pa.array([row], build_shredded_type(shape)), configuration=ENABLED)
        assert set(write_and_validate(files, "rows").totals) == {rule}

    run()


@example_settings(5)
@given(st.data())
def test_bounds_of_drawn_variants(data: st.DataObject) -> None:
    """Sound bounds of a field conform in every encoding; bounds that exclude a value are found."""
    numbers = data.draw(st.lists(st.integers(-100, 100), min_size=1, max_size=4))
    values = [{"a": number, "b": data.draw(variant_values())} for number in numbers]
    files = build_table_with_variants(data.draw(variant_arrays(values)), configuration=ENABLED)
    for offset, verdicts in ((0, CONFORMS), (1, ("violations", {"STA031": 1}, []))):
        set_bounds(files, min(numbers) + offset, max(numbers))
        assert verdict(write_and_validate(files, "rows")) == verdicts


def set_bounds(files: TableFiles, low: int, high: int) -> None:
    ends = {"minValues": low, "maxValues": high}
    bounds = {name: {"v": encode_variant_bound({"$['a']": value})} for name, value in ends.items()}
    add = get_action(files, 2, "add")
    add["stats"] = json.dumps({**json.loads(add["stats"]), **bounds})
