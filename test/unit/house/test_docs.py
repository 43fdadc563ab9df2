"""What the documentation shows is what happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tenon
from tenon.backends import registry
from tenon.test.unit import library
from xdsl.dialects.builtin import ModuleOp

from .doc_blocks import DOCUMENTS, ROOT, Block, blocks_of, checked_blocks, run_command, scratch_checkout

LANGUAGES = {"python", "mlir", "sh", "llvm", "c", "text"}

NOT_RUN = ("git ", "pip ")
"""What commands begin with that need a network or a history, and are not run."""

MADE = ("out/", ".venv", "build/")
"""What the names of files begin with that only a run makes."""

FOLDERS = (*library.FOLDERS, "benchmarks", "docs", "examples", "test")

ALL_BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]


@pytest.fixture(autouse=True)
def a_document_registers_for_itself() -> Iterator[None]:
    before = set(registry.DEVICE_NAMES)
    yield
    for name in set(registry.DEVICE_NAMES) - before:
        registry.unregister_backend(name)


def blocks(language: str) -> pytest.MarkDecorator:
    found = [block for block in ALL_BLOCKS if block.language == language]
    return pytest.mark.parametrize("block", found, ids=str)


def documents() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@documents()
def test_a_block_says_what_its_origin_gives(document: Path, tmp_path: Path):
    scratch_checkout(tmp_path)
    for block, expected in checked_blocks(document, tmp_path):
        assert block.text == expected, f"{block}: python test/unit/house/doc_blocks.py brings it up to date"


@blocks("mlir")
def test_an_mlir_block_is_a_valid_module_that_round_trips(block: Block):
    if block.origin.startswith("in:"):
        return
    module = tenon.parse_module(block.text, str(block))
    tenon.verify_module(module)
    again = tenon.parse_module(str(module), str(block))
    assert str(again) == str(module)
    assert ModuleOp.is_structurally_equivalent(again, module)


@blocks("sh")
def test_the_commands_of_a_block_succeed(block: Block, tmp_path: Path):
    scratch_checkout(tmp_path)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in block.text.splitlines():
        command = line.partition(" #")[0].strip()
        words = command.split()
        if command.startswith(NOT_RUN) or not command:
            continue
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), f"{block}: {command}"
        elif words[0] == "python":
            assert (ROOT / words[1]).is_file(), f"{block}: {command}"
        else:
            status, output = run_command(command, tmp_path)
            assert status == 0, f"{block}: {command}\n{output}"


@documents()
def test_a_block_is_in_a_language_that_is_checked(document: Path):
    for block in blocks_of(document):
        assert block.language in LANGUAGES, block
        assert block.language in ("python", "mlir", "sh") or block.origin, f"{block}: nothing checks it"
    n_fences = len(re.findall(r"^```", document.read_text(encoding="utf-8"), re.MULTILINE))
    assert n_fences == 2 * len(blocks_of(document)), "a block without a language"


@documents()
def test_the_files_that_a_document_names_exist(document: Path):
    text = document.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r"`([\w.-]*/[\w./-]*|[\w-]+\.(?:py|md|mlir|toml|npz))`", text)
    linked = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", text)
    for name in [*named, *linked]:
        places = (ROOT / name, document.parent / name)
        assert name.startswith(MADE) or any(place.exists() for place in places), f"no {name}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_a_short_readme(folder: str):
    lines = (ROOT / folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
