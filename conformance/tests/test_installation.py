"""An installed deltaspec knows the checkout that pip installed it from, and names what its user can run."""

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from deltaspec import installation
from deltaspec.golden.corpus import find_corpus
from deltaspec.installation import build_install_command, build_nox_command, find_checkout


class FakeDistribution:
    """A distribution with this text in `direct_url.json`."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.text


@pytest.fixture
def copy_of_site_packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """As after `pip install`: the modules are not in a checkout."""
    monkeypatch.setattr(installation, "get_own_checkout", lambda: None)
    find_checkout.cache_clear()
    yield monkeypatch
    find_checkout.cache_clear()


def install_from(patch: pytest.MonkeyPatch, url: str | None) -> None:
    text = None if url is None else json.dumps({"url": url, "dir_info": {}})
    patch.setattr(metadata, "distribution", lambda _: FakeDistribution(text))


def test_modules_of_a_checkout_are_editable() -> None:
    root = Path(__file__).parents[2]
    assert find_checkout() == root
    assert build_install_command("spark") == f"pip install -e '{root}[spark]'"
    assert build_nox_command("harness_java") == f"cd {root} && nox -s harness_java"


def test_pip_install_of_a_directory_is_remembered(copy_of_site_packages: pytest.MonkeyPatch, tmp_path: Path) -> None:
    checkout = tmp_path / "my checkout"
    (checkout / "golden-tables").mkdir(parents=True)
    (checkout / "golden-tables" / "manifest.json").write_text("{}")
    install_from(copy_of_site_packages, checkout.as_uri())
    assert find_corpus() == checkout / "golden-tables"
    assert build_install_command("html") == f"pip install '{checkout}[html]'"
    assert build_nox_command("harness_rust") == f"cd '{checkout}' && nox -s harness_rust"


@pytest.mark.parametrize("url", [None, "file:///no/longer/there", "https://git.example/deltaspec"])
def test_without_a_checkout_the_published_name_is_used(copy_of_site_packages: pytest.MonkeyPatch, url: str) -> None:
    install_from(copy_of_site_packages, url)
    assert find_checkout() is None
    assert build_install_command("spark") == "pip install 'deltaspec[spark]'"
    assert build_nox_command("harness_java") == "in a checkout of deltaspec: nox -s harness_java"
