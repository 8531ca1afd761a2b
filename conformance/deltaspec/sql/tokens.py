"""Tokenize an expression of a table and replace names, constants and types by placeholders.

The parser therefore never reads a name or a constant as SQL, whatever it contains. Length, nesting and number of
operations are limited here.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from deltaspec.sql.tree import Literal

if TYPE_CHECKING:
    from sqlglot import Token

MAX_CHARACTERS = 10_000
MAX_TOKENS = 1_000
MAX_OPERATIONS = 150
"""Limits the depth of a tree, because functions walk trees recursively."""
MAX_NESTING = 12
PARENTHESES = "_p"
"""Name of the call that represents parentheses of the expression: sqlglot also adds parentheses."""


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_INTEGER = re.compile(r"[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[0-9]+\.[0-9]*|\.[0-9]+", re.ASCII)
_DOUBLE = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+", re.ASCII)
_TYPE = re.compile(r"[a-z_]+|decimal\([0-9]{1,2}(,[0-9]{1,2})?\)", re.ASCII)
_OPENING = {"L_PAREN": "R_PAREN", "L_BRACKET": "R_BRACKET"}
_KEYWORDS = _split(
    "AND OR NOT CASE WHEN THEN ELSE END IS NULL TRUE FALSE IN BETWEEN LIKE RLIKE REGEXP DISTINCT FROM DIV"
)
_ALLOWED_AFTER = {"DISTINCT": ("IS", "NOT"), "FROM": ("DISTINCT",)}
"""Keywords that are supported only after others."""
_BANNED = _split("SELECT FROM AS EXISTS INTERVAL LATERAL")
_CALLED_WITHOUT_PARENTHESES = _split(
    "CURRENT_DATE CURRENT_TIMESTAMP CURRENT_TIME CURRENT_USER CURRENT_CATALOG CURRENT_SCHEMA "
    "CURRENT_DATABASE USER SESSION_USER LOCALTIMESTAMP LOCALTIME GROUPING__ID"
)
_BINARY = _split("EQ NEQ NULLSAFE_EQ LT LTE GT GTE STAR SLASH MOD DIV AMP PIPE CARET DPIPE AND OR")
_SIGNS = _split("PLUS DASH TILDE NOT")
_WORD_OPERATORS = _split("AND OR NOT DIV")
"""Words that may also be column names: settings decide which of them are reserved."""
_PLAIN = _BINARY | {"PLUS", "DASH", "TILDE", "NOT", "L_PAREN", "R_PAREN", "L_BRACKET", "R_BRACKET", "COMMA", "DOT"}
_TYPED = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz", "TIMESTAMP_LTZ": "timestamp"}
_SUFFIXES = {"Y": "byte", "S": "short", "L": "long", "F": "float", "D": "double", "BD": "decimal"}
_TYPES = {
    **{
        name: name for name in _split("boolean byte short long float double string binary date timestamp timestamp_ntz")
    },
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "integer": "integer",
    "bigint": "long",
    "real": "float",
    "timestamp_ltz": "timestamp",
    **dict.fromkeys(_split("decimal dec numeric"), "decimal(10,0)"),
}
CAST_FUNCTIONS = {
    name: _TYPES[name]
    for name in _split("boolean tinyint smallint int bigint float double decimal date timestamp binary string")
}
"""Functions of one argument that cast to a type."""


class UnsupportedSql(ValueError):
    """SQL that is not supported here, but may be valid."""


class InvalidSql(ValueError):
    """A string that is not SQL in any dialect."""


class TokenizedExpression(msgspec.Struct):
    """Tokens with placeholders: `_n3` is the fourth name, `_l0` the first constant, `_t0` the first type of a cast."""

    tokens: list[Token] = msgspec.field(default_factory=list)
    names: list[str] = msgspec.field(default_factory=list)
    quoted: list[bool] = msgspec.field(default_factory=list)
    literals: list[Literal] = msgspec.field(default_factory=list)
    types: list[str] = msgspec.field(default_factory=list)


def tokenize_expression(text: str) -> TokenizedExpression:
    """Tokenize an expression. Raises `InvalidSql` and `UnsupportedSql`."""
    if not text.strip():
        raise InvalidSql("it is empty")
    if len(text) > MAX_CHARACTERS:
        raise UnsupportedSql(f"it has {len(text)} characters; the limit is {MAX_CHARACTERS}")
    if not text.isascii() and any(not (each.isprintable() or each.isspace()) for each in text):
        raise UnsupportedSql("it contains characters that cannot be printed")
    tokens = _tokenize(text)
    _check_limits(tokens)
    return _Reader(text, tokens).tokenized


def _tokenize(text: str) -> list[Token]:
    from sqlglot.dialects.spark import Spark
    from sqlglot.errors import SqlglotError

    try:
        tokens = Spark().tokenize(text)
    except SqlglotError as error:
        if "\\" in text:  # settings decide where a string with a backslash ends
            raise UnsupportedSql("a string is not closed") from error
        raise InvalidSql("a quote or comment is not closed") from error
    if not tokens:
        raise UnsupportedSql("it is a comment")
    if any(token.comments for token in tokens):
        raise UnsupportedSql("it has comments")
    return list(tokens)


def _check_limits(tokens: list[Token]) -> None:
    if len(tokens) > MAX_TOKENS:
        raise UnsupportedSql(f"it has {len(tokens)} tokens; the limit is {MAX_TOKENS}")
    open_brackets: list[str] = []
    deepest = signs = operations = 0
    for token in tokens:
        kind = token.token_type.name
        operations += kind in _BINARY or kind in _SIGNS or kind == "DOT"
        signs = signs + 1 if kind in _SIGNS else 0
        if kind in ("L_PAREN", "L_BRACKET"):
            open_brackets.append(_OPENING[kind])
        elif kind in ("R_PAREN", "R_BRACKET") and (not open_brackets or open_brackets.pop() != kind):
            raise InvalidSql("its brackets do not match")
        deepest = max(deepest, len(open_brackets) + signs)
    if open_brackets:
        raise InvalidSql("a bracket is not closed")
    cases = sum(token.token_type.name == "CASE" for token in tokens)
    if deepest + cases > MAX_NESTING:
        raise UnsupportedSql(f"it is nested more than {MAX_NESTING} levels deep")
    if operations > MAX_OPERATIONS:
        raise UnsupportedSql(f"it has {operations} operations; the limit is {MAX_OPERATIONS}")
    if tokens[-1].token_type.name in (_BINARY | _SIGNS | {"COMMA", "DOT"}) - _WORD_OPERATORS:
        raise InvalidSql(f"it ends with {tokens[-1].text}")
    if tokens[0].token_type.name in (_BINARY | {"COMMA"}) - _WORD_OPERATORS:
        raise InvalidSql(f"it begins with {tokens[0].text}")


class _Reader:
    """Reads the tokens of an expression once and replaces names, constants and types."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text, self.tokens, self.at = text, tokens, 0
        self.tokenized = TokenizedExpression()
        self.depth = 0
        self.casts: list[int] = []
        """Nesting depths of the open casts."""
        while self.at < len(tokens):
            self._read_token()

    # lookahead

    def _kind(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index].token_type.name if 0 <= index < len(self.tokens) else ""

    def _source(self, ahead: int = 0) -> str:
        index = self.at + ahead
        if not 0 <= index < len(self.tokens):
            return ""
        return self.text[self.tokens[index].start : self.tokens[index].end + 1]

    def _is_after_dot(self) -> bool:
        return self._kind(-1) == "DOT"

    # tokens

    def _read_token(self) -> None:
        kind, source = self._kind(), self._source()
        upper = source.upper()
        if kind == "IDENTIFIER":
            self._add_name(self.tokens[self.at].text, quoted=True)
        elif kind == "NUMBER" or (kind == "DOT" and self._starts_number()):
            self._add_number()
        elif kind == "STRING":
            self._add_constant(Literal(self._read_string(0), "string"), 1)
        elif kind == "HEX_STRING" and upper.startswith("X'"):
            self._add_constant(Literal(_parse_bytes(source[2:-1]), "binary"), 1)
        elif not self._is_after_dot() and self._kind(1) == "STRING" and upper in _TYPED:
            self.at += 1
            self._add_constant(Literal(self._read_string(0), _TYPED[upper]), 1)
        elif upper == "AS" and self.casts and self.casts[-1] == self.depth:
            self._add_cast_type()
        elif not self._is_after_dot() and upper in _KEYWORDS and self._is_keyword(upper):
            self._add_token()
        elif upper == "ARRAY" and self._kind(1) == "L_BRACKET" and not self._is_after_dot():
            raise UnsupportedSql("whether ARRAY[...] creates an array depends on the dialect")
        elif _WORD.fullmatch(source):
            is_call = upper in _CALLED_WITHOUT_PARENTHESES and self._kind(1) != "L_PAREN"
            if (upper in _BANNED or is_call) and not self._is_after_dot():
                raise UnsupportedSql(f"{upper} is not supported")
            self._add_name(source, quoted=False)
        elif kind in _PLAIN or source == "!":
            self._add_symbol(kind)
        else:
            raise UnsupportedSql(f"{source[:20]} is not supported")

    def _is_keyword(self, upper: str) -> bool:
        allowed = _ALLOWED_AFTER.get(upper)
        return allowed is None or self._source(-1).upper() in allowed

    def _add_token(self) -> None:
        self.tokenized.tokens.append(self.tokens[self.at])
        self.at += 1

    def _add_placeholder(self, text: str) -> None:
        """Add a placeholder at the position of the current token."""
        from sqlglot import Token, TokenType

        old = self.tokens[min(self.at, len(self.tokens) - 1)]
        self.tokenized.tokens.append(
            Token(TokenType.VAR, text, line=old.line, col=old.col, start=old.start, end=old.end)
        )

    def _add_name(self, name: str, *, quoted: bool) -> None:
        is_cast = not quoted and name.upper() in ("CAST", "TRY_CAST") and self._kind(1) == "L_PAREN"
        if is_cast and not self._is_after_dot():
            self.casts.append(self.depth + 1)
        self._add_placeholder(f"_n{len(self.tokenized.names)}")
        self.tokenized.names.append(name)
        self.tokenized.quoted.append(quoted)
        self.at += 1

    def _add_constant(self, literal: Literal, tokens: int) -> None:
        if self._kind(tokens) == "STRING" or self._kind(-1) == "STRING":
            raise UnsupportedSql("it has adjacent strings")
        self._add_placeholder(f"_l{len(self.tokenized.literals)}")
        self.tokenized.literals.append(literal)
        self.at += tokens

    def _read_string(self, ahead: int) -> str:
        source = self._source(ahead)
        if not source.startswith("'"):
            raise UnsupportedSql("the meaning of double quotes depends on settings")
        if "\\" in source:
            raise UnsupportedSql("the meaning of a backslash depends on settings")
        return source[1:-1]

    def _is_called(self) -> bool:
        """Return whether a parenthesis starts the arguments of the previous word."""
        previous = self._kind(-1)
        if previous == "IDENTIFIER" or (previous == "IN" and self._kind(-2) != "DOT"):
            return True
        word = self._source(-1)
        return _WORD.fullmatch(word) is not None and (word.upper() not in _KEYWORDS or self._kind(-2) == "DOT")

    def _starts_number(self) -> bool:
        follows = self._kind(-1) in ("", "L_PAREN", "COMMA") or self._kind(-1) in _BINARY | _SIGNS
        return follows and self._kind(1) == "NUMBER" and self._source(1)[0].isdigit()

    def _add_number(self) -> None:
        length = 2 if self._kind() == "DOT" else 1
        start, end = self.tokens[self.at].start, self.tokens[self.at + length - 1].end
        source = self.text[start : end + 1]
        if self._kind(length) == "DCOLON" and self._source(length) != "::":
            length += 2  # sqlglot reads `1L` as a cast
        self._add_constant(_parse_number(source), length)

    def _add_cast_type(self) -> None:
        """Replace `AS type` of a cast by a second argument."""
        from sqlglot import Token, TokenType

        self.casts.pop()
        old = self.tokens[self.at]
        self.tokenized.tokens.append(
            Token(TokenType.COMMA, ",", line=old.line, col=old.col, start=old.start, end=old.end)
        )
        self.at += 1
        name, depth = "", 0
        while self._kind() and (depth or self._kind() != "R_PAREN"):
            depth += (self._kind() == "L_PAREN") - (self._kind() == "R_PAREN")
            name += self._source()
            self.at += 1
        self._add_placeholder(f"_t{len(self.tokenized.types)}")
        self.tokenized.types.append(_parse_type(name))

    def _add_symbol(self, kind: str) -> None:
        self.depth += (kind in ("L_PAREN", "L_BRACKET")) - (kind in ("R_PAREN", "R_BRACKET"))
        if self.casts and self.casts[-1] > self.depth and kind == "R_PAREN":
            raise UnsupportedSql("a cast has no type")
        if kind == "L_PAREN" and not self._is_called():
            self._add_placeholder(PARENTHESES)
        self._add_token()


