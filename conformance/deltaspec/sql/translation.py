"""Translate sqlglot's tree of an expression to ours.

sqlglot's operator precedence differs from Spark's in places and changes between releases. Operators without parentheses
are accepted only where all of them agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.sql.tokens import CAST_FUNCTIONS, PARENTHESES, TokenizedExpression, UnsupportedSql
from deltaspec.sql.tree import (
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    In,
    Is,
    Item,
    Like,
    Literal,
    Member,
    Not,
    Sign,
    Unit,
)

if TYPE_CHECKING:
    from sqlglot import exp

_PLACEHOLDER = re.compile(r"_([nlt])(\d+)")
_UNIT_FUNCTIONS = frozenset(
    ["dateadd", "date_add", "timestampadd", "datediff", "date_diff", "timestampdiff", "timediff"]
)
"""Functions whose first argument is a unit of time if they have three arguments."""


@cache
def _get_parser_class() -> type[Any]:
    """Return Spark's parser without special treatment of functions, so that calls stay as written."""
    from sqlglot.dialects.spark import Spark

    case_parser = Spark.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]

    base: Any = Spark.Parser

    class PlainParser(base):  # type: ignore[misc]
        FUNCTIONS: dict[str, Any] = {}  # noqa: RUF012 - declared like this in the base class
        FUNCTION_PARSERS: dict[str, Any] = {}  # noqa: RUF012
        NO_PAREN_FUNCTIONS: dict[Any, Any] = {}  # noqa: RUF012
        NO_PAREN_FUNCTION_PARSERS = {"CASE": case_parser}  # noqa: RUF012

    return PlainParser


