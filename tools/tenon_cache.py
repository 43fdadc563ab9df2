"""`tenon-cache`: shows, checks and empties the cache of compiled programs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from ..backends.cache.folder import CacheFolder
from ..backends.cache.place import FOLDER, LIMIT, SWITCH, cache_path, is_on, max_nbytes_of
from ..backends.cache.private_files import NotPrivateError
from ..errors import TenonError
from .completion import add_completion_argument
from .exit_codes import DIAGNOSTICS, SUCCESS
from .tool_run import ToolRun

TOOL = "tenon-cache"

EPILOG = f"""\
exit codes: 0 success, 1 diagnostics or a damaged entry, 2 wrong command line, 70 a bug of Tenon.
The cache is in {FOLDER}, else in tenon of XDG_CACHE_HOME, else in ~/.cache/tenon. {SWITCH}=0 turns it
off; {LIMIT} is the number of bytes that it may have."""


def _stats(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    """Prints where the cache is, and how much is in it."""
    files = folder.files()
    n_programs = sum(info.name.startswith("program-") for info in files)
    n_codes = sum(info.name.startswith("code-") for info in files)
    print(f"folder:   {folder.path}{'' if is_on() else f' (off, {SWITCH} is 0)'}")
    print(f"programs: {n_programs}")
    print(f"code:     {n_codes}")
    print(f"size:     {folder.nbytes()} of at most {folder.max_nbytes} bytes")
    return SUCCESS


def _ls(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    """Prints a line for each file, last used first."""
    for info in folder.files():
        used = datetime.fromtimestamp(info.used).strftime("%Y-%m-%d %H:%M:%S")
        about = folder.about(info)
        print(f"{used}  {info.nbytes:>10}  {info.name[:24]}{'  ' if about else ''}{about}")
    return SUCCESS


def _verify(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    """Checks every file; prints what is damaged, and removes it where that is asked for."""
    bad = left = 0
    files = folder.files()
    for info in files:
        problem = folder.problem_of(info)
        if problem is not None:
            bad += 1
            what = ""
            if not arguments.remove:
                left += 1
            elif folder.remove(info):
                what = " (removed)"
            else:
                left += 1
                what = " (cannot be removed)"
            print(f"{info.name}: {problem}{what}")
    print(f"{len(files)} files, {bad} damaged")
    return DIAGNOSTICS if left else SUCCESS


def _clear(folder: CacheFolder, arguments: argparse.Namespace) -> int:
    """Removes all files of the cache, and no others."""
    print(f"{folder.clear()} files removed from {folder.path}")
    return SUCCESS


_COMMANDS: dict[str, Callable[[CacheFolder, argparse.Namespace], int]] = {
    "stats": _stats,
    "ls": _ls,
    "verify": _verify,
    "clear": _clear,
}


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description="Shows, checks and empties the cache of compiled programs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_completion_argument(parser, {})
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, run in _COMMANDS.items():
        summary = (run.__doc__ or "").strip()
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument("--dir", type=Path, metavar="FOLDER", help="the cache in this folder")
        if name == "verify":
            command.add_argument("--remove", action="store_true", help="remove what is damaged")
    return parser.parse_args(arguments)


def _folder(given: Path | None) -> CacheFolder:
    path = cache_path() if given is None else given.absolute()
    if path is None:
        raise TenonError(f"there is no home to have a cache in (hint: --dir, {FOLDER})")
    folder = CacheFolder(path, max_nbytes_of(os.environ.get(LIMIT)))
    if path.exists():
        try:
            folder.open()
        except NotPrivateError as error:
            raise TenonError(f"{path}: {error}") from error
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit code."""
    with ToolRun(TOOL) as run:
        parsed = _parse(arguments)
        run.exit_code = _COMMANDS[parsed.command](_folder(parsed.dir), parsed)
        sys.stdout.flush()
    return run.exit_code


if __name__ == "__main__":
    sys.exit(main())