def _parse_number(source: str) -> Literal:
    suffix = re.search(r"(BD|[YSLFDyslfd]|bd)$", source)
    digits = source[: suffix.start()] if suffix else source
    kind = _SUFFIXES[suffix[1].upper()] if suffix else None
    if len(digits) > 50:
        raise UnsupportedSql("a number has too many digits")
    if kind in ("float", "double") or (kind is None and _DOUBLE.fullmatch(digits)):
        if not (_DOUBLE.fullmatch(digits) or _DECIMAL.fullmatch(digits) or _INTEGER.fullmatch(digits)):
            raise UnsupportedSql(f"{source} is not supported")
        return Literal(float(digits), kind or "double")
    if kind == "decimal" or _DECIMAL.fullmatch(digits):
        if kind not in ("decimal", None) or not (_DECIMAL.fullmatch(digits) or _INTEGER.fullmatch(digits)):
            raise UnsupportedSql(f"{source} is not supported")
        return Literal(Decimal(digits), "decimal")
    if not _INTEGER.fullmatch(digits):
        raise UnsupportedSql(f"{source} is not supported")
    number = int(digits)
    return Literal(number, kind) if kind else _integer_literal(number)


def _integer_literal(number: int) -> Literal:
    if number < 2**31:
        return Literal(number, "integer")
    return Literal(number, "long") if number < 2**63 else Literal(Decimal(number), "decimal")


def _parse_bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}")
    except ValueError as error:
        raise UnsupportedSql(f"X'{digits[:20]}' is not hexadecimal") from error


def _parse_type(spelling: str) -> str:
    plain = spelling.casefold()
    name, _, digits = plain.partition("(")
    if not _TYPE.fullmatch(plain) or (not digits and plain not in _TYPES):
        raise UnsupportedSql(f"the type {spelling[:40]} is not supported")
    if not digits:
        return _TYPES[plain]
    return plain if "," in digits else f"{name}({digits[:-1]},0)"
