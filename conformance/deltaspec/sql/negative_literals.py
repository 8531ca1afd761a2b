"""The least number of each type of integers, of which a minus is a part: without it, it is beyond the type.

Spark's grammar has `number: MINUS? INTEGER_VALUE`: `-2147483648` is an integer, `-(2147483648)` is a long. The sign of
any other number changes nothing but its value and stays an operation.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from deltaspec.sql.tokens import TokenizedExpression, UnsupportedSql
from deltaspec.sql.tree import Literal

if TYPE_CHECKING:
    from sqlglot import Token

_INTEGER = re.compile(r"([0-9]+)([YSL]?)", re.ASCII)
_LEAST = {
    ("Y", 1 << 7): "byte",
    ("S", 1 << 15): "short",
    ("", 1 << 31): "integer",
    ("", 1 << 63): "long",
    ("L", 1 << 63): "long",
}
_ENDS_OPERAND = frozenset({"VAR", "R_PAREN", "R_BRACKET", "END", "NULL", "TRUE", "FALSE"})
"""After one of these, a minus is between two operands."""


def merge_minus_signs(words: TokenizedExpression, text: str) -> TokenizedExpression:
    """The words of a text with each minus taken into the number that needs it. Raises `Unadmitted`."""
    tokens: list[Token] = []
    literals = list(words.literals)
    for token in words.tokens:
        least = _least(text[token.start : token.end + 1]) if token.text.startswith("_l") else None
        if least is not None:
            before = ["", *(each.token_type.name for each in tokens[-2:])]
            if before[-1] == "DASH" and before[-2] not in _ENDS_OPERAND:
                literals[int(token.text[2:])] = least
                tokens.pop()
            elif literals[int(token.text[2:])].type == least.type:  # a suffix says so; without, a wider type is taken
                raise UnsupportedSql(f"{text[token.start : token.end + 1]} is outside the range of its type")
        tokens.append(token)
    return replace(words, tokens=tokens, literals=literals)


def _least(source: str) -> Literal | None:
    """The negative of a number as it is written, where it is the least of a type; None elsewhere."""
    found = _INTEGER.fullmatch(source.upper())
    if found is None:
        return None
    number = int(found[1])
    kind = _LEAST.get((found[2], number))
    return None if kind is None else Literal(-number, kind)
