"""Sessions of nox. `nox` runs the sessions that need only Python; `nox --list` lists all.

With `--no-venv` a session uses the Python that runs nox, which must have all requirements (`pip install -e .[dev]`).
`.ci/test` runs the sessions in one environment this way.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

import nox
from packaging.requirements import Requirement

nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True
nox.options.sessions = ["lint", "tests_quick", "golden"]

VALID_TABLE = "golden-tables/log/log.append-remove/delta"
INVALID_TABLE = "golden-tables/partition-values/partition-values.key-missing/delta"
GOLDEN_DISTRIBUTION = Path("conformance/golden_distribution")
HARNESSES = Path("conformance/harnesses")
SITE = Path("dist/site")
RUST_READER_CASES = (
    "log.append-remove",
    "log.commit-gap",
    "deletion-vectors.inline-and-stored",
    "checkpoints.v2-sidecars",
)


def _with_project(session: nox.Session, extras: str = "dev") -> None:
    """Install the project, editable, with its requirements; do nothing with `--no-venv`."""
    if session.virtualenv.venv_backend != "none":
        session.install("-e", f".[{extras}]")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and types."""
    _with_project(session)
    session.run("python", "-m", "ruff", "check", ".", ".ci/test")
    session.run("python", "-m", "ruff", "format", "--check", ".", ".ci/test")
    session.run("python", "-m", "mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Run every test. Tests marked `spark` need Java 17 or 21 and a repository with the jars of Spark."""
    _with_project(session)
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def tests_quick(session: nox.Session) -> None:
    """Run the fast tests and the tests of changed files; none of them starts Spark."""
    _with_project(session)
    command = ["python", "-m", "pytest", "-m", "not spark", *session.posargs]
    session.run(*command, env={"DELTASPEC_TESTS": "changed"})


@nox.session
def record_spark_tables(session: nox.Session) -> None:
    """Write the tables of Delta Spark that every test run validates. Takes about ten minutes."""
    _with_project(session)
    session.chdir("conformance/tests")
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "spark.corpus", folder)
        session.run("python", "-m", "spark.recorded", folder)


@nox.session
def golden(session: nox.Session) -> None:
    """Check that the golden tables equal what their definitions build."""
    _with_project(session)
    session.run("python", "-m", "deltaspec", "golden", "build", "--check")


@nox.session
def golden_archive(session: nox.Session) -> None:
    """Build the release archive `dist/deltaspec-golden-<version>.tar.zst`."""
    _with_project(session)
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "deltaspec", "golden", "export", folder, "--format", "archive", silent=True)
        (archive,) = Path(folder).iterdir()
        Path("dist").mkdir(exist_ok=True)
        session.log(shutil.copy(archive, "dist"))


@nox.session
def golden_distribution(session: nox.Session) -> None:
    """Build the data-only distribution `deltaspec-golden` in `dist`, and use it in an empty environment."""
    _with_project(session)
    with tempfile.TemporaryDirectory() as folder:
        source = _fill_golden_distribution(session, folder)
        session.run("python", "-m", "build", "--outdir", "dist", str(source), silent=True)
        wheel = max(Path("dist").glob("deltaspec_golden-*.whl"), key=lambda path: path.stat().st_mtime).resolve()
        session.run("python", "-m", "venv", f"{folder}/fresh")
        python = f"{folder}/fresh/bin/python"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        session.run(*pip, "--no-index", str(wheel), external=True)
        session.run(python, str(GOLDEN_DISTRIBUTION / "check_installed.py"), external=True)
        session.log(f"built {wheel}, {wheel.stat().st_size:,} bytes")


