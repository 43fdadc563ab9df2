"""Python modules of the user's that register ops and passes of their own, and what fails in them."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import astuple
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any

from ..compiler.custom import registered_classes
from ..errors import TenonError
from ..passes.instruments.reproducer import NO_PLUGINS, Plugins
from ..passes.registry import ALL_PASSES
from ..semantics.host_calls import HostFunctions

_DIALECT = "--load-dialect"
_PASSES = "--load-pass-plugin"
_CALLBACKS = "--load-callbacks"
_FLAGS = (_DIALECT, _PASSES, _CALLBACKS)
"""The flag of each field of `Plugins`, in their order."""

LOADED: set[str] = set()
"""The names of the modules that were loaded."""


def add_plugin_arguments(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the flags that load modules."""
    for name, what, function in (
        (_DIALECT, "ops", "tenon.register_op"),
        (_PASSES, "passes", "tenon.register_pass"),
    ):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar="MODULE",
            help=f"import a Python module, or a file, that registers {what} of its own ({function}) first",
        )
    parser.add_argument(
        _CALLBACKS,
        action="append",
        default=[],
        metavar="MODULE",
        help="a Python module, or a file, with the functions that the program calls back by their names",
    )


def load_plugins_of(arguments: Sequence[str]) -> Plugins:
    """
    Imports the modules that a command line names, before the rest of it is read, which may name their passes.
    Returns them as a reproducer writes them. Raises TenonError for a module that cannot be imported.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_plugin_arguments(parser)
    try:
        found, _ = parser.parse_known_args(arguments)
    except argparse.ArgumentError:
        return NO_PLUGINS  # The tool's own parser says what is wrong.
    given = (found.load_dialect, found.load_pass_plugin, found.load_callbacks)
    plugins = Plugins(*(tuple(map(_lasting, names)) for names in given))
    load_plugins(plugins)
    return plugins


def plugin_flags(plugins: Plugins) -> list[str]:
    """Returns the flags that load plugins."""
    return [f"{flag}={name}" for flag, names in zip(_FLAGS, astuple(plugins), strict=True) for name in names]


def check_plugins(needed: Plugins, loaded: Plugins) -> None:
    """
    Raises TenonError where a reproducer needs modules that the command line does not load. What is read does
    not choose what is run: only who runs the tool does. A file may lie elsewhere than on the machine that
    wrote the reproducer.
    """
    missing = Plugins(*map(_without, astuple(needed), astuple(loaded)))
    if flags := plugin_flags(missing):
        raise TenonError(f"the reproducer needs code of its own (hint: if you trust it, {shlex.join(flags)})")


def _without(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    there = set(map(_module_name, others))
    return tuple(name for name in names if _module_name(name) not in there)


def load_plugins(plugins: Plugins) -> None:
    """
    Imports modules by name, as `import` does, from the installed packages and PYTHONPATH, or files by path.

    Raises TenonError for what is not there or fails, for a file of passes that registers none, and for one of
    callbacks without a function.
    """
    for name in plugins.dialects:
        _load(_DIALECT, name)
    for name in plugins.passes:
        known = set(ALL_PASSES)
        is_new = _load(_PASSES, name)
        if is_new and set(ALL_PASSES) == known:
            raise TenonError(f"{_PASSES}: '{name}' registers no pass (hint: tenon.register_pass)")
    for name in plugins.callbacks:
        _load(_CALLBACKS, name)
        if not _functions_in(name):
            raise TenonError(f"{_CALLBACKS}: '{name}' defines no function")


def callbacks_of(plugins: Plugins) -> HostFunctions:
    """Returns the functions that loaded plugins have for programs to call back; of a name the last."""
    functions: dict[str, Callable[..., Any]] = {}
    for name in plugins.callbacks:
        functions |= _functions_in(name)
    return functions


def _functions_in(name: str) -> dict[str, Callable[..., Any]]:
    """Returns the functions that a loaded module shows, by their names: not what it imports itself."""
    module = sys.modules[_module_name(name)]
    return {
        name: value
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def _is_file(name: str) -> bool:
    return name.endswith(".py") or os.sep in name


def _lasting(name: str) -> str:
    """Returns a name that means the same in another folder."""
    return str(Path(name).resolve()) if _is_file(name) else name


def _module_name(name: str) -> str:
    return Path(name).stem if _is_file(name) else name


def _load(flag: str, name: str) -> bool:
    """Imports a module and returns whether it was not there yet."""
    path = Path(name).resolve() if _is_file(name) else None
    module_name = _module_name(name)
    known = sys.modules.get(module_name)
    if path is not None and known is not None and getattr(known, "__file__", None) != str(path):
        raise TenonError(f"{flag}: cannot import '{name}' (there is another module {module_name} already)")
    LOADED.add(module_name)
    if known is not None:
        return False
    if path is not None and not path.is_file():
        raise TenonError(f"{flag}: cannot import '{name}' (no such file)")
    try:
        if path is None:
            import_module(name)
        else:
            _import_file(module_name, path)
    except ImportError as error:
        raise TenonError(f"{flag}: cannot import '{name}' ({error})") from error
    except TenonError as error:
        raise TenonError(f"{flag}: cannot import '{name}' ({error.message})") from error
    except Exception as error:
        reason = traceback.format_exception_only(error)[-1].strip()
        raise TenonError(f"{flag}: cannot import '{name}' ({reason}{_place_text(error)})") from error
    return True


def _import_file(name: str, path: Path) -> ModuleType:
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def outside_fault(error: BaseException) -> str | None:
    """
    Returns where code from outside of Tenon failed, ` (my_passes.py:12, in apply)` or ` (registered by
    my_passes)`, and None for a bug of Tenon. What the exception went through counts as failed, and so does a
    pass that left something wrong.
    """
    if place := _place_text(error):
        return place
    pass_ = getattr(error, "pass_", None)
    for each in registered_classes():
        if isinstance(pass_, each):
            return f" (registered by {each.__module__})"
    return None


def _place_text(error: BaseException) -> str:
    """Returns the innermost place in code from outside that an exception went through, in brackets."""
    modules = {each.__module__ for each in registered_classes()}
    text = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_globals.get("__name__", "")
        if name in modules or any(name == each or name.startswith(f"{each}.") for each in LOADED):
            code = frame.f_code
            text = f" ({Path(code.co_filename).name}:{line}, in {code.co_qualname})"
    return text
