"""`deltaspec overview` and `--report html:DIR/`: a site whose links work and that says what the reports say."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run, single_error_line
from helpers.lake_reports import HOSTILE, LAKE, build_report, save_lake, save_night
from helpers.pages import parse_page
from helpers.raw_logs import RawLog

from deltaspec.lake.site import HISTORY
from deltaspec.pages import renderer

POLICY = (
    "default-src 'none'; style-src 'self' file:; script-src 'self' file:; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


class Text(HTMLParser):
    """Collects the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def read_text(page: Path) -> str:
    parser = Text()
    parser.feed(page.read_text("utf-8"))
    return " ".join(" ".join(parser.parts).split())


def read_list(site: Path) -> dict[str, Any]:
    script = (site / "assets/tables.js").read_text("utf-8")
    data: dict[str, Any] = json.loads(script.removeprefix("showTables(").removesuffix(");\n"))
    return data


def build(reports: Path, site: Path, *options: object) -> str:
    result = run("overview", reports, "--output", site, *options)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    save_lake(folder / "reports")
    build(folder / "reports", folder / "site")
    return folder / "site"


def test_first_page_counts_tables_and_says_what_changed(site: Path) -> None:
    text = read_text(site / "index.html")
    assert "4 with violations 1 incomplete 7 conform" in text
    assert f"{LAKE}/sales/table-0000 FIL007 partition-column-missing violation +1" in text
    assert "Gone: 3 changes" in text
    assert "1 table no permission to read DAT001" in text
    assert "76.2 KiB in 24 live files" in text
    assert text.index("FIL007 partition-column-missing") < text.index("CRC007 all-files-differ")


def test_every_link_leads_to_a_file(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) == 2 + 12 + 4
    broken = []
    for page in pages:
        for tag, attributes in parse_page(page.read_text("utf-8")).tags:
            target = attributes.get("href") or attributes.get("src") or ""
            if tag == "a" and target.startswith("https://github.com/delta-io/"):
                continue
            path = target.partition("#")[0]
            if path and path != "data:," and not (page.parent / path).is_file():
                broken.append(f"{page}: {target}")
    assert broken == []


def test_pages_have_no_inline_script_and_a_strict_policy(site: Path) -> None:
    wrong = []
    for page in site.rglob("*.html"):
        tags = parse_page(page.read_text("utf-8")).tags
        policies = [found["content"] for tag, found in tags if found.get("http-equiv") == "Content-Security-Policy"]
        inline = [tag for tag, found in tags if tag in ("script", "style") and "src" not in found]
        handlers = [name for _, found in tags for name in found if name.startswith("on") or name == "style"]
        wrong += [page] if policies != [POLICY] or inline or handlers else []
    assert wrong == []


def test_page_of_a_table_has_its_history_and_links_to_rules(site: Path) -> None:
    (page,) = (site / "tables").glob("sales.table-0000-*.html")
    html = page.read_text("utf-8")
    assert html.count('class="night ') == 3
    assert '<a href="../rules/FIL007.html">FIL007</a>' in html
    assert "1 new" in html
    text = read_text(page)
    assert text.index("Findings") < text.index("What was not checked")
    (other,) = (site / "tables").glob("web.table-0001-*.html")
    assert "Gone since the report before: PQT050 2 ." in read_text(other)


def test_page_of_a_rule_explains_it_and_lists_tables(site: Path) -> None:
    text = read_text(site / "rules/FIL007.html")
    assert "4 tables with findings" in text
    assert "readers return wrong rows, or lose rows" in text
    assert "must" in text
    assert f"{LAKE}/sales/table-0006" in text
    assert "Conforms" in text
    assert "1 table in which the rule was not decided completely" in read_text(site / "rules/DAT001.html")


def test_list_has_every_table_once_worst_first(site: Path) -> None:
    data = read_list(site)
    rows = data["tables"]
    assert len({row[0] for row in rows}) == 12
    assert [data["verdicts"][row[2]] for row in rows] == ["violations"] * 4 + ["incomplete"] + ["conforms"] * 7
    assert {row[12] for row in rows} == {"cvv", "ccc", "iii"}


def test_no_text_of_a_table_becomes_markup(tmp_path: Path) -> None:
    save_night(tmp_path / "r", "2026-11-29", {"x": build_report(HOSTILE, {"FIL007": 1})})
    build(tmp_path / "r", tmp_path / "s")
    for page in (tmp_path / "s").rglob("*.html"):
        html = page.read_text("utf-8")
        assert not {"img", "iframe", "object", "base"} & {tag for tag, _ in parse_page(html).tags}, page
        assert "\u202e" not in html, page
        assert "<script>" not in html, page
    assert "\u202e" not in (tmp_path / "s/assets/tables.js").read_text("utf-8")


def test_next_build_needs_only_the_new_reports(tmp_path: Path) -> None:
    save_lake(tmp_path / "r")
    for night in sorted((tmp_path / "r").iterdir()):
        build(night, tmp_path / "s")
    build(tmp_path / "r", tmp_path / "complete")
    one, other = (json.loads((tmp_path / name / HISTORY).read_bytes()) for name in ("s", "complete"))
    assert one == other
    pages = [(tmp_path / name / "index.html").read_text("utf-8") for name in ("s", "complete")]
    assert pages[0] == pages[1]