def _fill_golden_distribution(session: nox.Session, folder: str) -> Path:
    """Copy the source of `deltaspec-golden` to a folder, with the cases; return its path."""
    source = Path(folder) / "golden"
    shutil.copytree(GOLDEN_DISTRIBUTION, source, ignore=shutil.ignore_patterns("__pycache__"))
    cases = source / "src/deltaspec_golden/cases"
    session.run("python", "-m", "deltaspec", "golden", "export", str(cases), "--format", "folder", silent=True)
    return source


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site in `dist/site`, and check its links; `-- --serve` shows changes at once."""
    _with_project(session)
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), "conformance/tests")))
    environment = {"PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1"}
    configuration = ["--strict", "--config-file", "conformance/site/mkdocs.yml"]
    if "--serve" in session.posargs:
        session.run("python", "-m", "mkdocs", "serve", *configuration, env=environment)
        return
    session.run(
        "python", "-m", "mkdocs", "build", "--quiet", *configuration, "--site-dir", str(SITE.resolve()), env=environment
    )
    session.run("python", "conformance/site/check.py", str(SITE))
    pages = sum(1 for _ in SITE.rglob("*.html"))
    session.log(f"{pages:,} pages in {SITE}; open {SITE / 'index.html'}")


@nox.session
def integrations(session: nox.Session) -> None:
    """Let the real pre-commit install the hook of this commit in a new repository, and check that it finds a fault."""
    session.install("pre-commit")
    commit = session.run("git", "rev-parse", "HEAD", external=True, silent=True).strip()
    root = Path.cwd()
    hook = {"id": "deltaspec-validate", "args": ["data/*"]}
    with tempfile.TemporaryDirectory() as folder:
        session.chdir(folder)
        session.run("git", "init", "--quiet", external=True)
        Path(".pre-commit-config.yaml").write_text(
            json.dumps({"repos": [{"repo": str(root), "rev": commit, "hooks": [hook]}]}), "utf-8"
        )
        shutil.copytree(root / VALID_TABLE, "data/sound")
        session.run("git", "add", ".", external=True)
        session.run("pre-commit", "run", "--all-files")
        shutil.copytree(root / INVALID_TABLE, "data/faulty")
        session.run("git", "add", ".", external=True)
        output = session.run("pre-commit", "run", "--all-files", success_codes=[1], silent=True)
        if "FIL007" not in output:
            session.error(output)
        session.log("the hook passed a sound table and found FIL007 in a faulty one")


@nox.session
def airflow(session: nox.Session) -> None:
    """Run the example operator in the real Airflow: a sound table passes, a faulty one fails without retries."""
    session.install("apache-airflow>=3", "-e", ".")
    with tempfile.TemporaryDirectory() as home:
        dags = Path(home, "dags")
        dags.mkdir()
        for path in ("conformance/examples/airflow_operator.py", "conformance/tests/integrations/airflow_dags.py"):
            shutil.copy(path, dags)
        environment = {
            "AIRFLOW_HOME": home,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "SOUND_TABLE": str(Path(VALID_TABLE).resolve()),
            "FAULTY_TABLE": str(Path(INVALID_TABLE).resolve()),
        }
        session.run("airflow", "db", "migrate", env=environment, silent=True)
        for dag, exit_code, state in (("sound", 0, "success"), ("faulty", 1, "failed")):
            command = ["airflow", "dags", "test", dag]
            output = session.run(*command, env=environment, success_codes=[exit_code], silent=True)
            if f"new_state={state}" not in output or ("FIL007" in output) != (dag == "faulty"):
                session.error(output)
            session.log(f"the task of the {dag} table ended in the state {state}")


@nox.session
def dagster(session: nox.Session) -> None:
    """Run the example check in the real Dagster: a sound table passes, a faulty one fails with its rule."""
    session.install("dagster>=1.9", "-e", ".")
    tables = (str(Path(VALID_TABLE).resolve()), str(Path(INVALID_TABLE).resolve()))
    path = {"PYTHONPATH": "conformance/examples"}
    session.run("python", "conformance/tests/integrations/dagster_run.py", *tables, env=path)


@nox.session
def first_week(session: nox.Session) -> None:
    """Play a team's first week on ten tables, and write `reports/first-week.md`."""
    _with_project(session)
    session.run("python", "conformance/examples/first_week.py", "--output", "reports/first-week.md", silent=True)


