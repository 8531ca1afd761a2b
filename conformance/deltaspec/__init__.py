"""deltaspec: a conformance and validation test kit for the Delta transaction-log protocol.

>>> import deltaspec
>>> report = deltaspec.validate("s3://lake/sales", level="rows")
>>> report.verdict
'conforms'
"""

from __future__ import annotations

from deltaspec.version import __version__

TYPE_CHECKING = False  # importing it from `typing` would take most of the time of `import deltaspec`
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import timedelta
    from typing import Unpack

    from deltaspec.comparison.results import ComparisonReport
    from deltaspec.many_tables.report import TablesReport
    from deltaspec.repair.plan_format import RepairPlan
    from deltaspec.report.report_types import Report
    from deltaspec.validation.instants import AtArgument
    from deltaspec.validation.options import OptionArguments
    from deltaspec.validation.progress import Progress

__all__ = ["__version__", "compare", "plan_repair", "validate", "validate_many"]


def validate(
    table: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    state: str | None = None,
    resume: bool = False,
    findings_out: str | None = None,
    budget: str | float | timedelta | None = None,
    **options: Unpack[OptionArguments],
) -> Report:
    """Validate a table, and return the report that `deltaspec validate --format json` prints.

    Nothing is written into the table.

    Args:
        table: path or URI of the table's root.
        storage_options: settings of the storage clients by the names of their environment variables, such as
            AWS_REGION or AWS_ACCESS_KEY_ID. They override the environment, and are never printed.
            DELTASPEC_STORE_REQUESTS_PER_SECOND limits the requests of this process.
        progress: called with the phase, the amount done, and the total amount or None.
        state: local directory for the resume state, created if it does not exist. The user must own it, and nobody else
            may write to it: it contains pickles, which are executed when they are loaded.
        resume: continue from the state in `state`, if there is one. An uninterrupted run gives the same report.
            The state must come from the same release, options and listing of the log.
        findings_out: Parquet file for every finding, with the columns of `findings_table.FINDING_SCHEMA`; the report
            has only the first findings of each rule. Cannot be combined with `state`.
        budget: time after which the run stops cleanly, in seconds or as `30m`. What it has not decided is in the
            ledger, and `Report.stopped` says why. With `state`, a later run can resume.
        options: what to check:

            - level (str): how much of the table is read. `log` reads `_delta_log` only; `files` (the default) also
              lists the directories of the table and reads deletion vectors; `footers` reads the footer of every live
              data file; `rows` reads the data.
            - at (int | str | datetime): version to validate, or an ISO 8601 time with a time zone: the latest version
              that was committed by then, according to in-commit timestamps where the table enables them, else to file
              times. Default: the latest.
            - history (str | int): `latest` (the default), `all`, or how many versions to go back.
            - revision (str): `r1`, `r2`, `r3` or `current` (the default). Rules that the revision does not define are
              skipped. A table that needs features unknown to the revision gets the verdict `refused`.
            - clock (int | str): time not before the last write to the table: `now`, an ISO 8601 time with a time zone,
              or milliseconds since the epoch. It decides which tombstones, transactions, removed files and log files
              had to be retained. Without it, the rules on retention are skipped.
            - select (str | collection of str): codes of the rules to run, or prefixes of codes; one string may name
              several, separated by commas. Default: all.
            - ignore (str | collection of str): codes, or prefixes of codes, to leave out.
            - accept (list of dict): findings that are accepted, so that they are no failures: `rule` (code or prefix of
              codes), `reason`, and if needed `path` (glob over data files or log files, relative to the table), `link`,
              and `until` (last day, as a date or YYYY-MM-DD). Their rules still run; rules in `ignore` do not.
            - baseline (str): file with known findings, which are accepted; `deltaspec baseline update` creates it.
            - samples (int): how many findings of each rule the report has. Default: 1000.
            - accept_unchecked (str | collection of str): rules whose unchecked places do not make the run incomplete;
              `feature:NAME` for a table feature that is not checked; `catalog` for what only the catalog of a
              catalog-managed table knows.
            - writer_time_zone (str): time zone of the sessions that wrote the table, such as `Europe/Paris` or
              `+01:00`. SQL expressions that depend on it, such as `CAST(ts AS DATE)`, are unchecked without it.
            - catalog_commits (str): path of a JSON file with the answer of the catalog of a catalog-managed table; see
              `deltaspec schema catalog-commits`.
            - catalog (str): address of the Unity Catalog that knows the table, if `table` is its name there, such as
              `uc://catalog.schema.table`. The token is in DELTASPEC_CATALOG_TOKEN.
            - since (str): path of an earlier JSON report of the table, complete and of the same release and rules. Only
              files that were added after its version are checked; rules over the others are in the ledger.
            - confirm (bool): look again at a data file that is missing, damaged, or whose rows have findings, before it
              is reported (the default).
            - allow_outside (bool): follow absolute paths that lead out of the table, as in shallow clones.
            - hints (bool): at level `rows`, look for live files with the same content, which may be the same data added
              twice. `Report.hints` has them; they are not findings and do not change the verdict.

    Raises:
        InvalidUsage: an option has an invalid value, a rule or version does not exist, the state belongs to another
            run, or a file cannot be written.
        TableUnreadable: there is no table, or access to its log is denied.
        StorageUnavailable: the storage did not answer, after all retries; run again later. It is a `TableUnreadable`.
    """
    from deltaspec.validation.options import Options
    from deltaspec.validation.request import ValidateRequest, run_request
    from deltaspec.wire.storage.settings import StorageSettings

    request = ValidateRequest(
        table=table,
        options=Options.create(**options),
        storage=StorageSettings(storage_options),
        state=state,
        resume=resume,
        findings_out=findings_out,
        budget=budget,
    )
    return run_request(request, progress).report


