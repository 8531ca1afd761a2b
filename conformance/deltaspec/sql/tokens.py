"""Cuts an expression of a table into words, with everything that its writer chose put aside.

Names and constants are replaced by neutral words before anything is parsed, so that a column's name is never read as
SQL, whatever it holds. Length, nesting and number of operations are bounded here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from deltaspec.sql.tree import Literal

if TYPE_CHECKING:
    from sqlglot import Token

MAX_CHARACTERS = 10_000
MAX_TOKENS = 1_000
MAX_OPERATIONS = 150
"""One below the other, at the most: trees are walked by calls."""
MAX_NESTING = 12
PARENTHESES = "_p"
"""Name of the call that stands for parentheses around an operation: a parser must not think them up."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_INTEGER = re.compile(r"[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[0-9]+\.[0-9]*|\.[0-9]+", re.ASCII)
_DOUBLE = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+", re.ASCII)
_TYPE = re.compile(r"[a-z_]+|decimal\([0-9]{1,2}(,[0-9]{1,2})?\)", re.ASCII)
_OPENING = {"L_PAREN": "R_PAREN", "L_BRACKET": "R_BRACKET"}
_KEYWORDS = _words(
    "AND OR NOT CASE WHEN THEN ELSE END IS NULL TRUE FALSE IN BETWEEN LIKE RLIKE REGEXP DISTINCT FROM DIV"
)
_FOLLOWED = {"DISTINCT": ("IS", "NOT"), "FROM": ("DISTINCT",)}
"""Keywords that have a place here only after others."""
_BANNED = _words("SELECT FROM AS EXISTS INTERVAL LATERAL")
_CALLED_WITHOUT_PARENTHESES = _words(
    "CURRENT_DATE CURRENT_TIMESTAMP CURRENT_TIME CURRENT_USER CURRENT_CATALOG CURRENT_SCHEMA "
    "CURRENT_DATABASE USER SESSION_USER LOCALTIMESTAMP LOCALTIME GROUPING__ID"
)
_BINARY = _words("EQ NEQ NULLSAFE_EQ LT LTE GT GTE STAR SLASH MOD DIV AMP PIPE CARET DPIPE AND OR")
_SIGNS = _words("PLUS DASH TILDE NOT")
_WORD_OPERATORS = _words("AND OR NOT DIV")
"""Words that may also be names of columns: which of them are reserved depends on settings."""
_PLAIN = _BINARY | {"PLUS", "DASH", "TILDE", "NOT", "L_PAREN", "R_PAREN", "L_BRACKET", "R_BRACKET", "COMMA", "DOT"}
_TYPED = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz", "TIMESTAMP_LTZ": "timestamp"}
_SUFFIXES = {"Y": "byte", "S": "short", "L": "long", "F": "float", "D": "double", "BD": "decimal"}
_TYPES = {
    **{
        name: name for name in _words("boolean byte short long float double string binary date timestamp timestamp_ntz")
    },
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "integer": "integer",
    "bigint": "long",
    "real": "float",
    "timestamp_ltz": "timestamp",
    **dict.fromkeys(_words("decimal dec numeric"), "decimal(10,0)"),
}
CAST_FUNCTIONS = {
    name: _TYPES[name]
    for name in _words("boolean tinyint smallint int bigint float double decimal date timestamp binary string")
}
"""Types that Spark has as functions of one argument."""


class UnsupportedSql(ValueError):
    """SQL that is none of what is read here; it may well be sound."""


class InvalidSql(ValueError):
    """No SQL under any reading."""


@dataclass
class TokenizedExpression:
    """An expression as neutral words: `_n3` stands for the third name, `_l0` for the first constant."""

    tokens: list[Token] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    quoted: list[bool] = field(default_factory=list)
    literals: list[Literal] = field(default_factory=list)
    types: list[str] = field(default_factory=list)


def tokenize_expression(text: str) -> TokenizedExpression:
    """Raises `Broken` and `Unadmitted`."""
    if not text.strip():
        raise InvalidSql("it is empty")
    if len(text) > MAX_CHARACTERS:
        raise UnsupportedSql(f"it has {len(text)} characters, and {MAX_CHARACTERS} at most are read")
    if not text.isascii() and any(not (each.isprintable() or each.isspace()) for each in text):
        raise UnsupportedSql("it holds characters that cannot be printed")
    tokens = _cut(text)
    _bounded(tokens)
    return _Reader(text, tokens).words


def _cut(text: str) -> list[Token]:
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    try:
        tokens = Spark().tokenize(text)
    except SqlglotError as fault:
        if "\\" in text:  # what ends a string depends on settings then
            raise UnsupportedSql("a string does not end") from fault
        raise InvalidSql("a quote or comment does not end") from fault
    if not tokens:
        raise UnsupportedSql("it is a comment")
    if any(token.comments for token in tokens):
        raise UnsupportedSql("it has comments")
    return list(tokens)


def _bounded(tokens: list[Token]) -> None:
    if len(tokens) > MAX_TOKENS:
        raise UnsupportedSql(f"it has {len(tokens)} words, and {MAX_TOKENS} at most are read")
    open_brackets: list[str] = []
    deepest = signs = operations = 0
    for token in tokens:
        kind = token.token_type.name
        operations += kind in _BINARY or kind in _SIGNS or kind == "DOT"
        signs = signs + 1 if kind in _SIGNS else 0
        if kind in ("L_PAREN", "L_BRACKET"):
            open_brackets.append(_OPENING[kind])
        elif kind in ("R_PAREN", "R_BRACKET") and (not open_brackets or open_brackets.pop() != kind):
            raise InvalidSql("its brackets do not fit together")
        deepest = max(deepest, len(open_brackets) + signs)
    if open_brackets:
        raise InvalidSql("a bracket stays open")
    cases = sum(token.token_type.name == "CASE" for token in tokens)
    if deepest + cases > MAX_NESTING:
        raise UnsupportedSql(f"it is nested deeper than {MAX_NESTING}")
    if operations > MAX_OPERATIONS:
        raise UnsupportedSql(f"it has {operations} operations, and {MAX_OPERATIONS} at most are read")
    if tokens[-1].token_type.name in (_BINARY | _SIGNS | {"COMMA", "DOT"}) - _WORD_OPERATORS:
        raise InvalidSql(f"it ends with {tokens[-1].text}")
    if tokens[0].token_type.name in (_BINARY | {"COMMA"}) - _WORD_OPERATORS:
        raise InvalidSql(f"it begins with {tokens[0].text}")


class _Reader:
    """Goes over the tokens of an expression once and fills its words."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text, self.tokens, self.at = text, tokens, 0
        self.words = TokenizedExpression()
        self.depth = 0
        self.casts: list[int] = []
        """Depths of the parentheses of casts that are open."""
        while self.at < len(tokens):
            self._take()

    # looking

    def _kind(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place].token_type.name if 0 <= place < len(self.tokens) else ""

    def _source(self, ahead: int = 0) -> str:
        place = self.at + ahead
        if not 0 <= place < len(self.tokens):
            return ""
        return self.text[self.tokens[place].start : self.tokens[place].end + 1]

    def _after_dot(self) -> bool:
        return self._kind(-1) == "DOT"

    # taking

    def _take(self) -> None:
        kind, source = self._kind(), self._source()
        upper = source.upper()
        if kind == "IDENTIFIER":
            self._name(self.tokens[self.at].text, quoted=True)
        elif kind == "NUMBER" or (kind == "DOT" and self._begins_number()):
            self._number()
        elif kind == "STRING":
            self._constant(Literal(self._string(0), "string"), 1)
        elif kind == "HEX_STRING" and upper.startswith("X'"):
            self._constant(Literal(_bytes(source[2:-1]), "binary"), 1)
        elif not self._after_dot() and self._kind(1) == "STRING" and upper in _TYPED:
            self.at += 1
            self._constant(Literal(self._string(0), _TYPED[upper]), 1)
        elif upper == "AS" and self.casts and self.casts[-1] == self.depth:
            self._cast_type()
        elif not self._after_dot() and upper in _KEYWORDS and self._has_place(upper):
            self._keep()
        elif upper == "ARRAY" and self._kind(1) == "L_BRACKET" and not self._after_dot():
            raise UnsupportedSql("it depends on the dialect whether ARRAY[...] makes an array")
        elif _WORD.fullmatch(source):
            calls = upper in _CALLED_WITHOUT_PARENTHESES and self._kind(1) != "L_PAREN"
            if (upper in _BANNED or calls) and not self._after_dot():
                raise UnsupportedSql(f"{upper} is not read")
            self._name(source, quoted=False)
        elif kind in _PLAIN or source == "!":
            self._symbol(kind)
        else:
            raise UnsupportedSql(f"{source[:20]} is not read")

    def _has_place(self, upper: str) -> bool:
        wanted = _FOLLOWED.get(upper)
        return wanted is None or self._source(-1).upper() in wanted

    def _keep(self) -> None:
        self.words.tokens.append(self.tokens[self.at])
        self.at += 1

    def _put(self, text: str) -> None:
        """A word of ours in the place of a token."""
        from sqlglot import Token, TokenType

        old = self.tokens[min(self.at, len(self.tokens) - 1)]
        self.words.tokens.append(Token(TokenType.VAR, text, line=old.line, col=old.col, start=old.start, end=old.end))

    def _name(self, name: str, *, quoted: bool) -> None:
        is_cast = not quoted and name.upper() in ("CAST", "TRY_CAST") and self._kind(1) == "L_PAREN"
        if is_cast and not self._after_dot():
            self.casts.append(self.depth + 1)
        self._put(f"_n{len(self.words.names)}")
        self.words.names.append(name)
        self.words.quoted.append(quoted)
        self.at += 1

    def _constant(self, literal: Literal, tokens: int) -> None:
        if self._kind(tokens) == "STRING" or self._kind(-1) == "STRING":
            raise UnsupportedSql("strings stand side by side")
        self._put(f"_l{len(self.words.literals)}")
        self.words.literals.append(literal)
        self.at += tokens

    def _string(self, ahead: int) -> str:
        source = self._source(ahead)
        if not source.startswith("'"):
            raise UnsupportedSql("what double quotes mean depends on settings")
        if "\\" in source:
            raise UnsupportedSql("what a backslash means depends on settings")
        return source[1:-1]

    def _is_called(self) -> bool:
        """Whether a parenthesis belongs to the word before it."""
        before = self._kind(-1)
        if before == "IDENTIFIER" or (before == "IN" and self._kind(-2) != "DOT"):
            return True
        word = self._source(-1)
        return _WORD.fullmatch(word) is not None and (word.upper() not in _KEYWORDS or self._kind(-2) == "DOT")

    def _begins_number(self) -> bool:
        follows = self._kind(-1) in ("", "L_PAREN", "COMMA") or self._kind(-1) in _BINARY | _SIGNS
        return follows and self._kind(1) == "NUMBER" and self._source(1)[0].isdigit()

    def _number(self) -> None:
        length = 2 if self._kind() == "DOT" else 1
        start, end = self.tokens[self.at].start, self.tokens[self.at + length - 1].end
        source = self.text[start : end + 1]
        if self._kind(length) == "DCOLON" and self._source(length) != "::":
            length += 2  # of `1L`, the reader of words makes a cast
        self._constant(_number(source), length)

    def _cast_type(self) -> None:
        """`AS type` of a cast becomes a second argument."""
        from sqlglot import Token, TokenType

        self.casts.pop()
        old = self.tokens[self.at]
        self.words.tokens.append(Token(TokenType.COMMA, ",", line=old.line, col=old.col, start=old.start, end=old.end))
        self.at += 1
        spelled, depth = "", 0
        while self._kind() and (depth or self._kind() != "R_PAREN"):
            depth += (self._kind() == "L_PAREN") - (self._kind() == "R_PAREN")
            spelled += self._source()
            self.at += 1
        self._put(f"_t{len(self.words.types)}")
        self.words.types.append(_type(spelled))

    def _symbol(self, kind: str) -> None:
        self.depth += (kind in ("L_PAREN", "L_BRACKET")) - (kind in ("R_PAREN", "R_BRACKET"))
        if self.casts and self.casts[-1] > self.depth and kind == "R_PAREN":
            raise UnsupportedSql("a cast has no type")
        if kind == "L_PAREN" and not self._is_called():
            self._put(PARENTHESES)
        self._keep()


def _number(source: str) -> Literal:
    suffix = re.search(r"(BD|[YSLFDyslfd]|bd)$", source)
    digits = source[: suffix.start()] if suffix else source
    kind = _SUFFIXES[suffix[1].upper()] if suffix else None
    if len(digits) > 50:
        raise UnsupportedSql("a number has too many digits")
    if kind in ("float", "double") or (kind is None and _DOUBLE.fullmatch(digits)):
        if not (_DOUBLE.fullmatch(digits) or _DECIMAL.fullmatch(digits) or _INTEGER.fullmatch(digits)):
            raise UnsupportedSql(f"{source} is not read")
        return Literal(float(digits), kind or "double")
    if kind == "decimal" or _DECIMAL.fullmatch(digits):
        if kind not in ("decimal", None) or not (_DECIMAL.fullmatch(digits) or _INTEGER.fullmatch(digits)):
            raise UnsupportedSql(f"{source} is not read")
        return Literal(Decimal(digits), "decimal")
    if not _INTEGER.fullmatch(digits):
        raise UnsupportedSql(f"{source} is not read")
    number = int(digits)
    return Literal(number, kind) if kind else _whole(number)


def _whole(number: int) -> Literal:
    if number < 2**31:
        return Literal(number, "integer")
    return Literal(number, "long") if number < 2**63 else Literal(Decimal(number), "decimal")


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}")
    except ValueError as fault:
        raise UnsupportedSql("a binary constant is not read") from fault


def _type(spelled: str) -> str:
    plain = spelled.casefold()
    if not _TYPE.fullmatch(plain):
        raise UnsupportedSql(f"the type {spelled[:40]} is not read")
    name, _, digits = plain.partition("(")
    if not digits:
        if plain not in _TYPES:
            raise UnsupportedSql(f"the type {spelled[:40]} is not read")
        return _TYPES[plain]
    return plain if "," in digits else f"{name}({digits[:-1]},0)"