@nox.session
def release(session: nox.Session) -> None:
    """Build wheels and sdists of `deltaspec` and `deltaspec-golden` in `dist`, and check that the sdists rebuild them.

    File times are the time of the commit, or `SOURCE_DATE_EPOCH`. The second build starts from the first sdist, and
    both of its files must have the same bytes.
    """
    _with_project(session, "dev,release")
    epoch = (
        os.environ.get("SOURCE_DATE_EPOCH")
        or subprocess.check_output(["git", "log", "-1", "--format=%ct"], text=True).strip()
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, source in (("deltaspec", Path.cwd()), ("golden", _fill_golden_distribution(session, folder))):
            _build_twice(session, source, Path(folder) / f"{name}-builds", epoch)


def _build_twice(session: nox.Session, source: Path, folder: Path, epoch: str) -> None:
    """Build an sdist and a wheel, build them again from the sdist, compare both, and copy them to `dist`."""
    first, second = folder / "first", folder / "second"
    build = ["python", "-m", "build", "--outdir"]
    session.run(*build, str(first), str(source), env={"SOURCE_DATE_EPOCH": epoch}, silent=True)
    (sdist,) = first.glob("*.tar.gz")
    session.run("python", "-m", "tarfile", "--extract", str(sdist), str(folder))
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    session.run(*build, str(second), str(unpacked), env={"SOURCE_DATE_EPOCH": epoch}, silent=True)
    names = sorted(path.name for path in first.iterdir())
    _, different, missing = filecmp.cmpfiles(first, second, names, shallow=False)
    if different or missing:
        session.error(f"the sdist does not rebuild {', '.join(different + missing)} with the same bytes")
    Path("dist").mkdir(exist_ok=True)
    for name in names:
        session.log(f"{shutil.copy(first / name, 'dist')}: {(first / name).stat().st_size:,} bytes, rebuilt byte-equal")


@nox.session
def sbom(session: nox.Session) -> None:
    """Write `dist/deltaspec.cdx.json`: the packages that `pip install deltaspec` installs, as CycloneDX."""
    _with_project(session, "dev,release")
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "venv", "--without-pip", f"{folder}/env")
        python = f"{folder}/env/bin/python"
        pip = ["python", "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
        session.run(*pip, ".")
        Path("dist").mkdir(exist_ok=True)
        output = ["--output-reproducible", "--output-format", "JSON", "--output-file", "dist/deltaspec.cdx.json"]
        session.run("cyclonedx-py", "environment", python, "--pyproject", "pyproject.toml", *output)


@nox.session(venv_backend="none")
def golden_reader_rust(session: nox.Session) -> None:
    """Build `golden-tables/read_golden.rs`, the reader that client authors can copy, and read golden tables with it.

    `nox -s golden_reader_rust -- CASE...` reads these cases.
    """
    target = HARNESSES / "build/cargo"
    cargo = ["cargo", "build", "--release", "--locked", "--example", "read_golden", "--target-dir", str(target)]
    session.run(*cargo, "--manifest-path", str(HARNESSES / "kernel_rust/Cargo.toml"))
    session.run(str(target / "release/examples/read_golden"), "golden-tables", *(session.posargs or RUST_READER_CASES))


@nox.session
def acceptance_kernel_rs(session: nox.Session) -> None:
    """Run the acceptance harness and the DAT reader of a delta-kernel-rs checkout on the golden tables.

    `nox -s acceptance_kernel_rs -- PATH_TO_CHECKOUT`. Needs Cargo; the first build takes six minutes of CPU time.
    """
    _with_project(session)
    checkout, *others = session.posargs or session.error("name the checkout: nox -s acceptance_kernel_rs -- PATH")
    command = ["python", "-m", "golden_clients.kernel_rs", str(Path(checkout).resolve()), *others]
    session.chdir("conformance")
    session.run(*command)


@nox.session
def writer_cases(session: nox.Session) -> None:
    """Let engines perform 100 cases for writers, and write `reports/golden/writers`.

    `-- deltalake kernel_rust=cmd:PROGRAM delta_spark` names engines; Delta Spark takes half an hour.
    """
    _with_project(session)
    session.chdir("conformance")
    session.run("python", "-m", "golden_clients.writer_cases", *session.posargs)


@nox.session
def drawn_cases(session: nox.Session) -> None:
    """Draw, export and verify 10,000 golden cases and ask clients about 1,000; write `reports/golden/drawn.md`.

    `-- --tables 200 --asked 200` takes fewer, `-- --kernel-rs PATH` also runs the harness of that checkout.
    """
    _with_project(session)
    session.chdir("conformance")
    session.run("python", "-m", "golden_clients.drawn", *session.posargs)


@nox.session
def scale(session: nox.Session) -> None:
    """Build large golden tables and ask delta-rs, DuckDB and kernel-rs about them; write `reports/golden/scale.md`.

    Needs `nox -s harness_rust`, and 4 GB in the directory of temporary files. `-- "deletion vectors"` measures only
    this table, `-- kernel-rs` only this engine.
    """
    _with_project(session)
    session.chdir("conformance")
    session.run("python", "-m", "golden_clients.scale", *session.posargs)


@nox.session
def planted_faults(session: nox.Session) -> None:
    """Print the kill table: which planted faults each rule finds."""
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "planted_faults.kill_table", *session.posargs)