class Translation:
    """The translation of one expression. Raises `UnsupportedSql` for anything else than the supported syntax."""

    def __init__(self, tokenized: TokenizedExpression) -> None:
        self.tokenized = tokenized
        self.tree = self.translate(self._parse())

    def _parse(self) -> Any:
        from sqlglot import exp
        from sqlglot.errors import ErrorLevel, SqlglotError

        parser = _get_parser_class()(error_level=ErrorLevel.IMMEDIATE, dialect="spark")
        try:
            (node,) = parser.parse_into(exp.Condition, self.tokenized.tokens)
        except (SqlglotError, ValueError, AttributeError, IndexError, KeyError, TypeError) as error:
            raise UnsupportedSql("its syntax is not supported") from error
        if node is None:
            raise UnsupportedSql("its syntax is not supported")
        return node

    def translate(self, node: Any) -> Expression:
        """Translate a node of sqlglot."""
        node = _strip_parentheses(node)
        syntax = _SYNTAX.get(type(node).__name__)
        if syntax is None:
            raise UnsupportedSql(f"{type(node).__name__} is not supported")
        others = {name for name, value in node.args.items() if value} - syntax.arguments
        if others - {"negate"}:
            raise UnsupportedSql(f"{', '.join(sorted(others))} of {type(node).__name__} is not supported")
        tree = syntax.translate(self, node)
        return Not(tree) if others else tree

    def operand(self, node: Any, allowed: frozenset[str]) -> Expression:
        """Translate an operand. Without parentheses, it must be a node that binds closer in every grammar."""
        name = type(_strip_parentheses(node)).__name__
        if name not in allowed and name not in _PRIMARY:
            raise UnsupportedSql("its meaning depends on operator precedence, so it needs parentheses")
        return self.translate(node)

    # names and constants

    def name(self, node: Any) -> str:
        return self.tokenized.names[self._get_index(node, "n")]

    def _get_index(self, node: Any, kind: str) -> int:
        """Return the number of a placeholder for a name (n), a constant (l) or a type (t)."""
        text = node if isinstance(node, str) else getattr(node, "name", "")
        found = _PLACEHOLDER.fullmatch(text)
        if found is None or found[1] != kind:
            raise UnsupportedSql("its syntax is not supported")
        return int(found[2])

    def is_constant(self, node: Any) -> bool:
        return getattr(node, "name", "").startswith("_l")

    def column(self, node: exp.Column) -> Expression:
        parts = list(node.parts)
        if len(parts) == 1 and self.is_constant(parts[0]):
            return self.tokenized.literals[self._get_index(parts[0], "l")]
        return Column(tuple(self.name(part) for part in parts))

    def dot(self, node: exp.Dot) -> Expression:
        base, name = self.translate(node.this), self.name(node.expression)
        return Column((*base.parts, name)) if isinstance(base, Column) else Member(base, name)

    def bracket(self, node: exp.Bracket) -> Expression:
        (key,) = _expect(node.expressions)
        return Item(self.translate(node.this), self.translate(key))

    # operations

    def chain(self, node: Any) -> Expression:
        """Translate operations of one precedence level from left to right, without recursion for each of them."""
        level, closer = _LEVELS[type(node).__name__]
        rights = []
        while type(node).__name__ in level:
            rights.append((_OPERATORS[type(node).__name__], self.operand(node.expression, closer)))
            node = node.this
        tree = self.operand(node, closer)
        for operator, right in reversed(rights):
            tree = Binary(operator, tree, right)  # type: ignore[arg-type]
        return tree

    def negation(self, node: exp.Not) -> Expression:
        return Not(self.operand(node.this, _PREDICATES | {"Not"}))

    def sign(self, node: Any) -> Expression:
        operator = "-" if type(node).__name__ == "Neg" else "~"
        return Sign(operator, self.operand(node.this, _SIGNED))  # type: ignore[arg-type]

    def is_value(self, node: exp.Is) -> Expression:
        value: bool | None = None
        match type(node.expression).__name__:
            case "Null":
                value = None
            case "Boolean":
                value = bool(node.expression.this)
            case _:
                raise UnsupportedSql("IS is supported with NULL, TRUE and FALSE only")
        return Is(self.operand(node.this, _OPERANDS), value)

    def distinct(self, node: Any) -> Expression:
        both = Binary("<=>", self.operand(node.this, _OPERANDS), self.operand(node.expression, _OPERANDS))
        return Not(both) if type(node).__name__ == "NullSafeNEQ" else both

    def between(self, node: exp.Between) -> Expression:
        operand = self.operand(node.this, _OPERANDS)
        low, high = (self.operand(node.args[each], _OPERANDS) for each in ("low", "high"))
        return Binary("and", Binary(">=", operand, low), Binary("<=", operand, high))

    def in_list(self, node: exp.In) -> Expression:
        choices = tuple(self.translate(each) for each in node.expressions)
        if not choices:
            raise UnsupportedSql("IN without a list of values is not supported")
        return In(self.operand(node.this, _OPERANDS), choices)

    def like(self, node: Any) -> Expression:
        operand, pattern = self.operand(node.this, _OPERANDS), self.operand(node.expression, frozenset())
        return Like(operand, pattern, is_regex=type(node).__name__ == "RegexpLike")

    def case(self, node: exp.Case) -> Expression:
        operand, default = node.args.get("this"), node.args.get("default")
        branches = []
        for each in node.args.get("ifs") or ():
            if {name for name, value in each.args.items() if value} != {"this", "true"}:
                raise UnsupportedSql("a branch of CASE is not supported")
            branches.append((self.translate(each.this), self.translate(each.args["true"])))
        if not branches:
            raise UnsupportedSql("CASE without branches is not supported")
        return Case(
            None if operand is None else self.translate(operand),
            tuple(branches),
            None if default is None else self.translate(default),
        )

    def call(self, node: exp.Anonymous) -> Expression:
        if node.name == PARENTHESES:
            return self.translate(*_expect(node.expressions))
        index = self._get_index(node, "n")
        name = self.tokenized.names[index].casefold()
        if self.tokenized.quoted[index]:
            raise UnsupportedSql("a function name in backticks is not supported")
        if name in ("cast", "try_cast"):
            operand, kind = _expect(node.expressions, 2)
            return Cast(
                self.translate(operand),
                self.tokenized.types[self._get_index(kind, "t")],
                is_try_cast=name == "try_cast",
            )
        arguments = tuple(self.translate(each) for each in node.expressions)
        if name in _UNIT_FUNCTIONS and len(arguments) == 3:
            arguments = (self.unit(node.expressions[0], arguments[0]), *arguments[1:])
        if name in CAST_FUNCTIONS and len(arguments) == 1:
            return Cast(arguments[0], CAST_FUNCTIONS[name])
        return Call(name, arguments)

    def unit(self, node: Any, argument: Expression) -> Expression:
        """Return an argument that is one word as a unit of time; engines may support other units than Spark."""
        match argument:
            case Column((name,)) if not self.tokenized.quoted[self._get_index(node, "n")]:
                return Unit(name)
        return argument

    def null(self, _: Any) -> Expression:
        return Literal(None, "void")

    def boolean(self, node: exp.Boolean) -> Expression:
        return Literal(bool(node.this), "boolean")


