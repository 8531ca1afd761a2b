"""`deltaspec.toml` and `[tool.deltaspec]`, and options that choose the exit code."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run, single_error_line
from helpers.reports import make_finding, not_checked, report
from msgspec.structs import replace

import deltaspec.validation.run
from deltaspec.commands.configuration import STORAGE_OPTIONS, TABLES, load_configuration, load_contacts
from deltaspec.commands.validate import validate
from deltaspec.errors import InvalidUsage
from deltaspec.report.exit_reason import explain_exit_code
from deltaspec.report.report_types import compute_exit_code
from deltaspec.scales import SEVERITIES
from deltaspec.validation.describe import read_estimate, table_description
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Store
from deltaspec.wire.storage.settings import StorageSettings, is_secret
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table

OPTIONS: Any = validate.configurable_options


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with one warning (its id is not a GUID), below the working directory."""
    files = TableFiles()
    metadata = metadata_action([("id", "long")])
    metadata["metaData"]["id"] = "sales"
    files.commits[0] = [protocol_action(1, 2), metadata]
    write_table(files, tmp_path / "lake" / "sales")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "lake" / "sales"


def write_configuration(text: str, name: str = "deltaspec.toml") -> Path:
    path = Path.cwd() / name
    path.write_text(text)
    return path


def load(text: str, table: str = "lake/sales") -> Any:
    return load_configuration(str(write_configuration(text)), table, OPTIONS)


def get_level(*arguments: str) -> str:
    return str(json.loads(run("validate", *arguments, "--format", "json").stdout)["level"])