@nox.session
def validators(session: nox.Session) -> None:
    """Ask other tools about the planted faults, and write `reports/validators.md`; `-- export DIR` only exports them.

    Delta Spark needs Java 17 or 21 and takes half an hour; `-- compare delta-audit repair` asks only these tools.
    """
    _with_project(session)
    what, *arguments = session.posargs or ["compare"]
    cases = Path(arguments[0] if what == "export" else session.create_tmp() + "/cases").resolve()
    session.chdir("conformance/tests")
    if what == "compare":
        shutil.rmtree(cases, ignore_errors=True)
    session.run("python", "-m", "validators.cases", str(cases))
    if what == "compare":
        if session.virtualenv.venv_backend != "none":
            session.install("delta-audit")
        session.run("python", "-m", "validators.compare", str(cases), *arguments)


@nox.session
def explain_data(session: nox.Session) -> None:
    """Write `log_examples.json` and `permissions.json`, which the installed `explain` and `requirements` show."""
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "planted_faults.explain_data")


@nox.session(name="self-mutation")
def self_mutation(session: nox.Session) -> None:
    """Plant faults that could make the ledger silent; list unnoticed ones in `reports/self-mutation.md`.

    `nox -s self-mutation -- --module ledger` plants faults of some modules; `-- --resume` continues.
    """
    _with_project(session)
    session.chdir("conformance")
    session.run("python", "-m", "self_mutation.run", *session.posargs)


@nox.session
def compare_backends(session: nox.Session) -> None:
    """Compare all engines on all planted faults and permissions and on tables of Delta Spark.

    `nox -s compare_backends -- 7 DIRECTORY` draws with the seed 7 and also compares the tables of a directory.
    """
    _with_project(session)
    tests = Path("conformance/tests")
    files = [str(tests / "spark" / name) for name in ("test_backends_agree.py", "test_spark_tables.py")]
    session.run("python", "-m", "pytest", *files, env={"DELTASPEC_COMPARE": "all"})
    directories = [str(Path(each).resolve()) for each in session.posargs[1:]]
    session.chdir(tests)
    session.run("python", "-m", "helpers.compare_backends", *session.posargs[:1], *directories)


@nox.session(name="lowest-versions")
def lowest_versions(session: nox.Session) -> None:
    """Test with the lowest versions that `pyproject.toml` allows; `-- FILE` chooses tests, else all without Spark."""
    if session.virtualenv.venv_backend == "none":
        session.error("lowest-versions installs other packages, so it does not run with --no-venv")
    _with_project(session)
    session.install(*_list_lowest_versions("html", "pytest"))
    session.run("python", "-m", "pytest", "-m", "not spark and not browser", *session.posargs)


def _list_lowest_versions(*extras: str) -> list[str]:
    """Return the lowest version of each package that the project or one of some extras needs."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    wanted = map(Requirement, texts)
    return [f"{each.name}=={bound.version}" for each in wanted for bound in each.specifier if bound.operator == ">="]


@nox.session(name="sqlglot-latest")
def sqlglot_latest(session: nox.Session) -> None:
    """Test SQL constraints with the newest sqlglot release, even if `pyproject.toml` does not allow it yet."""
    if session.virtualenv.venv_backend == "none":
        session.error("sqlglot-latest installs another release of sqlglot, so it does not run with --no-venv")
    _with_project(session)
    session.install("--upgrade", "sqlglot")
    tests = Path("conformance/tests")
    names = [
        "validation/test_row_constraints.py",
        "validation/test_expensive_values.py",
        "scenarios/test_constraints.py",
    ]
    names += ["views/table/test_row_constraints.py", "views/table/test_column_constraints.py"]
    paths = [str(tests / name) for name in ("sql", *names)]
    session.run("python", "-m", "pytest", "-m", "not spark", *paths, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Write `conformance/COVERAGE.md`: coverage by model, rules and planted faults of each chapter and revision."""
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "project.coverage_page")


