"""The harnesses in Rust and Java agree with the messages and with the versions that they name. Nothing is built."""

import re
import tomllib
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import msgspec
import pytest

from deltaspec.candidates import messages

HARNESSES = Path(__file__).parents[2] / "harnesses"
RUST = HARNESSES / "kernel_rust"
JAVA_SOURCES = {
    "kernel_java": HARNESSES / "kernel_java/src/main/java/deltaspec/harness",
    "delta_standalone": HARNESSES / "delta_standalone/src/main/java/deltaspec/standalone",
}
OUTER_OPERATIONS = {"hello", "bye"}
"""Operations of every candidate, which `ops` does not name."""
POM = {"pom": "http://maven.apache.org/POM/4.0.0"}

RUST_MESSAGES: dict[str, type[msgspec.Struct]] = {
    "SnapshotRequest": messages.Snapshot,
    "ScanRequest": messages.Scan,
    "ChangesRequest": messages.Changes,
    "Capabilities": messages.Capabilities,
    "FileEntry": messages.FileEntry,
    "SnapshotAnswer": messages.SnapshotAnswer,
    "RowsAnswer": messages.RowsAnswer,
}


@pytest.mark.parametrize(
    ("dispatch", "capabilities"),
    [
        (RUST / "src/main.rs", RUST / "src/capabilities.rs"),
        *((sources / "Main.java", sources / "Capabilities.java") for sources in JAVA_SOURCES.values()),
    ],
)
def test_answered_operations_are_declared_operations(dispatch: Path, capabilities: Path) -> None:
    answered = set(re.findall(r'^ *(?:case )?"(\w+)" (?:=>|->)', dispatch.read_text(), re.MULTILINE))
    (declared,) = re.findall(r'\bops(?:: &\[|", List.of\()(.*?)[\])]', capabilities.read_text())
    assert OUTER_OPERATIONS < answered <= set(get_args(messages.Operation))
    assert set(re.findall(r"\w+", declared)) == answered - OUTER_OPERATIONS


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


@pytest.mark.parametrize(
    ("name", "version"), [("kernel_java", "delta.version"), ("delta_standalone", "standalone.version")]
)
def test_java_artifacts_are_pinned(name: str, version: str) -> None:
    pom = ElementTree.parse(HARNESSES / name / "pom.xml").getroot()
    properties = {each.tag.rpartition("}")[2]: str(each.text) for each in pom.findall("pom:properties/*", POM)}
    artifacts = [*pom.iterfind(".//pom:dependency", POM), *pom.iterfind(".//pom:plugin", POM)]
    versions = [artifact.findtext("pom:version", "", POM) for artifact in artifacts]
    resolved = [properties.get(each.strip("${}"), each) for each in versions]
    assert artifacts
    assert all(re.fullmatch(r"\d+(\.\d+)+", each) for each in resolved)
    assert properties[version] in (HARNESSES / name / "README.md").read_text()