def _strip_parentheses(node: Any) -> Any:
    """Remove parentheses that sqlglot adds; parentheses of the expression are calls of `PARENTHESES`."""
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def _expect(nodes: list[Any], count: int = 1) -> list[Any]:
    if len(nodes) != count:
        raise UnsupportedSql(f"it has {len(nodes)} operands instead of {count}")
    return nodes


class _Syntax(msgspec.Struct, frozen=True):
    translate: Callable[[Translation, Any], Expression]
    arguments: frozenset[str]
    """Arguments of sqlglot's node that the translation reads."""


_PRIMARY = frozenset({"Column", "Dot", "Bracket", "Anonymous", "Case", "Null", "Boolean"})
_SIGNED = frozenset({"Neg", "BitwiseNot"})
_MULTIPLICATIVE = _SIGNED | {"Mul", "Div", "IntDiv", "Mod"}
_ADDITIVE = _MULTIPLICATIVE | {"Add", "Sub"}
_OPERANDS = _ADDITIVE | {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "DPipe"}
_COMPARISONS = frozenset({"EQ", "NEQ", "GT", "GTE", "LT", "LTE"})
_PREDICATES = _OPERANDS | _COMPARISONS | {"NullSafeEQ", "NullSafeNEQ", "Is", "In", "Between", "Like", "RegexpLike"}

_LEVELS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(together), closer)
    for together, closer in (
        ({"Or"}, _PREDICATES | {"Not", "And"}),
        ({"And"}, _PREDICATES | {"Not"}),
        *(({name}, _OPERANDS) for name in sorted(_COMPARISONS)),
        *(({name}, _ADDITIVE) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
        ({"DPipe"}, frozenset()),
        ({"Add", "Sub"}, _MULTIPLICATIVE),
        ({"Mul", "Div", "IntDiv", "Mod"}, _SIGNED),
    )
    for name in together
}
"""By operation: all operations of its level, and those that bind closer in every grammar."""
_OPERATORS = {
    "Or": "or",
    "And": "and",
    "EQ": "=",
    "NEQ": "<>",
    "GT": ">",
    "GTE": ">=",
    "LT": "<",
    "LTE": "<=",
    "DPipe": "||",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "IntDiv": "div",
    "Mod": "%",
}

_SIDES = frozenset({"this", "expression"})
_SYNTAX: dict[str, _Syntax] = {
    "Column": _Syntax(Translation.column, frozenset({"this", "table", "db", "catalog"})),
    "Dot": _Syntax(Translation.dot, _SIDES),
    "Bracket": _Syntax(Translation.bracket, frozenset({"this", "expressions"})),
    **{name: _Syntax(Translation.chain, _SIDES | {"typed", "safe"}) for name in _OPERATORS},
    "Not": _Syntax(Translation.negation, _SIDES),
    **{name: _Syntax(Translation.sign, _SIDES) for name in ("Neg", "BitwiseNot")},
    "Is": _Syntax(Translation.is_value, _SIDES),
    **{name: _Syntax(Translation.distinct, _SIDES) for name in ("NullSafeEQ", "NullSafeNEQ")},
    "Between": _Syntax(Translation.between, frozenset({"this", "low", "high"})),
    "In": _Syntax(Translation.in_list, frozenset({"this", "expressions"})),
    **{name: _Syntax(Translation.like, _SIDES) for name in ("Like", "RegexpLike")},
    "Case": _Syntax(Translation.case, frozenset({"this", "ifs", "default"})),
    "Anonymous": _Syntax(Translation.call, frozenset({"this", "expressions"})),
    "Null": _Syntax(Translation.null, frozenset({"this"})),
    "Boolean": _Syntax(Translation.boolean, frozenset({"this"})),
}
