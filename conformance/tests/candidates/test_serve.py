"""A Python engine answers alike in its own process and in this one."""

import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from candidates import engines

from deltaspec.candidates import publish_schemas, serve
from deltaspec.candidates.host import Candidate, Died, Host, Refused
from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.messages import Apply, At, Scan, Snapshot
from deltaspec.candidates.process import Launch
from deltaspec.candidates.write_operations import Append

ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parent)}
MODULE = "deltaspec.candidates.serve"


@pytest.fixture(scope="module", params=["process", "in-process"])
def candidate(request: pytest.FixtureRequest) -> Iterator[Candidate]:
    if request.param == "process":
        with Host(Launch((sys.executable, "-m", MODULE, "engines:Engine"), ENVIRONMENT)) as host:
            yield host
    else:
        with InProcess(engines.Engine()) as candidate:
            yield candidate


def scan(candidate: Candidate, table: str, **fields: Any) -> Any:
    return candidate.scan(Scan(table=table, out="", **fields))


def test_hello_derives_operations_from_methods(candidate: Candidate) -> None:
    found = candidate.capabilities
    assert (found.name, found.language, found.ops) == ("test", "python", ("snapshot", "scan"))
    assert found.reader_features == ("deletionVectors",)


def test_snapshot_is_answered(candidate: Candidate) -> None:
    found = candidate.snapshot(Snapshot(table="/t", want=("transactions",)))
    assert (found.version, found.protocol, found.transactions) == (3, {"minReaderVersion": 1}, {"app": 7})
    assert found.files is None


def test_arguments_reach_the_engine(candidate: Candidate) -> None:
    request = Snapshot(table="/arguments", at=At(timestamp_ms=5), want=("files",), app_ids=("a",))
    expected = {"at": {"timestamp_ms": 5}, "want": ["files"], "app_ids": ["a"]}
    assert candidate.snapshot(request).metadata == expected
    assert candidate.snapshot(Snapshot(table="/arguments")).metadata == {"at": None, "want": [], "app_ids": []}
    rows = scan(candidate, "/arguments", at=At(version=0), columns=(("a", "b"),), predicate="a = 1", row_ids=True)
    expected = {"at": {"version": 0}, "columns": [["a", "b"]], "predicate": "a = 1", "tree": None, "row_ids": True}
    assert rows.table.to_pylist() == [{"arguments": repr(expected)}]
    rows = scan(candidate, "/arguments")
    assert "'columns': None" in rows.table["arguments"][0].as_py()


@pytest.mark.parametrize("table", ["/t", "/reader", "/batch", "/stream", "/facts", "/progress"])
def test_rows_of_every_kind_are_answered(candidate: Candidate, table: str) -> None:
    found = scan(candidate, table)
    assert found.table.to_pylist() == engines.TABLE.to_pylist()
    assert found.num_rows == 3
    facts = (2, 1, "prunes") if table == "/facts" else (None, None, None)
    assert (found.files_read, found.files_skipped, found.predicate) == facts


def test_dictionaries_that_differ_between_batches_are_unified(candidate: Candidate) -> None:
    assert scan(candidate, "/two-dictionaries").table["d"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize(("table", "number"), [("/count", 5), ("/no-columns", 3)])
def test_count_has_no_columns(candidate: Candidate, table: str, number: int) -> None:
    found = scan(candidate, table, columns=())
    assert (found.num_rows, found.table.num_columns) == (number, 0)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("/refused", ("unsupported", "no vectors", "E1", "snapshot", ("f",), "", True)),
        ("/caused", ("io", "no disk", "", None, (), "OSError", False)),
        ("/defect", ("internal", "ZeroDivisionError", "", None, (), "ZeroDivisionError", False)),
        ("/panic", ("internal", "index out of bounds", "", None, (), "Panic", False)),
    ],
)
def test_exceptions_are_refusals(candidate: Candidate, table: str, expected: tuple[Any, ...]) -> None:
    with pytest.raises(Refused) as caught:
        scan(candidate, table)
    found = caught.value.refusal
    fields = (found.category, found.message, found.code, found.phase, found.features, found.native, found.retryable)
    assert fields == expected
    assert scan(candidate, "/t").num_rows == 3


def test_rows_that_are_not_arrow_are_a_defect_of_the_engine(candidate: Candidate) -> None:
    with pytest.raises(Refused) as caught:
        scan(candidate, "/no-arrow")
    assert caught.value.refusal.category == "internal"


def test_missing_method_is_an_unsupported_operation(candidate: Candidate) -> None:
    with pytest.raises(Refused) as caught:
        candidate.apply(Apply(table="/t", operation=Append(rows="/rows")))
    assert (caught.value.refusal.category, caught.value.refusal.code) == ("unsupported", "operation")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("/bad-utf8", "not valid Arrow data: .*UTF8"),
        ("/wrong-count", "num_rows.* 4.* 3 rows"),
        ("/unknown-category", "Invalid enum value 'strange'"),
    ],
)
def test_invalid_rows_are_a_harness_error(candidate: Candidate, table: str, message: str) -> None:
    with pytest.raises(Died, match=message) as caught:
        scan(candidate, table)
    assert caught.value.reason == "harness"
    assert scan(candidate, "/t").num_rows == 3


@pytest.mark.parametrize("table", ["/wrong-type", "/nothing"])
def test_answer_of_wrong_type_is_a_harness_error(candidate: Candidate, table: str) -> None:
    with pytest.raises(Died, match="Expected `") as caught:
        candidate.snapshot(Snapshot(table=table))
    assert caught.value.reason == "harness"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("/nan", "Out of range float values are not JSON compliant"),
        ("/bytes", "Object of type bytes is not JSON serializable"),
        ("/large", "the answer has 8,388,"),
    ],
)
def test_answer_that_cannot_be_sent_is_a_defect_of_the_engine(table: str, message: str) -> None:
    answers = ask({"op": "snapshot", "table": table})
    assert answers[0]["error"]["category"] == "internal"
    assert message in answers[0]["error"]["message"]


