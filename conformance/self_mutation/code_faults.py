"""List the faults that could make the ledger silent: faults in statements that decide or record it."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from parso.tree import NodeOrLeaf

from self_mutation.operators import OperatorProvider

cosmic_ray.plugins.OPERATOR_PROVIDERS["deltaspec"] = OperatorProvider()

_COMPARISONS = ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_GtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Is_IsNot", "IsNot_Is")
_BINARY = ("Add_Sub", "Sub_Add", "Mul_Add", "Mod_Add", "FloorDiv_Mul", "BitOr_BitAnd", "BitAnd_BitOr")
_CORE = ("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd")
_CORE += ("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer")
_CORE += ("ZeroIterationForLoop", "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_Invert")

OPERATORS = (
    *(f"core/{name}" for name in _CORE),
    *(f"core/ReplaceComparisonOperator_{name}" for name in _COMPARISONS),
    *(f"core/ReplaceBinaryOperator_{name}" for name in _BINARY),
    *(f"deltaspec/{name}" for name in OperatorProvider()),
)
"""One or two faults of each kind. More replacements of an operator fail at once or repeat the first."""

_LEDGER_MODULE = "validation/ledger.py"
_LEDGER = re.compile(
    r"mark_\w*(undecided|unchecked)|replace_reasons|discard_findings|not_checked|blocked_reason|_ledger\b"
    r"|\b(undecided|uncertain|unread|has_undecided_files)\b"
)
_BLOCKS = {"if_stmt", "for_stmt", "while_stmt", "try_stmt", "with_stmt"}
_SCOPES = {"funcdef", "classdef", "file_input"}


@dataclass(frozen=True)
class CodeFault:
    """One fault that cosmic-ray can plant in a statement of the ledger."""

    module: str
    """Path below `conformance/deltaspec`."""
    function: str
    """Qualified name of the function or class; empty at the top of the module."""
    operator: str
    occurrence: int
    """Number of the location where the operator applies, as cosmic-ray counts."""
    id: str
    """Hash of the code around the fault, which does not depend on line numbers."""


def list_code_faults(root: Path, module: str) -> Iterator[CodeFault]:
    """Yield every fault of the ledger in a module, given by its path below `root`."""
    source = (root / module).read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    passive = _find_passive_lines(source)
    seen: Counter[str] = Counter()
    for name in OPERATORS:
        operator = cosmic_ray.plugins.get_operator(name)()
        positions = ((node, start) for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, (node, start) in enumerate(positions):
            statement = _get_statement(node)
            if start in passive or not (module == _LEDGER_MODULE or _LEDGER.search(_get_guarded_code(statement))):
                continue
            function = _get_function(node)
            location = f"{module} {function} {name} {' '.join(_get_header(statement).split())}"
            seen[location] += 1
            digest = hashlib.sha256(f"{location} {seen[location]}".encode()).hexdigest()[:16]
            yield CodeFault(module, function, name, occurrence, digest)


class _Passive:
    """Positions of code in which a fault does not matter: annotations and options of classes."""

    def __init__(self, spans: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
        self._spans = spans

    def __contains__(self, position: tuple[int, int]) -> bool:
        return any(start <= position < end for start, end in self._spans)


def _find_passive_lines(source: str) -> _Passive:
    found: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            found += [node.returns] if node.returns else []
        elif isinstance(node, ast.ClassDef):
            found += [*node.decorator_list, *node.keywords]
        elif isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value is None:
            found.append(node)  # an optional type
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.append(node)
    return _Passive([_get_span(node, source.splitlines()) for node in found])


def _get_span(node: ast.AST, lines: list[str]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return start and end of a node; columns count characters, as parso does."""
    start, end = (
        (line, len(lines[line - 1].encode()[:column].decode()))
        for line, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))  # type: ignore[attr-defined]
    )
    return start, end


def _get_statement(node: NodeOrLeaf) -> NodeOrLeaf:
    """Return the innermost statement around a node."""
    while node.type not in {"simple_stmt", *_BLOCKS, *_SCOPES}:
        node = node.parent
    return node


def _get_header(statement: NodeOrLeaf) -> str:
    """Return the code of a statement without the statements inside it."""
    if statement.type == "simple_stmt":
        return str(statement.get_code(include_prefix=False))
    return "".join(child.get_code() for child in statement.children if child.type not in {"suite", *_SCOPES})


def _get_guarded_code(statement: NodeOrLeaf) -> str:
    """Return the code of a statement and, of a block, the simple statements directly in it."""
    if statement.type in _SCOPES:
        return ""
    code = [_get_header(statement)]
    for suite in getattr(statement, "children", ()):
        if suite.type == "suite" and statement.type != "simple_stmt":
            code += [each.get_code(include_prefix=False) for each in suite.children if each.type == "simple_stmt"]
    return "\n".join(code)


def _get_function(node: NodeOrLeaf) -> str:
    names: list[str] = []
    while node is not None:
        if node.type in {"funcdef", "classdef"}:
            names.insert(0, node.name.value)
        node = node.parent
    return ".".join(names)
