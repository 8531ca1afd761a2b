"""Every rule has complete documentation, its examples match its expression, and it reads one row or key at a time."""

import ast
import inspect
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import deltaspec.rules
from deltaspec.fix_cases import DELTA_RS, DELTA_SPARK, advise
from deltaspec.requirements import load_requirements
from deltaspec.rules import RULES, Rule, command_fixes, file_fixes, fixes
from deltaspec.rules.causes import CAUSES
from deltaspec.rules.prefixes import PREFIXES
from deltaspec.scales import FIX_CLASSES
from deltaspec.views.base import View

FIX_MODULES = ("causes", "command_fixes", "file_fixes", "fix_texts", "fixes")
ROOT = Path(str(deltaspec.rules.__file__)).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted(ROOT.rglob("*.py"))
    if path.name != "__init__.py" and path.stem not in ("registry", "examples", "prefixes", "harms", *FIX_MODULES)
}
"""Files with rules, by module below `deltaspec.rules`."""
CROSS_ROW_METHODS = {
    *("sum", "min", "max", "mean", "median", "std", "var", "quantile", "mode", "product", "implode"),
    *("count", "len", "n_unique", "null_count", "unique", "unique_counts", "value_counts", "is_duplicated"),
    *("is_unique", "is_first_distinct", "is_last_distinct", "first", "last", "get", "head", "tail", "slice"),
    *("shift", "diff", "pct_change", "rank", "sort", "sort_by", "reverse", "arg_sort", "arg_max", "arg_min"),
    *("cum_sum", "cum_max", "cum_min", "cum_count", "cum_prod", "rle_id", "forward_fill", "backward_fill"),
    *("any", "all", "sample", "shuffle", "top_k", "bottom_k", "gather", "gather_every", "map_batches", "filter"),
}
VALUE_NAMESPACES = {"list", "str", "struct", "dt", "bin"}
ROW_WISE_FUNCTIONS = {"col", "lit", "when", "coalesce", "concat_list", "all_horizontal", "any_horizontal", "Expr"}

each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


def evaluate(rule: Rule, rows: list[dict[str, Any]]) -> list[bool | None]:
    frame = rule.view.frame(rows)
    return frame.select(rule.expression().alias("result"))["result"].to_list()


def get_module(rule: Rule) -> str:
    return rule.expression.__module__.removeprefix("deltaspec.rules.")


@each_rule
def test_every_violating_example_is_a_finding(rule: Rule) -> None:
    assert rule.violates
    found = evaluate(rule, rule.violates)
    assert [row for row, violates in zip(rule.violates, found, strict=True) if violates is not True] == []


@each_rule
def test_no_conforming_example_is_a_finding(rule: Rule) -> None:
    assert rule.conforms
    found = evaluate(rule, rule.conforms)
    assert [row for row, violates in zip(rule.conforms, found, strict=True) if violates] == []


@each_rule
def test_examples_have_exactly_the_columns_that_are_read(rule: Rule) -> None:
    read = set(rule.expression().meta.root_names())
    for row in (*rule.conforms, *rule.violates):
        assert row.keys() == read
    assert set(rule.reads) == read


@each_rule
def test_no_example_both_conforms_and_violates(rule: Rule) -> None:
    assert not [row for row in rule.conforms if row in rule.violates]


@each_rule
def test_expression_is_boolean(rule: Rule) -> None:
    assert rule.view.frame([]).select(rule.expression().alias("result")).schema == {"result": pl.Boolean}


@each_rule
def test_empty_view_has_no_finding(rule: Rule) -> None:
    assert evaluate(rule, []) == []


@each_rule
def test_row_of_nulls_is_not_a_finding(rule: Rule) -> None:
    assert evaluate(rule, [{}]) != [True]


@each_rule
@pytest.mark.parametrize("partitions", [2, 7])
def test_findings_do_not_depend_on_partitioning(rule: Rule, partitions: int) -> None:
    frame = _repeat_examples(rule)
    complete = frame.filter(rule.expression())
    numbers = _partition(rule.view, frame, partitions)
    parts = [frame.filter(pl.Series(numbers) == each).filter(rule.expression()) for each in range(partitions)]
    assert len(complete) >= len(rule.violates)
    assert pl.concat(parts).sort("_row")["_row"].to_list() == complete["_row"].to_list()


def _repeat_examples(rule: Rule) -> pl.DataFrame:
    """Repeat all examples five times, with a new key every two rows, and number them in column `_row`."""
    rows = [*rule.conforms, *rule.violates] * 5
    keys = [name for name in rule.view.key if name not in rule.reads]
    for number, row in enumerate(rows):
        for name in keys:
            row[name] = number // 2 if rule.view.columns[name].dtype == pl.Int64 else f"key {number // 2}"
    return rule.view.frame(rows).with_row_index("_row")


def _partition(view: View, frame: pl.DataFrame, partitions: int) -> list[int]:
    keys = view.key or ("_row",)
    return [zlib.crc32(repr(key).encode()) % partitions for key in frame.select(keys).iter_rows()]