def test_lone_surrogate_is_replaced() -> None:
    assert ask({"op": "snapshot", "table": "/surrogate"})[0]["ok"]["domains"] == {"d": "?"}


def test_progress_has_the_seq_of_its_request(tmp_path: Path) -> None:
    progress, answer = ask({"op": "scan", "table": "/progress", "out": str(tmp_path / "rows.arrow")})
    assert progress == {"seq": 0, "progress": {"note": "half", "done": 1, "total": 2}}
    assert (answer["seq"], answer["ok"]["num_rows"]) == (0, 3)
    serve.report_progress("nobody listens")


def test_lines_that_are_no_requests_are_refused() -> None:
    output = io.BytesIO()
    serve.serve(engines.Engine(), io.BytesIO(b'{"seq": 1\n[]\n{"seq": 3}\n'), output)
    found = [json.loads(line) for line in output.getvalue().splitlines()]
    assert [each["seq"] for each in found] == [None, None, 3]
    assert [each["error"]["category"] for each in found] == ["invalid-request", "invalid-request", "unsupported"]


def test_unknown_version_of_the_protocol_is_refused() -> None:
    assert ask({"op": "hello", "protocol": [2, 3]})[0]["error"]["category"] == "unsupported"


def test_inherited_protocol_methods_are_not_operations() -> None:
    assert InProcess(engines.OnlyHello()).capabilities.ops == ()


def test_engine_without_name_is_a_harness_error() -> None:
    with pytest.raises(Died, match="missing required field `name`"):
        InProcess(engines.NoName())


def test_exit_of_the_engine_is_a_crash() -> None:
    host = Host(Launch((sys.executable, "-m", MODULE, "engines:Engine"), ENVIRONMENT))
    with host, pytest.raises(Died, match="crash: exited with code 9 during scan; fails alone too"):
        scan(host, "/exit")


@pytest.mark.parametrize(
    ("name", "message"),
    [("engines:Nothing", "no attribute 'Nothing'"), ("nowhere:Engine", "No module named 'nowhere'")],
)
def test_engine_that_cannot_be_loaded_is_a_crash_with_the_reason(name: str, message: str) -> None:
    with pytest.raises(Died, match="exited with code 2 during hello") as caught:
        Host(Launch((sys.executable, "-m", MODULE, name), ENVIRONMENT))
    assert f"cannot load {name}: " in caught.value.stderr
    assert message in caught.value.stderr


def test_copy_of_the_file_serves_engines_that_import_it(tmp_path: Path) -> None:
    shutil.copyfile(str(serve.__file__), tmp_path / "serve.py")
    text = """
        from serve import EngineError

        class Engine:
            def hello(self):
                return {"name": "copy", "version": "1"}

            def scan(self, table, **arguments):
                raise EngineError("corrupt", "no metadata")
    """
    (tmp_path / "acme.py").write_text(text.replace("\n        ", "\n"))
    host = Host(Launch((sys.executable, str(tmp_path / "serve.py"), "acme:Engine")))
    with host, pytest.raises(Refused, match="refused as corrupt: no metadata"):
        scan(host, "/t")


def test_messages_satisfy_the_published_schemas(tmp_path: Path) -> None:
    requests = [
        {"op": "hello", "protocol": [1], "host": "deltaspec", "tmp": "/tmp"},
        {"op": "snapshot", "table": "/t", "at": {"version": 1}, "want": ["files"]},
        {"op": "scan", "table": "/facts", "out": str(tmp_path / "rows.arrow"), "columns": [["id"]]},
        {"op": "scan", "table": "/refused", "out": str(tmp_path / "rows.arrow")},
        {"op": "bye"},
    ]
    answers = ask(*requests)
    assert [list(each)[1] for each in answers] == ["ok", "ok", "ok", "error", "ok"]
    for number, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        validate(f"{request['op']}.request", {"seq": number, **request})
        validate("answer", answer)
        if "ok" in answer and request["op"] != "bye":
            validate(f"{request['op']}.answer", answer["ok"])
    with pytest.raises(jsonschema.ValidationError):
        validate("answer", {"seq": 1, "ok": {}, "error": {"category": "io"}})
    with pytest.raises(jsonschema.ValidationError):
        validate("scan.request", {"seq": 1, "op": "snapshot", "table": "/t", "out": "/o"})


def test_published_schemas_are_up_to_date() -> None:
    found = {path.name: path.read_text("utf-8") for path in publish_schemas.SCHEMAS.iterdir()}
    assert found == publish_schemas.render_schemas(), "run `python -m deltaspec.candidates.publish_schemas`"


@pytest.mark.parametrize("name", sorted(publish_schemas.SCHEMA_TYPES))
def test_published_schema_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(publish_schemas.build_json_schema(name))


def validate(name: str, message: Any) -> None:
    schema = json.loads((publish_schemas.SCHEMAS / f"{name}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(message)


def ask(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines with which `serve` answers; the requests get the numbers from 0 as `seq`."""
    lines = "".join(json.dumps({"seq": number, **request}) + "\n" for number, request in enumerate(requests))
    output = io.BytesIO()
    serve.serve(engines.Engine(), io.BytesIO(lines.encode()), output)
    return [json.loads(line) for line in output.getvalue().splitlines()]