def test_nearest_file_gives_defaults_and_the_command_line_wins(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_configuration('level = "log"')
    assert get_level(str(table)) == "log"
    assert get_level(str(table), "--level", "footers") == "footers"
    monkeypatch.chdir(table.parent)
    assert get_level("sales") == "log"
    (table.parent / "deltaspec.toml").write_text('level = "rows"')
    assert get_level("sales") == "rows"


def test_section_of_pyproject_is_found_past_a_project_without_one(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_configuration('[project]\nname = "x"\n[tool.deltaspec]\nlevel = "log"', "pyproject.toml")
    (table.parent / "pyproject.toml").write_text('[project]\nname = "y"')
    monkeypatch.chdir(table.parent)
    assert get_level("sales") == "log"


def test_files_in_a_table_are_not_used(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote the table could turn rules off, or send secrets of the environment to a server."""
    (table / "deltaspec.toml").write_text('exit-zero = true\nlevel = "rows"')
    (table / "day=1").mkdir()
    (table / "day=1" / "deltaspec.toml").write_text('level = "rows"')
    for directory in (table, table / "day=1", table / "_delta_log"):
        monkeypatch.chdir(directory)
        assert get_level(str(table)) == "files", f"{directory=}"
    (table.parent / "deltaspec.toml").write_text('level = "log"')
    assert get_level(str(table)) == "log"


def test_file_is_named_on_stderr(table: Path) -> None:
    path = write_configuration('level = "log"')
    assert run("validate", str(table)).stderr == f"defaults from {path}\n"


def test_example_in_the_readme_is_a_configuration(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", "hunter22")
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    example, contacts = (each.partition("```")[0] for each in readme.split("```toml\n")[1:] if "[tables." in each)
    assert load(contacts, "s3://lake/sales/orders").values == {}
    told = load_contacts(None)
    assert (told.get_owner("s3://lake/sales/a"), told.get_severity("s3://lake/sales/a")) == ("sales-data", "violation")
    assert (told.get_owner("s3://lake/web/a"), told.get_severity("s3://lake/web/a")) == ("", "warning")
    assert load(example).values == {"level": "footers", "fail-on": "warning"}
    found = load(example, "s3://lake/orders")
    assert found.values == {"level": "log", "fail-on": "warning"}
    assert found.storage_options == {"AWS_REGION": "eu-west-1", "AWS_SECRET_ACCESS_KEY": "hunter22"}


def test_file_on_the_command_line_must_exist_and_have_a_section(table: Path) -> None:
    other = write_configuration('level = "log"', "other.toml")
    assert get_level(str(table), "--config", str(other)) == "log"
    assert run("validate", str(table), "--config", "missing.toml").exit_code == 2
    write_configuration('[project]\nname = "x"', "pyproject.toml")
    assert "has no [tool.deltaspec]" in single_error_line(run("validate", str(table), "--config", "pyproject.toml"))


def test_sections_of_matching_tables_win_in_order(table: Path) -> None:
    text = 'level = "log"\nselect = ["MET"]\n[tables."*/sales"]\nlevel = "footers"\n[tables."s3://*"]\nlevel = "rows"'
    assert load(text).values == {"level": "footers", "select": ["MET"]}
    assert load(text, "s3://lake/orders/").values["level"] == "rows"
    assert load(text, "orders").values["level"] == "log"
    assert load(text + '\n[tables."s3://lake/*"]\nlevel = "files"', "s3://lake/orders").values["level"] == "files"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('levle = "log"', "deltaspec.toml: levle: unknown key (did you mean level?)"),
        ("colour = 1", "deltaspec.toml: colour: unknown key (did you mean color?)"),
        ('[tables."*"]\nfailon = "warning"', '.tables."*".failon: unknown key (did you mean fail-on?)'),
        ('output = "x.json"', "output: can be set only on the command line"),
        ("level = 'deep'", "level: 'deep' is not one of"),
        ("level = ['log']", "level: expected a string or number"),
        ("exit-zero = 'yes'", "exit-zero: expected true or false"),
        ("select = [1]", "select: expected a list of strings"),
        ("samples = 0", "samples: 0 is not in the range"),
        ("accept = ['FIL001']", "accept[0]: expected a table with the keys rule, path, reason, link, until"),
        ("accept = 'FIL001'", "accept: expected entries such as [[accept]]"),
        ("[[accept]]\nrule = 'FIL001'", "accept[0]: reason is missing"),
        ("[[accept]]\nrule = 'NOPE'\nreason = 'x'", "accept[0].rule: unknown rule 'NOPE'"),
        ("[[accept]]\nrule = 'FIL'\nreason = 'x'\nuntil = 2027-01-31T00:00:00Z", "accept[0].until: expected a date"),
        ("[[ignore]]\nrule = 'FIL001'", "ignore: names rules that are not run; accept findings with [[accept]]"),
        ("baseline = 'missing.json'", "missing.json: not found"),
        ("select = ['NOPE']", "unknown rule 'NOPE'"),
        ("tables = 1", "tables: expected sections such as"),
        ("level", "not TOML"),
        ("max-requests-per-second = 'many'", "max-requests-per-second: 'many' is not a valid number."),
        ("samples = 'many'", "samples: 'many' is not a valid integer."),
        ("x = " + "[" * 9000, "not TOML"),
        ("a = 1" + "\n" * (1 << 20), "larger than"),
        ("[storage-options]\nAWS_REGION = 1", "storage-options: expected names and strings"),
        ("[storage-options]\nREGION = 'x'", "unknown storage option 'REGION'"),
        ("[storage-options]\nAWS_REGION = '${env:NOT_SET_HERE}'", "the environment variable NOT_SET_HERE is not set"),
    ],
)
def test_faulty_file_is_one_line_and_exit_2(text: str, message: str, table: Path) -> None:
    write_configuration(text)
    result = run("validate", str(table))
    assert result.exit_code == 2
    assert message.removeprefix(".") in single_error_line(result)


@pytest.mark.parametrize("key", ["backend", "engine"])
def test_backend_may_have_its_former_name(key: str, table: Path) -> None:
    assert load(f'{key} = "auto"').values == {"backend": "auto"}
    write_configuration(f'{key} = "flink"')
    assert "invalid backend 'flink'" in single_error_line(run("validate", str(table)))


def test_faults_in_sections_of_other_tables_are_reported(table: Path) -> None:
    with pytest.raises(InvalidUsage, match="unknown key"):
        load('[tables."elsewhere"]\nlevle = "log"')


@pytest.mark.parametrize(
    "name", ["AWS_SECRET_ACCESS_KEY", "aws_session_token", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_SAS"]
)
def test_secrets_come_only_from_the_environment(name: str, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("hunter22", "x${env:SECRET_HERE}"):
        with pytest.raises(InvalidUsage) as raised:
            load(f'[storage-options]\n{name} = "{value}"')
        assert "must not contain secrets" in str(raised.value), f"{value=}"
        assert "hunter22" not in str(raised.value), f"{value=}"
    monkeypatch.setenv("SECRET_HERE", "hunter22")
    assert load(f'[storage-options]\n{name} = "${{env:SECRET_HERE}}"').storage_options == {name: "hunter22"}


@pytest.mark.parametrize("url", ["https://me:hunter22@host", "https://host/x?a=1&sig=hunter22"])
def test_urls_with_secrets_are_refused(url: str, table: Path) -> None:
    with pytest.raises(InvalidUsage) as raised:
        load(f'[storage-options]\nAWS_ENDPOINT_URL = "{url}"')
    assert "must not contain secrets" in str(raised.value)
    assert "hunter22" not in str(raised.value)


def test_variables_of_other_tables_need_not_be_set(table: Path) -> None:
    found = load('[tables."s3://*".storage-options]\nAWS_REGION = "${env:NOT_SET_HERE}"')
    assert found.storage_options == {}


def test_names_of_keys_and_files_are_not_secrets() -> None:
    names = ("AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_FEDERATED_TOKEN_FILE", "AWS_REGION")
    assert [each for each in names if is_secret(each, "https://host:8080/path?x=1")] == []


def test_storage_options_reach_the_run_and_the_estimate(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def open_recorded(uri: str, settings: StorageSettings) -> Store:
        given.append(settings.given)
        return open_store(str(table))

    for module in (deltaspec.validation.run, read_estimate, table_description):
        monkeypatch.setattr(module, "open_store", open_recorded)
    write_configuration("[storage-options]\naws_region = 'nowhere-1'")
    assert run("validate", "s3://bucket/sales").exit_code == 0
    assert run("validate", "s3://bucket/sales", "--estimate").exit_code == 0
    report = ("--format", "html", "--output", str(table.parent / "report.html"))
    assert run("validate", "s3://bucket/sales", *report).exit_code == 0
    assert given == [{"AWS_REGION": "nowhere-1"}] * 4


@pytest.mark.parametrize("severity", SEVERITIES)
def test_fail_on_a_severity_and_those_above_it(severity: Any) -> None:
    codes = [compute_exit_code(report(make_finding(severity=each)), severity) for each in SEVERITIES]
    at = SEVERITIES.index(severity)
    assert codes == [1] * (at + 1) + [0] * (len(SEVERITIES) - at - 1)


def test_exit_zero_hides_findings_but_not_what_is_incomplete() -> None:
    assert compute_exit_code(report(verdict="violations"), exit_zero=True) == 0
    assert compute_exit_code(report(verdict="violations", not_checked=[not_checked()]), exit_zero=True) == 3
    assert compute_exit_code(report(verdict="incomplete", not_checked=[not_checked()]), exit_zero=True) == 3
    stopped = replace(report(verdict="violations", not_checked=[]), stopped="the budget of 1s was used")
    assert compute_exit_code(stopped, exit_zero=True) == 3


def test_refused_table_exits_with_3_whatever_was_found() -> None:
    refused = report(make_finding(), verdict="refused")
    assert {compute_exit_code(refused, each) for each in SEVERITIES} == {3}
    assert compute_exit_code(report(verdict="refused", not_checked=[]), exit_zero=True) == 3


def test_flags_on_the_command_line_win(table: Path) -> None:
    write_configuration('fail-on = "warning"\nexit-zero = true\nquiet = true')
    assert run("validate", str(table)).exit_code == 0
    loud = run("validate", str(table), "--no-exit-zero", "--no-quiet")
    assert loud.exit_code == 1
    assert "MET001" in loud.stdout


def test_fail_on_warning_and_exit_zero_of_a_table(table: Path) -> None:
    assert run("validate", str(table)).exit_code == 0
    failed = run("validate", str(table), "--fail-on", "warning")
    assert failed.exit_code == 1
    assert "exit 1" in failed.stdout
    write_configuration('fail-on = "warning"')
    assert run("validate", str(table)).exit_code == 1
    assert run("validate", str(table), "--exit-zero").exit_code == 0


EXPIRED = '[[accept]]\nrule = "MET"\nreason = "known"\nuntil = 2020-01-31'


@pytest.mark.parametrize(
    ("options", "configuration", "verdict", "reason"),
    [
        (["--fail-on", "warning"], "", "CONFORMS  1 warning · exit 1", "--fail-on warning"),
        ([], 'fail-on = "divergence"', "CONFORMS  1 warning · exit 1", "--fail-on divergence"),
        (
            ["--fail-on", "warning"],
            EXPIRED,
            "CONFORMS  1 warning · exit 1",
            "--fail-on warning; MET was accepted until 2020-01-31",
        ),
        (
            ["--fail-on", "warning"],
            EXPIRED.replace('"MET"', '"FIL"'),
            "CONFORMS  1 warning · exit 1",
            "--fail-on warning",
        ),
        ([], EXPIRED, "CONFORMS  1 warning · exit 0", None),
        (["--select", "CDF001,MET001"], "", "INCOMPLETE  1 warning · exit 3", None),
    ],
)
def test_verdict_line_explains_the_exit_code(
    options: list[str], configuration: str, verdict: str, reason: str | None, table: Path
) -> None:
    write_configuration(configuration)
    line = verdict if reason is None else f"{verdict} ({reason})"
    shown = run("validate", str(table), *options, "--report", "json:r.json", "--report", "sarif:s.json")
    assert shown.stdout.splitlines()[-1:] == [line], shown.stderr
    assert f"{line} · report in r.json, s.json\n" in shown.stderr
    assert json.loads(Path("r.json").read_bytes())["exit_reason"] == reason
    (run_object,) = json.loads(Path("s.json").read_bytes())["runs"]
    described = run_object["invocations"][0]["exitCodeDescription"]
    assert described == verdict.partition(" ")[0].lower() + (f" ({reason})" if reason else "")
    for output_format in ("markdown", "github"):
        assert line in run("validate", str(table), *options, "--format", output_format).stdout


def test_summary_explains_the_exit_code(table: Path) -> None:
    result = run("validate", str(table), f"{table.parent}/{table.name[0]}*", "--fail-on", "warning")
    assert result.stdout.splitlines()[-1] == "1 table: 1 conforms · exit 1 (--fail-on warning)"
    summary = json.loads(run("validate", f"{table.parent}/{table.name[0]}*", "--exit-zero", "--format", "json").stdout)
    assert (summary["tables"][0]["exit_code"], summary["tables"][0]["exit_reason"]) == (0, None)


def test_exit_zero_is_the_reason_for_0_and_what_was_not_checked_for_3() -> None:
    found = report(make_finding(), verdict="violations")
    assert explain_exit_code(found, 0, "violation") == "--exit-zero"
    assert explain_exit_code(found, 1, "warning") is None
    assert explain_exit_code(found, 3, "violation") == "--exit-zero; not everything was checked"
    assert explain_exit_code(replace(found, stopped="interrupted"), 130, "violation") == "interrupted"


def test_quiet_prints_only_the_verdict(table: Path) -> None:
    result = run("validate", str(table), "-q")
    assert result.stdout.splitlines() == ["CONFORMS  1 warning · exit 0"]
    assert result.stderr == ""


def test_every_option_is_configurable_or_belongs_to_one_run() -> None:
    assert {"level", "history", "revision", "backend", "fail-on", "select", "ignore", "quiet"} <= OPTIONS.keys()
    assert not {"output", "report", "config", "resume", STORAGE_OPTIONS, TABLES} & OPTIONS.keys()
