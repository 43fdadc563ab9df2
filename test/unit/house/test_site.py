"""The site that `make docs` builds has every page and every public name."""

import re
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import tenon
from tenon.test.unit.house.doc_blocks import DOCUMENTS
from tenon.test.unit.library import ROOT

API = sorted((ROOT / "docs" / "api").glob("*.md"))

SHOWN = [name for page in API for name in re.findall(r"^::: (.+)$", page.read_text(encoding="utf-8"), re.M)]
"""What the pages of the API show: a name, or all public names of a module."""


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = spec_from_file_location("build_site", ROOT / "docs" / "build_site.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_navigation_names_every_page_once():
    text = (ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"^ +- (\S+\.md)$", text, re.MULTILINE)
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *API]
    assert sorted(named) == sorted(page.relative_to(ROOT).as_posix() for page in pages)


def test_every_public_name_is_shown_once():
    names = [f"tenon.{name}" for name in tenon.__all__]
    modules = [
        "tenon.numpy",
        "tenon.numpy.linalg",
        "tenon.nn",
        "tenon.onnx",
        "tenon.random",
        "tenon.backends.interface",
    ]
    others = ["tenon.passes.instruments.interface.PassInstrument"]
    assert sorted(SHOWN) == sorted(names + modules + others)


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown_is_there(name: str):
    parent, _, last = name.rpartition(".")
    assert hasattr(import_module(parent), last) or import_module(name)


def test_links_lead_to_files_of_the_site(builder: ModuleType, tmp_path: Path):
    builder.lay_pages(tmp_path)
    pages = [tmp_path / document.relative_to(ROOT) for document in DOCUMENTS]
    assert set(tmp_path.rglob("*.md")) >= set(pages)
    for page in pages:
        links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page


def test_the_package_has_the_modules_that_an_import_finds(builder: ModuleType, tmp_path: Path):
    package = tmp_path / "tenon"
    builder.lay_package(package)
    for name in (
        "__init__",
        "numpy",
        "nn",
        "onnx",
        "random",
        "frontends/numpy/linalg/norms",
        "tools/tune/tune",
    ):
        assert (package / f"{name}.py").is_file(), name
