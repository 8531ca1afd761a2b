"""SQL of a scan in the dialect of an engine.

A tree is `["and", t, t]`, `["or", t, t]`, `["not", t]`, `["is_null", x]`, `["is_not_null", x]`, `["in", x, x, ...]`,
`["starts_with", x, x]` or `[op, x, x]` with an operator of `_OPERATORS`; x is `["col", part, ...]` or `["lit", type,
text or null]`. Types are Delta's; texts are spelled as in partition values, except that a binary value is
written in hexadecimal.
Source: candidate protocol, version 1, "Operations".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

Path: TypeAlias = Sequence[str]

COUNT_COLUMN = "num_rows"
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "<=>")
_LITERALS = {
    "byte": "{text}",
    "short": "{text}",
    "integer": "{text}",
    "long": "{text}",
    "boolean": "{text}",
    "string": "{quoted}",
    "float": "CAST({quoted} AS FLOAT)",
    "double": "CAST({quoted} AS DOUBLE)",
    "decimal": "CAST({quoted} AS {type})",
    "date": "CAST({quoted} AS DATE)",
    "timestamp": "CAST({quoted} AS TIMESTAMP)",
    "timestamp_ntz": "CAST({quoted} AS TIMESTAMP)",
    "binary": "X{quoted}",
}


class Dialect(msgspec.Struct, frozen=True):
    """How an engine spells names, fields and literals."""

    quote: str = '"'
    """Character around names."""
    access: Callable[[str, str], str] = "{}.{}".format
    """Access to a field: struct expression and quoted name of the field."""
    names_fields_by_text: bool = False
    """Whether the name in `access` is a string instead of an identifier."""
    literals: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Templates that differ from `_LITERALS`, by Delta type; `{text}`, `{quoted}` and `{type}` are replaced."""
    null_safe_equal: str = "{} IS NOT DISTINCT FROM {}"
    has_backslash_escapes: bool = False
    """Whether a backslash in a string literal has a meaning."""

    def quote_name(self, name: str) -> str:
        """Return a name as an identifier."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def quote_text(self, text: str) -> str:
        """Return a string literal."""
        if self.has_backslash_escapes:
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "'" + text.replace("'", "''") + "'"

    def render_column(self, path: Path, table: str | None = None) -> str:
        """Return the expression of a column or nested field; `table` qualifies it."""
        column = self.quote_name(path[0])
        if table is not None:
            column = f"{table}.{column}"
        for name in path[1:]:
            column = self.access(column, self.quote_text(name) if self.names_fields_by_text else self.quote_name(name))
        return column

    def render_literal(self, kind: str, text: str | None) -> str:
        """Return a literal of a Delta type."""
        if text is None:
            return "NULL"
        name = kind.partition("(")[0]
        template = self.literals.get(name) or _LITERALS[name]
        return template.format(text=text, quoted=self.quote_text(text), type=kind)

    def render_predicate(self, tree: Sequence[Any], table: str | None = None) -> str:
        """Return a predicate tree as a condition."""
        head, *operands = tree
        if head in ("and", "or"):
            left, right = (self.render_predicate(each, table) for each in operands)
            return f"({left} {head.upper()} {right})"
        if head == "not":
            return f"(NOT {self.render_predicate(operands[0], table)})"
        if head == "is_null":
            return f"({self._render_operand(operands[0], table)} IS NULL)"
        if head == "is_not_null":
            return f"({self._render_operand(operands[0], table)} IS NOT NULL)"
        if head == "in":
            column, *literals = (self._render_operand(each, table) for each in operands)
            return f"({column} IN ({', '.join(literals)}))"
        if head == "starts_with":
            column = self._render_operand(operands[0], table)
            return f"({column} LIKE {self.quote_text(operands[1][2] + '%')})"
        if head not in _OPERATORS:
            raise ValueError(f"unknown operator in predicate: {head!r}")
        left, right = (self._render_operand(each, table) for each in operands)
        if head == "<=>":
            return "(" + self.null_safe_equal.format(left, right) + ")"
        return f"({left} {'<>' if head == '!=' else head} {right})"

    def _render_operand(self, operand: Sequence[Any], table: str | None) -> str:
        kind, *parts = operand
        return self.render_column(parts, table) if kind == "col" else self.render_literal(*parts)

    def render_scan(
        self,
        source: str,
        columns: Sequence[Path] | None,
        predicate: str | None,
        predicate_tree: Sequence[Any] | None,
        *,
        table: str = "t",
    ) -> str:
        """Return the query of a scan.

        Args:
            source: What follows `FROM`.
            columns: Paths; None for all columns, empty for the number of rows in the column `num_rows`.
            predicate: Condition, used if there is no tree.
            predicate_tree: The same condition as a tree.
            table: Alias of the source.
        """
        if columns is None:
            selected = "*"
        elif not columns:
            selected = f"count(*) AS {COUNT_COLUMN}"
        else:
            selected = ", ".join(
                f"{self.render_column(path, table)} AS {self.quote_name('.'.join(path))}" for path in columns
            )
        condition = predicate if predicate_tree is None else self.render_predicate(predicate_tree, table)
        return f"SELECT {selected} FROM {source} AS {table}" + (f" WHERE {condition}" if condition else "")
