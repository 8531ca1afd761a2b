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

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, TypeAlias

import msgspec

from deltaspec.candidates.reference.checkpoint_writer import CheckpointWriter
from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_cleaner import LogCleaner
from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.candidates.reference.row_reader import RowReader
from deltaspec.candidates.reference.transaction import Transaction
from deltaspec.candidates.reference.writer import Writer
from deltaspec.candidates.reference.written_files import FileWriter
from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Action
from deltaspec.suites.checks import SuiteName

Method: TypeAlias = Callable[..., Any]
"""A method of the reference as a function: its first argument is the object."""

MutantSuite: TypeAlias = SuiteName | Literal["races"]
"""A suite of `deltaspec test`, or the races of `deltaspec faults`."""

_OWNERS: tuple[type[Any], ...] = (Engine, LogReader, RowReader, Writer, Transaction, FileWriter, CheckpointWriter,
                                 LogCleaner)  # fmt: skip


class Mutant(msgspec.Struct, frozen=True):
    """An engine with a fault."""

    id: str
    """`idea.fault`, such as `statistics.cut-maxima-taken-for-largest`."""
    title: str
    """What the engine does wrong."""
    requires: tuple[str, ...]
    """Requirements that it breaks."""
    suites: tuple[MutantSuite, ...]
    """Suites that must catch it, the cheapest first."""
    origin: str | None
    """Id of a bug of a released engine that it imitates."""
    module: str
    """Module that defines it."""
    build: Callable[[], Engine]


MUTANTS: dict[str, Mutant] = {}
"""All mutants by id."""


def mutant(
    methods: Method | tuple[Method, ...],
    *requires: str,
    suites: tuple[MutantSuite, ...],
    origin: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that replaces methods of the reference.

    Args:
        methods: methods of classes of the reference; the function replaces each of them.
        requires: requirements that the mutant breaks.
        suites: suites that must catch it, the cheapest first.
        origin: id of a bug of a released engine.
    """

    def register(fault: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{fault.__module__.rpartition('.')[2]}.{fault.__name__}".replace("_", "-")
        assert name not in MUTANTS, name
        title = (fault.__doc__ or "").partition("\n")[0]
        replaced = methods if isinstance(methods, tuple) else (methods,)
        MUTANTS[name] = Mutant(name, title, requires, suites, origin, fault.__module__,
                               lambda: build_engine(fault, *replaced))  # fmt: skip
        return fault

    return register


def faulty_commit(
    *requires: str, suites: tuple[MutantSuite, ...] = ("write",), origin: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that changes the actions of a commit after the checks of the reference writer.

    Its arguments are the transaction and the actions; it returns the actions to write.
    """

    def register(fault: Callable[[Transaction, list[Action]], Sequence[Action]]) -> Callable[..., Any]:
        @wraps(fault)
        def write(original: Method, transaction: Transaction, actions: Sequence[Action]) -> None:
            original(transaction, list(fault(transaction, list(actions))))

        return mutant(Transaction.write, *requires, suites=suites, origin=origin)(write)

    return register


def build_engine(fault: Callable[..., Any], *methods: Method) -> Engine:
    """Return a reference engine with some methods replaced."""
    replaced: dict[str, dict[str, Any]] = {each.__name__: {} for each in _OWNERS}
    for method in methods:
        owner, _, name = method.__qualname__.partition(".")
        replaced[owner][name] = _wrap(fault, method)

    def derive(base: type[Any], **parts: type[Any]) -> type[Any]:
        return type(base.__name__, (base,), parts | replaced[base.__name__])

    if replaced["Writer"] or replaced["Transaction"] or replaced["FileWriter"]:
        replaced["Transaction"].setdefault("check_actions", _check_removals)
    writer = derive(
        Writer,
        transaction=derive(Transaction, file_writer=derive(FileWriter)),
        derived_files=derive(CheckpointWriter),
        log_cleaner=derive(LogCleaner),
    )
    engine: Engine = derive(Engine, log_reader=derive(LogReader), row_reader=derive(RowReader), writer=writer)()
    return engine


def _check_removals(transaction: Transaction, actions: Sequence[Action]) -> None:
    """Check only what protects tables that accept no deletes, so that a faulty writer commits what it has built."""
    try:
        Transaction.check_actions(transaction, actions)
    except EngineError as error:
        if str(error).startswith("append-only."):
            raise


def _wrap(fault: Callable[..., Any], method: Method) -> Callable[..., Any]:
    def replacement(self: Any, *arguments: Any, **options: Any) -> Any:
        return fault(method, self, *arguments, **options)

    return replacement