def test_table_without_a_new_report_keeps_its_page_and_is_late(tmp_path: Path) -> None:
    first = {"a": build_report("s3://lake/a", {"FIL007": 1}), "b": build_report("s3://lake/b", {})}
    save_night(tmp_path / "r", "2026-11-28", first)
    build(tmp_path / "r", tmp_path / "s")
    (page,) = (tmp_path / "s/tables").glob("lake.a-*.html")
    before = page.read_text("utf-8")
    night = save_night(tmp_path / "r", "2026-11-29", {"b": first["b"]})
    build(night, tmp_path / "s")
    assert page.read_text("utf-8") == before
    text = read_text(tmp_path / "s/index.html")
    assert "1 table without a report of the last night" in text
    assert "violations late" in text


def test_configuration_names_owners(tmp_path: Path) -> None:
    save_lake(tmp_path / "r", tables=4)
    config = tmp_path / "deltaspec.toml"
    config.write_text('owner = "platform"\n[tables."s3://lake/web/*"]\nowner = "<web>"\n')
    build(tmp_path / "r", tmp_path / "s", "--config", config)
    data = read_list(tmp_path / "s")
    assert {row[0].split("/")[3]: data["owners"][row[7]] for row in data["tables"]} == {
        "sales": "platform",
        "web": "<web>",
    }


def test_summary_adds_tables_without_a_report(tmp_path: Path) -> None:
    sound = RawLog("plain").write(tmp_path / "lake/sound")
    reports = tmp_path / "reports"
    result = run(
        *(
            "validate",
            sound,
            tmp_path / "lake/gone",
            "--level",
            "log",
            "--report",
            f"json:{reports}/",
            "--format",
            "json",
        ),
        *("--output", reports / "summary.json"),
    )
    assert result.exit_code == 2
    build(reports, tmp_path / "s")
    text = read_text(tmp_path / "s/index.html")
    assert "1 unreadable 1 conforms" in text
    assert "unreadable: no such file or directory" in text
    (page,) = (tmp_path / "s/tables").glob("lake.gone-*.html")
    assert "UNREADABLE no such file or directory" in read_text(page)


def test_files_that_are_no_reports_are_named(tmp_path: Path) -> None:
    save_lake(tmp_path / "r", tables=2)
    (tmp_path / "r/cut.json").write_text('{"report_version": 2, "table":')
    result = run("overview", tmp_path / "r", "--output", tmp_path / "s")
    assert result.exit_code == 0
    assert "deltaspec: 1 JSON file without a complete report: /" in result.stderr
    assert result.stderr.endswith("/r/cut.json\n"), "long paths are shown shortened"
    assert "1 JSON file without a complete report" in read_text(tmp_path / "s/index.html")
    result = run("overview", tmp_path / "r/cut.json", "--output", tmp_path / "s")
    assert "is no JSON report of deltaspec validate" in single_error_line(result)


def test_folder_without_reports_is_refused_and_the_site_survives(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    result = run("overview", tmp_path / "r", "--output", tmp_path / "s")
    assert result.exit_code == 2
    assert "no JSON report" in single_error_line(result)
    assert not (tmp_path / "s").exists()


def test_report_without_a_date_belongs_to_the_night_in_which_it_was_written(tmp_path: Path) -> None:
    build_report("s3://lake/a", {}).save(tmp_path / "a.json")
    os.utime(tmp_path / "a.json", (86_400 * 3, 86_400 * 3))
    build(tmp_path / "a.json", tmp_path / "s")
    assert read_list(tmp_path / "s")["days"] == ["1970-01-04"]


def test_validate_writes_and_continues_a_site(tmp_path: Path) -> None:
    broken = RawLog("plain")
    table = broken.write(tmp_path / "lake/t")
    other = RawLog("plain").write(tmp_path / "lake/other")
    site = tmp_path / "out/site"
    result = run("validate", table, other, tmp_path / "lake/gone", "--level", "log", "--report", f"html:{site}/")
    assert result.exit_code == 2
    assert "1 unreadable 2 conform" in read_text(site / "index.html")
    history = json.loads((site / HISTORY).read_bytes())
    assert set(history["tables"]) == {str(tmp_path / "lake" / name) for name in ("t", "other", "gone")}
    single = run("validate", table, "--level", "log", "--report", f"html:{site}/", "--quiet")
    assert single.exit_code == 0
    assert json.loads((site / HISTORY).read_bytes())["tables"].keys() == history["tables"].keys()
    assert len(re.findall('<tr><th scope="row"', (site / "index.html").read_text("utf-8"))) == 3


def test_site_is_not_written_into_a_table_or_over_a_file(tmp_path: Path) -> None:
    table = RawLog("plain").write(tmp_path / "t")
    for option in (f"html:{table}/site/", f"html:{table}/"):
        assert run("validate", table, table, "--report", option).exit_code == 2, option
    assert run("overview", table, "--output", table / "x").exit_code == 2
    (tmp_path / "file").write_text("x")
    result = run("validate", table, "--report", f"html:{tmp_path}/file/")
    assert "is not a directory" in single_error_line(result)
    assert sorted(path.name for path in table.iterdir()) == sorted({path.name for path in table.iterdir()} - {"site"})


def test_missing_jinja_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_lake(tmp_path / "r", tables=1)
    monkeypatch.setattr(renderer, "find_spec", lambda _: None)
    result = run("overview", tmp_path / "r", "--output", tmp_path / "s")
    assert "HTML needs Jinja" in single_error_line(result)