@nox.session
def exit_codes(session: nox.Session) -> None:
    """Write the table of exit codes in README.md from `deltaspec.exit_codes`."""
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "project.exit_code_table")


@nox.session
def repairs(session: nox.Session) -> None:
    """Write `reports/repairs.md`: 1,000 tables damaged at random, and what `deltaspec repair` plans for each."""
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "repair_plans.campaign", *session.posargs)


@nox.session
def lake(session: nox.Session) -> None:
    """Write `reports/lake.md`: faults of tables, and the command's verdict on each."""
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "lake.page")


@nox.session
def fixes(session: nox.Session) -> None:
    """Prove the fixes of class `command`, and write `reports/fixes.md`; `nox -s fixes -- CFG005` replaces one rule."""
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "fixes", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz data, checkpoint and vector files; `nox -s fuzz -- --mutations 500 --seed 7`, or `-- --replay FILE`.

    Paths are relative to `conformance/tests`; failures are saved in `fuzz-failures` there.
    """
    _with_project(session)
    session.chdir("conformance/tests")
    session.run("python", "-m", "fuzz", *session.posargs)


@nox.session
def concurrent_writes(session: nox.Session) -> None:
    """Validate tables during concurrent writes: by a drawn writer, and for half a minute by Delta Spark.

    `nox -s concurrent_writes -- 300` lets Delta Spark write for five minutes.
    """
    _with_project(session)
    seconds = session.posargs[0] if session.posargs else "30"
    tests = Path("conformance/tests")
    files = [
        str(tests / "validation/test_concurrent_writes.py"),
        str(tests / "spark/test_concurrent_writes_on_spark.py"),
    ]
    environment = {"DELTASPEC_EXAMPLES": "10", "DELTASPEC_WRITE_SECONDS": seconds}
    session.run("python", "-m", "pytest", *files, env=environment)


@nox.session
def resume(session: nox.Session) -> None:
    """Kill twenty runs on each engine and resume them.

    `nox -s resume -- 100 8` kills a hundred runs on Spark, at steps drawn with the seed 8.
    """
    _with_project(session)
    kills, seed = (*session.posargs, *("20", "7")[len(session.posargs) :])
    tests = Path("conformance/tests")
    files = [str(tests / "validation/test_resume.py"), str(tests / "spark/test_resume_on_spark.py")]
    environment = {"DELTASPEC_KILLS": kills, "DELTASPEC_SEED": seed}
    session.run("python", "-m", "pytest", *files, env=environment)


@nox.session
def cluster(session: nox.Session) -> None:
    """Run deltaspec on a local standalone Spark cluster, and kill a worker during a run.

    Posix only. `DELTASPEC_SHIPPED=env.tar.gz nox -s cluster` uses an environment that is already packed.
    """
    _with_project(session)
    with tempfile.TemporaryDirectory() as folder:
        packed = os.environ.get("DELTASPEC_SHIPPED") or _pack_environment(session, folder)
        check = "conformance/tests/cluster/checks_cluster.py"
        session.run("python", "-m", "pytest", check, *session.posargs, env={"DELTASPEC_SHIPPED": packed})


@nox.session
def connect(session: nox.Session) -> None:
    """Validate tables through a local Spark Connect server."""
    _with_project(session, "dev,connect")
    session.run("python", "-m", "pytest", "conformance/tests/cluster/checks_connect.py", *session.posargs)


@nox.session(venv_backend="none")
def harness_rust(session: nox.Session) -> None:
    """Build the candidate `kernel_rust` with Cargo. The first time, it takes about four minutes of CPU time."""
    build = HARNESSES / "build"
    cargo = ["cargo", "build", "--release", "--locked", "--target-dir", str(build / "cargo")]
    session.run(*cargo, "--manifest-path", str(HARNESSES / "kernel_rust/Cargo.toml"), *session.posargs)
    shutil.copy2(build / "cargo/release/kernel_rust", build / "kernel_rust")


@nox.session(venv_backend="none")
def harness_go(session: nox.Session) -> None:
    """Build the example of a candidate in Go. The first time, it takes about two minutes of CPU time."""
    with session.chdir(HARNESSES / "go"):
        session.run("go", "build", "-o", "../build/go_reader", ".")


@nox.session(venv_backend="none")
def harness_java(session: nox.Session) -> None:
    """Build the candidates `kernel_java` and `delta_standalone` with Maven. Needs Java 17 or newer.

    Maven gets its own repository. In `~/.m2` it would leave packages without their jars, and Spark, which looks for
    packages there, would not start.
    """
    repository = f"-Dmaven.repo.local={HARNESSES.absolute() / 'build/maven'}"
    session.run("mvn", "--batch-mode", "--quiet", repository, "--file", str(HARNESSES / "pom.xml"), "package")


@nox.session
def engines(session: nox.Session) -> None:
    """Run every suite against all engines that can run here; `nox -s engines -- deltalake --tables 500`."""
    _with_project(session, "dev,engines")
    session.run("python", "conformance/engines/run.py", *session.posargs)


@nox.session
def releases(session: nox.Session) -> None:
    """Ask several releases of engines the same questions; `nox -s releases -- deltalake==1.5.1`.

    Writes `reports/releases.md`.
    """
    _with_project(session, "dev,engines")
    session.run("python", "conformance/engines/run_releases.py", *session.posargs)


@nox.session
def writers(session: nox.Session) -> None:
    """Let writers perform histories; `nox -s writers -- deltalake --tables 200`.

    The report of each engine and the page of all go to `reports/writers`.
    """
    _with_project(session, "dev,engines")
    session.run("python", "conformance/engines/run_writers.py", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Kill writers, let them race and fill their disks; `nox -s faults -- deltalake --kills 50`.

    The report of each engine and the table of all go to `reports/writers`.
    """
    _with_project(session, "dev,engines")
    session.run("python", "conformance/engines/run_faults.py", *session.posargs)


