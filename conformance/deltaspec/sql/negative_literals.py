"""The smallest value of each integer type, whose literal includes the minus sign.

Spark's grammar has `number: MINUS? INTEGER_VALUE`: `-2147483648` is an integer, `-(2147483648)` is a long. For any
other number the sign does not change the type, so it stays an operation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from deltaspec.sql.tokens import TokenizedExpression, UnsupportedSql
from deltaspec.sql.tree import Literal

if TYPE_CHECKING:
    from sqlglot import Token

_INTEGER = re.compile(r"([0-9]+)([YSL]?)", re.ASCII)
_SMALLEST = {
    ("Y", 1 << 7): "byte",
    ("S", 1 << 15): "short",
    ("", 1 << 31): "integer",
    ("", 1 << 63): "long",
    ("L", 1 << 63): "long",
}
_ENDS_OPERAND = frozenset({"VAR", "R_PAREN", "R_BRACKET", "END", "NULL", "TRUE", "FALSE"})
"""A minus after one of these tokens is a subtraction."""


def merge_minus_signs(words: TokenizedExpression, text: str) -> TokenizedExpression:
    """Merge each minus into the literal that needs it. Raises `UnsupportedSql`."""
    tokens: list[Token] = []
    literals = list(words.literals)
    for token in words.tokens:
        smallest = _parse_smallest(text[token.start : token.end + 1]) if token.text.startswith("_l") else None
        if smallest is not None:
            previous = ["", *(each.token_type.name for each in tokens[-2:])]
            if previous[-1] == "DASH" and previous[-2] not in _ENDS_OPERAND:
                literals[int(token.text[2:])] = smallest
                tokens.pop()
            elif (
                literals[int(token.text[2:])].type == smallest.type
            ):  # only with a suffix: without one, the literal has a wider type
                raise UnsupportedSql(f"{text[token.start : token.end + 1]} is outside the range of its type")
        tokens.append(token)
    return replace(words, tokens=tokens, literals=literals)


def _parse_smallest(source: str) -> Literal | None:
    """Return the negated literal if it is the smallest value of a type; else None."""
    found = _INTEGER.fullmatch(source.upper())
    if found is None:
        return None
    number = int(found[1])
    kind = _SMALLEST.get((found[2], number))
    return None if kind is None else Literal(-number, kind)