def validate_many(
    tables: str | Sequence[str],
    *,
    jobs: int = 1,
    results: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    budget: str | float | timedelta | None = None,
    **options: Unpack[OptionArguments],
) -> TablesReport:
    """Validate several tables, and return what `deltaspec validate --format json` prints, and each report.

    A table that cannot be read does not stop the others: its result says why it has no report.

    Args:
        tables: paths, URIs, and globs over folders such as `s3://lake/*/orders`.
        jobs: tables to validate at once, each in a process. A program that is a file needs
            `if __name__ == "__main__":` around the call for more than one, as every use of `multiprocessing` does.
        results: path or URI of a Delta table to which the results are appended. It is created if it does not exist.
            `deltaspec.report.results_rows.SCHEMA` describes its columns. Needs the extra `deltalake`.
        storage_options: as in `validate`, also for `results`.
        progress: called with `tables`, the number of tables that have ended, and their number.
        budget: as in `validate`, for each table.
        options: as in `validate`.

    Raises:
        InvalidUsage: an option has an invalid value, a glob is invalid, or the results cannot be written.
    """
    from deltaspec.many_tables.validate import validate_tables

    return validate_tables(
        tables,
        options,
        jobs=jobs,
        results=results,
        storage_options=storage_options,
        progress=progress,
        budget=budget,
    )


def compare(
    table: str,
    candidates: Iterable[str],
    *,
    at: AtArgument = None,
    columns: Iterable[str] | None = None,
    sample: float | None = None,
    changes: tuple[int, int] | None = None,
    redact: bool = False,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    allow_outside: bool = False,
    timeout_scale: float = 1.0,
) -> ComparisonReport:
    """Compare what engines read of a table with what the protocol says, as `deltaspec compare` does.

    Nothing is written into the table. Each engine runs in a process that is killed if it takes too long, uses too much
    memory or returns too many bytes.

    Args:
        table: path or URI of the table's root.
        candidates: engines to ask: names of adapters, `cmd:COMMAND` or `py:MODULE:CLASS`.
        at: version, or time, as in `validate`.
        columns: top-level columns to compare; None for all.
        sample: share of the data to compare, between 0 and 1: some partitions, or rows in a range of a column; None
            for all.
        changes: first and last version whose changes are compared too; None for none.
        redact: leave values, paths and messages of engines out of the report.
        storage_options: as in `validate`; engines get only the environment.
        progress: as in `validate`.
        allow_outside: follow absolute paths that lead out of the table.
        timeout_scale: factor of all deadlines of engines.

    Raises:
        InvalidUsage: a column, version or engine does not exist, or an engine cannot run here.
        TableUnreadable: there is no table, or deltaspec cannot read its log.
        StorageUnavailable: the storage did not answer. It is a `TableUnreadable`.
    """
    from deltaspec.comparison.compare import CompareRequest, compare_tables
    from deltaspec.validation.progress import ignore_progress
    from deltaspec.wire.storage.settings import StorageSettings

    request = CompareRequest(
        at=at,
        columns=None if columns is None else tuple(columns),
        sample=sample,
        changes=changes,
        redact=redact,
        storage=StorageSettings(storage_options),
        allow_outside=allow_outside,
        timeout_scale=timeout_scale,
    )
    return compare_tables([table], list(candidates), request, progress or ignore_progress).tables[0]


def plan_repair(
    table: str,
    *,
    output: str | None = None,
    level: str = "rows",
    choose: Iterable[str] = (),
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    allow_outside: bool = False,
    writer_time_zone: str | None = None,
) -> RepairPlan:
    """Plan the repair of a table, as `deltaspec repair` does. Nothing is written into the table.

    Args:
        table: path or URI of the table's root.
        output: new or empty directory for the plan, outside of any table; None to write none. A plan without repairs
            is not written.
        level: how much of the table is read to find damage and to prove the plan, as for `validate`.
        choose: what only the owner of the data can decide: `vector=remove-file` or `vector=drop-vector` for damaged
            deletion vectors, with `:PATH` for one data file; `history=set-aside` to replace older files of the log by a
            checkpoint; `later=set-aside` to set aside checksums and compactions after the newest commit; `version=N` to
            return to a version if the latest one cannot be read.
        storage_options: settings of the storage clients, as for `validate`.
        progress: as for `validate`.
        allow_outside: follow absolute paths that lead out of the table.
        writer_time_zone: as for `validate`.

    Returns:
        The plan with the verdicts before and after. `repairs` is empty if nothing can be repaired, and `not_repaired`
        has the reasons.

    Raises:
        InvalidUsage: an argument has an invalid value, or the directory cannot be written.
        TableUnreadable: there is no table, a catalog manages it, or it needs a feature that deltaspec does not know.
        StorageUnavailable: the storage did not answer. It is a `TableUnreadable`.
    """
    from deltaspec.repair.planner import plan_repair as plan

    return plan(
        table,
        output=output,
        level=level,
        choose=choose,
        storage_options=storage_options,
        progress=progress,
        allow_outside=allow_outside,
        writer_time_zone=writer_time_zone,
    )