@each_rule
def test_code_has_the_prefix_of_its_module(rule: Rule) -> None:
    assert re.fullmatch(rf"{rule.prefix}\d{{3}}", rule.code)
    assert PREFIXES[rule.prefix].module == get_module(rule).partition(".")[0]


def test_prefixes_are_sorted_and_used_and_name_different_modules() -> None:
    assert list(PREFIXES) == sorted({rule.prefix for rule in RULES.values()})
    modules = [prefix.module for prefix in PREFIXES.values()]
    assert sorted(set(modules)) == sorted(modules)


def test_rules_are_sorted_by_code() -> None:
    assert list(RULES) == sorted(RULES)


@each_rule
def test_documentation_is_complete(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z`].*[.]", rule.message)
    assert len(rule.message) <= 120
    assert "\n" not in rule.message
    assert "::" not in rule.message
    assert rule.why.endswith((".", ")"))
    assert re.fullmatch(r"[A-Z`].*[.]", rule.fix)


@each_rule
def test_rule_fits_on_a_screen(rule: Rule) -> None:
    assert len(inspect.getsource(rule.expression).splitlines()) <= 60


@each_rule
def test_severity_follows_the_requirement(rule: Rule) -> None:
    first = load_requirements()[rule.requires[0]]
    if rule.warning:
        assert rule.divergence is None
        assert rule.severity == "warning"
        assert first.strength == "must"
        assert first.reading
    elif rule.divergence is None:
        assert {"must": "violation", "is": "violation", "should": "warning"}[first.strength] == rule.severity
    else:
        assert rule.severity == "divergence"
        assert re.fullmatch(r"[ES]\d\d", rule.divergence)


@each_rule
def test_divergence_is_noted_in_its_requirement(rule: Rule) -> None:
    if rule.divergence is not None:
        assert [
            revision for revision in rule.revisions if rule.divergence not in rule.requirement_in(revision).notes
        ] == []


@each_rule
def test_requirements_exist(rule: Rule) -> None:
    assert rule.requires
    assert set(rule.requires) <= load_requirements().keys()
    assert rule.revisions


@each_rule
def test_view_has_every_column_that_is_read(rule: Rule) -> None:
    assert set(rule.expression().meta.root_names()) <= set(rule.view.columns)


def test_names_are_unique() -> None:
    assert [name for name, times in Counter(rule.name for rule in RULES.values()).items() if times > 1] == []


def test_every_module_of_rules_is_imported() -> None:
    assert {get_module(rule) for rule in RULES.values()} == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_expressions_read_one_row_or_one_key(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    keyed = {id(call.func.value) for call in _calls(tree, "over") if _partitions_by_complete_key(name, call)}
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        owner, method = call.func.value, call.func.attr
        if isinstance(owner, ast.Name) and owner.id == "pl":
            assert method in ROW_WISE_FUNCTIONS, f"line {call.lineno}: pl.{method}"
        elif not (isinstance(owner, ast.Attribute) and owner.attr in VALUE_NAMESPACES):
            assert method not in CROSS_ROW_METHODS or id(call) in keyed, f"line {call.lineno}: {method}"
            assert method != "over" or _partitions_by_complete_key(name, call), f"line {call.lineno}: over"


def _calls(tree: ast.AST, method: str) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == method]


def _partitions_by_complete_key(name: str, call: ast.Call) -> bool:
    views = [rule.view for rule in RULES.values() if get_module(rule) == name]
    named = {each.value for each in ast.walk(call) if isinstance(each, ast.Constant)}
    return all(view.key and set(view.key) <= named for view in views)


def test_shared_fixes_are_written_once() -> None:
    own = Counter(rule.fix for rule in RULES.values() if rule.shared_fix is None)
    assert [text for text, number in own.items() if number > 1] == []
    shared = {
        advise(value)
        for module in (fixes, file_fixes, command_fixes)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, tuple)
    }
    assert shared == {rule.fix for rule in RULES.values() if rule.shared_fix is not None}
    assert shared.isdisjoint(own)
    for rule in RULES.values():
        assert rule.shared_fix is None or "Fix (" not in (rule.expression.__doc__ or "")


@each_rule
def test_cases_of_a_fix_are_complete(rule: Rule) -> None:
    for case in rule.fix_cases:
        assert case.fix_class in FIX_CLASSES
        assert (case.fix_class == "command") == bool(case.commands)
        assert not case.commands or case.engine in (DELTA_SPARK, DELTA_RS)
        assert not case.by_hand or case.fix_class == "repair"
        assert bool(case.condition) == (len(rule.fix_cases) > 1)
        assert not case.evidence or case.evidence in rule.view.columns


def test_causes_name_rules_once_and_in_no_cycle() -> None:
    pairs = [(each.rule, effect, each.subject) for each in CAUSES for effect in each.effects]
    assert len(set(pairs)) == len(pairs)
    assert {code for pair in pairs for code in pair[:2]} <= RULES.keys()
    assert [pair for pair in pairs if (pair[1], pair[0]) in {each[:2] for each in pairs}] == []
