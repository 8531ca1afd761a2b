"""From sqlglot's tree of an expression to ours.

sqlglot's precedence is not everywhere that of Spark's grammar, and changes between its versions: what stands together
without parentheses is taken only where every grammar reads it alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

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

_WORD = re.compile(r"_([nlt])(\d+)")
_OF_UNITS = frozenset(["dateadd", "date_add", "timestampadd", "datediff", "date_diff", "timestampdiff", "timediff"])
"""Functions whose first argument is a unit of time, where they have three."""


@cache
def _parser() -> type[Any]:
    """Spark's parser without any function but by its name, so that a call stays what was written."""
    from sqlglot.dialects.spark import Spark

    case_parser = Spark.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]

    base: Any = Spark.Parser

    class Plain(base):  # type: ignore[misc]
        FUNCTIONS: dict[str, Any] = {}  # noqa: RUF012 - as its base has them
        FUNCTION_PARSERS: dict[str, Any] = {}  # noqa: RUF012
        NO_PAREN_FUNCTIONS: dict[Any, Any] = {}  # noqa: RUF012
        NO_PAREN_FUNCTION_PARSERS = {"CASE": case_parser}  # noqa: RUF012

    return Plain


class Translation:
    """One expression; raises `Unadmitted` for everything that is not known."""

    def __init__(self, words: TokenizedExpression) -> None:
        self.words = words
        self.tree = self.of(self._parse())

    def _parse(self) -> Any:
        from sqlglot import exp
        from sqlglot.errors import ErrorLevel, SqlglotError

        parser = _parser()(error_level=ErrorLevel.IMMEDIATE, dialect="spark")
        try:
            (found,) = parser.parse_into(exp.Condition, self.words.tokens)
        except (SqlglotError, ValueError, AttributeError, IndexError, KeyError, TypeError) as fault:
            raise UnsupportedSql("it is not understood") from fault
        if found is None:
            raise UnsupportedSql("it is not understood")
        return found

    def of(self, node: Any) -> Expression:
        """What a node of sqlglot's stands for."""
        node = _without_its_own_parentheses(node)
        known = _KNOWN.get(type(node).__name__)
        if known is None:
            raise UnsupportedSql(f"{type(node).__name__} is not read")
        spare = {name for name, value in node.args.items() if value} - known.arguments
        if spare - {"negate"}:
            raise UnsupportedSql(f"{', '.join(sorted(spare))} of {type(node).__name__} is not read")
        tree = known.read(self, node)
        return Not(tree) if spare else tree

    def below(self, node: Any, admitted: frozenset[str]) -> Expression:
        """An operand that stands there without parentheses only where it binds closer under every grammar."""
        name = type(_without_its_own_parentheses(node)).__name__
        if name not in admitted and name not in _CLOSEST:
            raise UnsupportedSql("without parentheses, it depends on the grammar what belongs together")
        return self.of(node)

    # words

    def name(self, node: Any) -> str:
        return self.words.names[self._number(node, "n")]

    def _number(self, node: Any, kind: str) -> int:
        text = node if isinstance(node, str) else getattr(node, "name", "")
        found = _WORD.fullmatch(text)
        if found is None or found[1] != kind:
            raise UnsupportedSql("it is not understood")
        return int(found[2])

    def is_constant(self, node: Any) -> bool:
        return getattr(node, "name", "").startswith("_l")

    def column(self, node: exp.Column) -> Expression:
        parts = list(node.parts)
        if len(parts) == 1 and self.is_constant(parts[0]):
            return self.words.literals[self._number(parts[0], "l")]
        return Column(tuple(self.name(part) for part in parts))

    def dot(self, node: exp.Dot) -> Expression:
        base, name = self.of(node.this), self.name(node.expression)
        return Column((*base.parts, name)) if isinstance(base, Column) else Member(base, name)

    def bracket(self, node: exp.Bracket) -> Expression:
        (key,) = _only(node.expressions)
        return Item(self.of(node.this), self.of(key))

    # operations

    def chain(self, node: Any) -> Expression:
        """Operations of one level, from the left: many of them are no deep nesting."""
        level, closer = _LEVELS[type(node).__name__]
        rights = []
        while type(node).__name__ in level:
            rights.append((_OPERATORS[type(node).__name__], self.below(node.expression, closer)))
            node = node.this
        tree = self.below(node, closer)
        for operator, right in reversed(rights):
            tree = Binary(operator, tree, right)  # type: ignore[arg-type]
        return tree

    def negated(self, node: exp.Not) -> Expression:
        return Not(self.below(node.this, _PREDICATES | {"Not"}))

    def sign(self, node: Any) -> Expression:
        operator = "-" if type(node).__name__ == "Neg" else "~"
        return Sign(operator, self.below(node.this, _SIGNED))  # type: ignore[arg-type]

    def is_value(self, node: exp.Is) -> Expression:
        value: bool | None = None
        match type(node.expression).__name__:
            case "Null":
                value = None
            case "Boolean":
                value = bool(node.expression.this)
            case _:
                raise UnsupportedSql("IS of something else is not read")
        return Is(self.below(node.this, _OPERANDS), value)

    def distinct(self, node: Any) -> Expression:
        both = Binary("<=>", self.below(node.this, _OPERANDS), self.below(node.expression, _OPERANDS))
        return Not(both) if type(node).__name__ == "NullSafeNEQ" else both

    def between(self, node: exp.Between) -> Expression:
        operand = self.below(node.this, _OPERANDS)
        low, high = (self.below(node.args[each], _OPERANDS) for each in ("low", "high"))
        return Binary("and", Binary(">=", operand, low), Binary("<=", operand, high))

    def one_of(self, node: exp.In) -> Expression:
        choices = tuple(self.of(each) for each in node.expressions)
        if not choices:
            raise UnsupportedSql("IN of nothing is not read")
        return In(self.below(node.this, _OPERANDS), choices)

    def like(self, node: Any) -> Expression:
        operand, pattern = self.below(node.this, _OPERANDS), self.below(node.expression, frozenset())
        return Like(operand, pattern, is_regex=type(node).__name__ == "RegexpLike")

    def case(self, node: exp.Case) -> Expression:
        operand, default = node.args.get("this"), node.args.get("default")
        branches = []
        for each in node.args.get("ifs") or ():
            if {name for name, value in each.args.items() if value} != {"this", "true"}:
                raise UnsupportedSql("a branch of CASE is not read")
            branches.append((self.of(each.this), self.of(each.args["true"])))
        if not branches:
            raise UnsupportedSql("CASE without a branch is not read")
        return Case(
            None if operand is None else self.of(operand),
            tuple(branches),
            None if default is None else self.of(default),
        )

    def call(self, node: exp.Anonymous) -> Expression:
        if node.name == PARENTHESES:
            return self.of(*_only(node.expressions))
        number = self._number(node, "n")
        name = self.words.names[number].casefold()
        if self.words.quoted[number]:
            raise UnsupportedSql("a function in backticks is not read")
        if name in ("cast", "try_cast"):
            operand, kind = _only(node.expressions, 2)
            return Cast(self.of(operand), self.words.types[self._number(kind, "t")], is_try_cast=name == "try_cast")
        arguments = tuple(self.of(each) for each in node.expressions)
        if name in _OF_UNITS and len(arguments) == 3:
            arguments = (self.unit(node.expressions[0], arguments[0]), *arguments[1:])
        if name in CAST_FUNCTIONS and len(arguments) == 1:
            return Cast(arguments[0], CAST_FUNCTIONS[name])
        return Call(name, arguments)

    def unit(self, node: Any, argument: Expression) -> Expression:
        """A unit of time where an argument is one word, whatever the word: engines may have units of their own."""
        match argument:
            case Column((name,)) if not self.words.quoted[self._number(node, "n")]:
                return Unit(name)
        return argument

    def null(self, _: Any) -> Expression:
        return Literal(None, "void")

    def truth(self, node: exp.Boolean) -> Expression:
        return Literal(bool(node.this), "boolean")


