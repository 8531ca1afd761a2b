"""Log lines that `deltaspec explain` shows: they are those of the planted faults, and their differences are marked."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from planted_faults.caught_by import CAUGHT_BY
from planted_faults.log_examples import build_example, encode_examples

from deltaspec.log_examples import FILE, LinePair, LogExample, Mark, find_marks, load_log_examples, render_log_example
from deltaspec.report.text import escape_text
from deltaspec.rules import RULES


@pytest.mark.slow("generators/planted_tables/faults", "conformance/deltaspec/log_examples.json")
@pytest.mark.parametrize("code", sorted(RULES))
def test_example_is_current(code: str) -> None:
    """`nox -s explain_data` writes the file again."""
    assert load_log_examples().get(code) == build_example(code)


def test_file_names_rules_and_their_planted_faults() -> None:
    examples = load_log_examples()
    assert encode_examples(examples) == FILE.read_bytes()
    assert [code for code, each in examples.items() if CAUGHT_BY[each.planted_fault] != code] == []


def test_most_rules_of_the_log_have_an_example() -> None:
    of_log = {code for code, rule in RULES.items() if rule.level == "log"}
    assert len(of_log & load_log_examples().keys()) > 0.9 * len(of_log)


def drop_marked(text: str, marks: Sequence[Mark]) -> str:
    """Return a line without the parts that differ, and without spaces."""
    for start, end in reversed(marks):
        text = f"{text[:start]}\0{text[end:]}"
    return text.replace(" ", "")


def test_lines_differ_only_where_they_are_marked() -> None:
    for code, example in load_log_examples().items():
        for pair in example.pairs:
            marks, other_marks = find_marks(pair.conforms, pair.violates)
            if pair.conforms is not None and pair.violates is not None:
                assert marks, code
                assert drop_marked(pair.conforms, marks) == drop_marked(pair.violates, other_marks), code
            else:
                assert pair.conforms != pair.violates, code


@pytest.mark.parametrize(
    ("text", "other", "marked"),
    [
        ('{"size":10,"path":"a"}', '{"size":-1,"path":"a"}', (["10"], ["-1"])),
        ('{"size":10,"path":"a"}', '{"size":10}', ([',"path":"a"'], [""])),
        ('{"a": 1,"b":2}', '{"a":1,"b":3}', (["2"], ["3"])),
        ('{"a": 1}', '{"a":1}', ([" "], [""])),
        ("x-1", "y-2", (["x-1"], ["y-2"])),
        ("same", None, ([], [])),
    ],
)
def test_differences_are_found_by_word(text: str, other: str | None, marked: tuple[list[str], list[str]]) -> None:
    marks, other_marks = find_marks(text, other)
    assert ([text[a:b] for a, b in marks], [(other or "")[a:b] for a, b in other_marks]) == marked


def test_difference_is_marked_below_its_line() -> None:
    example = LogExample("m", (LinePair("f.json", "a" * 90 + " 10 " + "b" * 70, "a" * 90 + " 9 " + "b" * 70),), more=2)
    lines = render_log_example(example, 60)
    assert [line for line in lines if len(line) > 60] == []
    marked = [
        above[each.index("^") : each.rindex("^") + 1] for above, each in pairwise(lines) if each.strip(" ^") == ""
    ]
    assert marked == ["10", "9"]
    assert "…" in "".join(lines)
    assert lines[-1] == "2 more lines of the log differ."


def test_invisible_characters_are_escaped_and_missing_lines_named() -> None:
    pairs = (LinePair("a.json", violates="x\x1b[31m"), LinePair("b.json", "one", None, 3))
    text = "\n".join(render_log_example(LogExample("m", pairs), 100))
    assert "violates  x\\x1b[31m" in text
    assert "conforms  (no such line)" in text
    assert "violates  (no such file)" in text
    assert "(2 more lines)" in text
    assert escape_text(text.replace("\n", "")) == text.replace("\n", "")
