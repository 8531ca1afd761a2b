"""The harnesses in Rust and Java agree with the messages and with the versions that they name. Nothing is built."""

import re
import tomllib
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import msgspec
import pytest

from deltaspec.candidates import messages
from deltaspec.protocol.features.catalog_managed import CatalogAnswer, RatifiedCommit
from deltaspec.protocol.features.table_features import FEATURES

HARNESSES = Path(__file__).parents[2] / "harnesses"
RUST = HARNESSES / "kernel_rust"
JAVA_MODULES = ("java_common", "kernel_java", "delta_standalone")
OUTER_OPERATIONS = {"hello", "bye"}
"""Operations of every candidate, which `ops` does not name."""
POM = {"pom": "http://maven.apache.org/POM/4.0.0"}

RUST_MESSAGES: dict[str, type[msgspec.Struct]] = {
    "SnapshotRequest": messages.Snapshot,
    "ScanRequest": messages.Scan,
    "ChangesRequest": messages.Changes,
    "ApplyRequest": messages.Apply,
    "ApplyAnswer": messages.ApplyAnswer,
    "Catalog": CatalogAnswer,
    "RatifiedCommit": RatifiedCommit,
    "Capabilities": messages.Capabilities,
    "FileEntry": messages.FileEntry,
    "SnapshotAnswer": messages.SnapshotAnswer,
    "RowsAnswer": messages.RowsAnswer,
}


def test_rust_declares_the_operations_that_it_answers() -> None:
    answered = set(re.findall(r'^ *"(\w+)" =>', (RUST / "src/main.rs").read_text(), re.MULTILINE))
    (declared,) = re.findall(r"\bops: &\[(.*?)\]", (RUST / "src/capabilities.rs").read_text())
    assert OUTER_OPERATIONS < answered <= set(get_args(messages.Operation))
    assert set(re.findall(r"\w+", declared)) == answered - OUTER_OPERATIONS


@pytest.mark.parametrize("name", ["kernel_java", "delta_standalone"])
def test_java_offers_operations_of_candidates(name: str) -> None:
    (main,) = (HARNESSES / name).rglob("Main.java")
    offered = set(re.findall(r'\.offer\("(\w+)"', main.read_text()))
    assert offered
    assert offered <= set(get_args(messages.Operation)) - OUTER_OPERATIONS


@pytest.mark.parametrize("name", RUST_MESSAGES)
def test_rust_fields_are_fields_of_the_message(name: str) -> None:
    (body,) = re.findall(rf"pub struct {name}\b.*?\{{(.*?)\n\}}", (RUST / "src/messages.rs").read_text(), re.DOTALL)
    fields = set(re.findall(r"pub (\w+):", body))
    assert fields
    assert fields <= {each.name for each in msgspec.structs.fields(RUST_MESSAGES[name])}


def test_rust_crates_are_pinned() -> None:
    manifest = tomllib.loads((RUST / "Cargo.toml").read_text())
    locked = {each["name"]: each["version"] for each in tomllib.loads((RUST / "Cargo.lock").read_text())["package"]}
    pinned = manifest["dependencies"]["delta_kernel"]["version"].removeprefix("=")
    assert manifest["dependencies"]["delta_kernel_default_engine"] == f"={pinned}"
    assert locked["delta_kernel"] == locked["delta_kernel_default_engine"] == pinned
    assert f'KERNEL_VERSION: &str = "{pinned}"' in (RUST / "src/capabilities.rs").read_text()
    assert pinned in (RUST / "README.md").read_text()


@pytest.mark.parametrize("folder", [".", *JAVA_MODULES])
def test_java_artifacts_are_pinned(folder: str) -> None:
    properties = {**_list_properties("."), **_list_properties(folder), "project.version": "0.0"}
    artifacts = [*_find_all(folder, "dependency"), *_find_all(folder, "plugin")]
    managed = {_get(each, "artifactId") for each in _find_all(".", "pluginManagement//pom:plugin")}
    assert artifacts
    unpinned = {}
    for artifact in artifacts:
        name, version = _get(artifact, "artifactId"), _get(artifact, "version")
        is_managed = name in managed if folder != "." else _is_of_jackson_bom(artifact)
        if not is_managed and not re.fullmatch(r"\d+(\.\d+)+", properties.get(version.strip("${}"), version)):
            unpinned[name] = version
    assert unpinned == {}


@pytest.mark.parametrize(
    ("name", "version"), [("kernel_java", "delta.version"), ("delta_standalone", "standalone.version")]
)
def test_page_of_a_java_harness_names_the_version_of_the_library(name: str, version: str) -> None:
    assert _list_properties(name)[version] in (HARNESSES / name / "README.md").read_text()


def test_every_java_module_is_built() -> None:
    assert tuple(each.text for each in _find_all(".", "module")) == JAVA_MODULES


def test_go_answers_and_declares_what_the_messages_have() -> None:
    main, log = ((HARNESSES / "go" / name).read_text() for name in ("main.go", "log.go"))
    answered = set(re.findall(r'^\tcase "(\w+)":', main, re.MULTILINE))
    (operations,) = re.findall(r'"ops": +\[\]string\{(.*?)\}', main)
    assert set(re.findall(r"\w+", operations)) == answered - OUTER_OPERATIONS
    (capabilities,) = re.findall(r"capabilities = .*?\{\n(.*?)\n\}", main, re.DOTALL)
    fields = {each.name for each in msgspec.structs.fields(messages.Capabilities)}
    assert set(re.findall(r'^\t"(\w+)":', capabilities, re.MULTILINE)) <= fields
    (features,) = re.findall(r"readerFeatures = \[\]string\{(.*?)\}", log)
    assert set(re.findall(r"\w+", features)) <= set(FEATURES)


def test_page_of_the_go_harness_names_the_version_of_arrow() -> None:
    (version,) = re.findall(r"arrow-go/v18 v([\d.]+)", (HARNESSES / "go/go.mod").read_text())
    assert version in (HARNESSES / "go/README.md").read_text()


def _find_all(folder: str, path: str) -> list[ElementTree.Element]:
    return ElementTree.parse(HARNESSES / folder / "pom.xml").getroot().findall(f".//pom:{path}", POM)


def _list_properties(folder: str) -> dict[str, str]:
    return {each.tag.rpartition("}")[2]: str(each.text) for each in _find_all(folder, "properties/*")}


def _is_of_jackson_bom(artifact: ElementTree.Element) -> bool:
    return _get(artifact, "groupId").startswith("com.fasterxml.jackson")


def _get(artifact: ElementTree.Element, name: str) -> str:
    return artifact.findtext(f"pom:{name}", "", POM)