@nox.session
def repair_apply(session: nox.Session) -> None:
    """Kill `repair apply` and let it race with writers; `nox -s repair_apply -- --kills 50 --races 0`.

    Writes `reports/repair-apply.md`.
    """
    _with_project(session, "dev,engines")
    session.chdir("conformance/tests")
    session.run("python", "-m", "repair.apply_campaign", *session.posargs)


@nox.session
def catalog_writes(session: nox.Session) -> None:
    """Validate 300 tables of a catalog while delta-kernel-rs writes them; `nox -s catalog_writes -- --tables 30`.

    Builds the writer with Cargo, which takes about eight minutes of CPU time the first time. Writes
    `reports/catalog-writes.md`.
    """
    _with_project(session, "dev,unity")
    target = (HARNESSES / "build/cargo").resolve()
    cargo = ["cargo", "build", "--release", "--locked", "--target-dir", str(target)]
    session.run(*cargo, "--manifest-path", str(HARNESSES / "kernel_rust_catalog/Cargo.toml"), external=True)
    session.chdir("conformance/tests")
    writer = str(target / "release/kernel_rust_catalog")
    session.run("python", "-m", "catalog_server.concurrent_campaign", writer, *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Test the HTML pages in Chromium, which must be installed (on Debian: `apt-get install chromium`)."""
    _with_project(session)
    session.run("python", "-m", "pytest", "conformance/tests/browser", *session.posargs, env={"CI": "true"})


@nox.session
def matrix(session: nox.Session) -> None:
    """Build `reports/matrix` from all reports of engines; `nox -s matrix -- --compare OLD.json` marks what changed."""
    _with_project(session)
    session.run("python", "conformance/engines/publish_matrix.py", *session.posargs)


@nox.session
def mixed(session: nox.Session) -> None:
    """Let several engines write to the same tables in turn; `nox -s mixed -- reference deltalake --tables 50`."""
    _with_project(session, "dev,engines")
    session.run("python", "conformance/engines/run_mixed.py", *session.posargs)


@nox.session
def differential(session: nox.Session) -> None:
    """Let Delta Spark and the reference writer perform the same histories; `nox -s differential -- --hours 2`.

    `-- --histories 100 --seed 7` chooses histories, `--resume` continues. The report goes to `reports/differential.md`.
    """
    _with_project(session)
    session.run("python", "conformance/engines/run_differential.py", *session.posargs)


@nox.session
def selftest(session: nox.Session) -> None:
    """Show that the suites catch faulty engines; write `reports/selftest.md` and `.json`."""
    _with_project(session)
    session.run("deltaspec", "selftest", "--reports", "reports", *session.posargs)


def _pack_environment(session: nox.Session, folder: str) -> str:
    """Pack an environment of deltaspec with the commands of SPARK.md; return the path of the archive."""
    checkout = Path.cwd()
    page = (checkout / "conformance/SPARK.md").read_text("utf-8")
    (commands,) = re.findall(r"^ *(python3\.11 -m pip wheel .*?)^ *export", page, re.MULTILINE | re.DOTALL)
    script = commands.replace("python3.11", "python").replace("--wheel-dir dist .", f"--wheel-dir dist {checkout}")
    with session.chdir(folder):
        session.run("bash", "-ec", script, external=True)
    return f"{folder}/env.tar.gz"


@nox.session
def bench(session: nox.Session) -> None:
    """Measure time and memory; update `reports/bench.json` and `bench.md`: all cases, or `nox -s bench -- --case d`.

    `-- --optional` also measures 20 million files in this process, which takes minutes and 3 GB of disk.
    `-- --program deltaspec --runs 1` only prints. The peer `kernel-rs` is built with Cargo, which takes ten minutes of
    CPU time the first time.
    """
    _with_project(session)
    cargo = ["cargo", "build", "--profile", "measured", "--locked", "--example", "list_files"]
    cargo += [
        "--target-dir",
        str(HARNESSES / "build/cargo"),
        "--manifest-path",
        str(HARNESSES / "kernel_rust/Cargo.toml"),
    ]
    session.run(*cargo, external=True)
    session.chdir("conformance")
    session.run("python", "-m", "bench.run", "--output", "../reports/bench.json", *session.posargs)


@nox.session(name="bench-scale")
def bench_scale(session: nox.Session) -> None:
    """Measure logs of millions of files, also on Spark, and update their rows in `reports/bench.json` and `bench.md`.

    `nox -s bench-scale -- --millions 1 --runs 1`. Needs Linux.
    """
    _with_project(session)
    session.chdir("conformance")
    session.run("python", "-m", "bench.scale", "--output", "../reports/bench.json", *session.posargs)


@nox.session(name="bench-many-tables")
def bench_many_tables(session: nox.Session) -> None:
    """Measure 1,000 small tables in one call, also on Spark, and update `reports/bench.json` and `bench.md`."""
    _with_project(session)
    session.chdir("conformance")
    session.run("python", "-m", "bench.many_tables", "--output", "../reports/bench.json", *session.posargs)


@nox.session
def billion(session: nox.Session) -> None:
    """Measure runs on Spark over invented tables; write `reports/billion-files.md`. Takes half an hour. Needs Linux.

    `nox -s billion -- --sizes files=30` adds a size to `reports/billion-files.json`.
    """
    _with_project(session)
    session.chdir("conformance")
    output = ("--output", "../reports/billion-files.json", "--page", "../reports/billion-files.md")
    session.run("python", "-m", "bench.billion", *output, *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Check that the sdist has the golden tables and that the wheel works in an empty environment."""
    _with_project(session)
    checkout = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        session.run("python", "-m", "build", "--outdir", folder, silent=True)
        (wheel,) = Path(folder).glob("*.whl")
        (sdist,) = Path(folder).glob("*.tar.gz")
        session.run("python", "-m", "tarfile", "--extract", str(sdist), folder)
        unpacked = Path(folder) / sdist.name.removesuffix(".tar.gz")
        files = [path.relative_to(checkout) for path in (checkout / "golden-tables").rglob("*") if path.is_file()]
        missing = [path for path in files if "__pycache__" not in path.parts and not (unpacked / path).exists()]
        if missing:
            session.error(f"{len(missing)} files are missing from the sdist, for example {missing[0]}")
        session.run("python", "-m", "venv", f"{folder}/fresh")
        session.chdir(folder)
        python = f"{folder}/fresh/bin/python"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        session.run(*pip, str(wheel), external=True)
        session.run(f"{folder}/fresh/bin/deltaspec", "validate", str(unpacked / VALID_TABLE), external=True)
        session.chdir(checkout)