def _without_its_own_parentheses(node: Any) -> Any:
    """Those of the text are calls (`PARENTHESES`): others are what sqlglot thinks of its grammar."""
    while type(node).__name__ == "Paren":
        node = node.this
    return node


def _only(nodes: list[Any], number: int = 1) -> list[Any]:
    if len(nodes) != number:
        raise UnsupportedSql("it is not understood")
    return nodes


@dataclass(frozen=True)
class _Known:
    read: Callable[[Translation, Any], Expression]
    arguments: frozenset[str]
    """Of sqlglot's node, those that are looked at."""


_CLOSEST = frozenset({"Column", "Dot", "Bracket", "Anonymous", "Case", "Null", "Boolean"})
_SIGNED = frozenset({"Neg", "BitwiseNot"})
_PRODUCTS = _SIGNED | {"Mul", "Div", "IntDiv", "Mod"}
_SUMS = _PRODUCTS | {"Add", "Sub"}
_OPERANDS = _SUMS | {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "DPipe"}
_COMPARISONS = frozenset({"EQ", "NEQ", "GT", "GTE", "LT", "LTE"})
_PREDICATES = _OPERANDS | _COMPARISONS | {"NullSafeEQ", "NullSafeNEQ", "Is", "In", "Between", "Like", "RegexpLike"}

_LEVELS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(together), closer)
    for together, closer in (
        ({"Or"}, _PREDICATES | {"Not", "And"}),
        ({"And"}, _PREDICATES | {"Not"}),
        *(({name}, _OPERANDS) for name in sorted(_COMPARISONS)),
        *(({name}, _SUMS) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
        ({"DPipe"}, frozenset()),
        ({"Add", "Sub"}, _PRODUCTS),
        ({"Mul", "Div", "IntDiv", "Mod"}, _SIGNED),
    )
    for name in together
}
"""By operation: those that are done with it from left to right, and those that bind closer under every grammar."""
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
_KNOWN: dict[str, _Known] = {
    "Column": _Known(Translation.column, frozenset({"this", "table", "db", "catalog"})),
    "Dot": _Known(Translation.dot, _SIDES),
    "Bracket": _Known(Translation.bracket, frozenset({"this", "expressions"})),
    **{name: _Known(Translation.chain, _SIDES | {"typed", "safe"}) for name in _OPERATORS},
    "Not": _Known(Translation.negated, _SIDES),
    **{name: _Known(Translation.sign, _SIDES) for name in ("Neg", "BitwiseNot")},
    "Is": _Known(Translation.is_value, _SIDES),
    **{name: _Known(Translation.distinct, _SIDES) for name in ("NullSafeEQ", "NullSafeNEQ")},
    "Between": _Known(Translation.between, frozenset({"this", "low", "high"})),
    "In": _Known(Translation.one_of, frozenset({"this", "expressions"})),
    **{name: _Known(Translation.like, _SIDES) for name in ("Like", "RegexpLike")},
    "Case": _Known(Translation.case, frozenset({"this", "ifs", "default"})),
    "Anonymous": _Known(Translation.call, frozenset({"this", "expressions"})),
    "Null": _Known(Translation.null, frozenset({"this"})),
    "Boolean": _Known(Translation.truth, frozenset({"this"})),
}
