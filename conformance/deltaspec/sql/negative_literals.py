"""Literals that include the minus sign: the smallest value of each integer type, and decimals of many digits.

Spark's grammar has `number: MINUS? INTEGER_VALUE`: `-2147483648` is an integer, `-(2147483648)` is a long. The unary
minus rounds decimals to 34 digits, but not `-d` if `d` is a literal. For any other number the sign changes neither type
nor value, so it stays an operation.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from deltaspec.sql.terms import has_more_digits_than_minus_keeps
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
        negated = (
            _negate(text[token.start : token.end + 1], literals[int(token.text[2:])]) if _is_literal(token) else None
        )
        if negated is not None:
            previous = ["", *(each.token_type.name for each in tokens[-2:])]
            if previous[-1] == "DASH" and previous[-2] not in _ENDS_OPERAND:
                literals[int(token.text[2:])] = negated
                tokens.pop()
            elif negated.type != "decimal" and (
                literals[int(token.text[2:])].type == negated.type
            ):  # only with a suffix: without one, the literal has a wider type
                raise UnsupportedSql(f"{text[token.start : token.end + 1]} is outside the range of its type")
        tokens.append(token)
    return replace(words, tokens=tokens, literals=literals)


def _is_literal(token: Token) -> bool:
    return token.text.startswith("_l")


def _negate(source: str, literal: Literal) -> Literal | None:
    """Return the negated literal if the sign belongs to it; else None."""
    if isinstance(literal.value, Decimal) and has_more_digits_than_minus_keeps(literal.value):
        return Literal(literal.value.copy_negate(), "decimal")
    return _parse_smallest(source)


def _parse_smallest(source: str) -> Literal | None:
    """Return the negated literal if it is the smallest value of a type; else None."""
    found = _INTEGER.fullmatch(source.upper())
    if found is None:
        return None
    number = int(found[1])
    kind = _SMALLEST.get((found[2], number))
    return None if kind is None else Literal(-number, kind)
