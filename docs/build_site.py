"""
Builds the site of the documents and of the API: `make docs`.

    python docs/build_site.py out/docs

It is in `site` of that folder. A page has the path that its file has in the repository, so that links between
files hold, those to files that are no pages too. What is wrong with a link or a name is an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PAGES = ("*.md", "docs/*.md", "docs/api/*.md", "*/README.md", "examples/*/README.md")

_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)")


def lay_pages(folder: Path) -> None:
    """Copies all documents, and what they link to."""
    pages = {page for pattern in PAGES for page in ROOT.glob(pattern)}
    links = {page.parent / name for page in pages for name in _LINK.findall(page.read_text(encoding="utf-8"))}
    for file in pages | {link.resolve() for link in links}:
        if file.is_file():
            copy = folder / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def lay_package(folder: Path) -> None:
    """
    Makes the package `tenon` of links, as an import finds it: the checkout has any name, and `tenon.numpy` is
    elsewhere in it.
    """
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = configuration["tool"]["setuptools"]["packages"]
    rooms = {ROOT / name.split(".")[1] for name in packages if "." in name}
    modules = {*ROOT.glob("*.py"), *(ROOT / "frontends" / "public").glob("[!_]*.py")}
    folder.mkdir(parents=True)
    for entry in rooms | modules:
        (folder / entry.name).symlink_to(entry)


def main(arguments: Sequence[str] | None = None) -> int:
    (out,) = map(Path, sys.argv[1:] if arguments is None else arguments)
    shutil.rmtree(out, ignore_errors=True)
    lay_pages(out / "pages")
    lay_package(out / "package" / "tenon")
    shutil.copyfile(ROOT / "docs" / "mkdocs.yml", out / "mkdocs.yml")
    build = (sys.executable, "-m", "zensical", "build", "--strict")
    return subprocess.run(build, cwd=out, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
