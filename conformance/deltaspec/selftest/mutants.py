"""The registry of mutants: the reference engine with one fault each.

A mutant is a function that replaces one or several methods of the reference. Its first argument is the method that it
replaces, so that most faults are one line::

    @mutant(LogReader.read_commit, "reconciliation.queries-see-live-files", suites=("snapshot", "read"))
    def removes_ignored(original, log, version):
        \"\"\"Does not apply removes.\"\"\"
        return [each for each in original(log, version) if not isinstance(each, Remove)]

Its id is the name of its module and its own. Each fault is one that authors of engines make; each differs from the
reference on some table that the protocol permits, or on a table that must be refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.candidates.reference.row_reader import RowReader
from deltaspec.suites.checks import SuiteName

Method: TypeAlias = Callable[..., Any]
"""A method of the reference as a function: its first argument is the object."""

_OWNERS: dict[str, type[Any]] = {each.__name__: each for each in (Engine, LogReader, RowReader)}


@dataclass(frozen=True)
class Mutant:
    """An engine with a fault."""

    id: str
    """`idea.fault`, such as `statistics.cut-maxima-taken-for-largest`."""
    title: str
    """What the engine does wrong."""
    requires: tuple[str, ...]
    """Requirements that it breaks."""
    suites: tuple[SuiteName, ...]
    """Suites that must catch it, the cheapest first."""
    origin: str | None
    """Id of a bug of a released engine that it imitates."""
    build: Callable[[], Engine]


MUTANTS: dict[str, Mutant] = {}
"""All mutants by id."""


def mutant(
    methods: Method | tuple[Method, ...],
    *requires: str,
    suites: tuple[SuiteName, ...],
    origin: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that replaces methods of the reference.

    Args:
        methods: methods of `Engine`, `LogReader` or `RowReader`; the function replaces each of them.
        requires: requirements that the mutant breaks.
        suites: suites that must catch it, the cheapest first.
        origin: id of a bug of a released engine.
    """

    def register(fault: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{fault.__module__.rpartition('.')[2]}.{fault.__name__}".replace("_", "-")
        assert name not in MUTANTS, name
        title = (fault.__doc__ or "").partition("\n")[0]
        replaced = methods if isinstance(methods, tuple) else (methods,)
        MUTANTS[name] = Mutant(name, title, requires, suites, origin, lambda: build_engine(fault, *replaced))
        return fault

    return register


def build_engine(fault: Callable[..., Any], *methods: Method) -> Engine:
    """Return a reference engine with some methods replaced."""
    replaced: dict[str, dict[str, Any]] = {name: {} for name in _OWNERS}
    for method in methods:
        owner, _, name = method.__qualname__.partition(".")
        replaced[owner][name] = _wrap(fault, method)
    readers = {
        "log_reader": type("LogReader", (LogReader,), replaced["LogReader"]),
        "row_reader": type("RowReader", (RowReader,), replaced["RowReader"]),
    }
    engine: Engine = type("Engine", (Engine,), readers | replaced["Engine"])()
    return engine


def _wrap(fault: Callable[..., Any], method: Method) -> Callable[..., Any]:
    def replacement(self: Any, *arguments: Any, **options: Any) -> Any:
        return fault(method, self, *arguments, **options)

    return replacement
