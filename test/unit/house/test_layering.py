"""Who imports whom, as docs/architecture.md says."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from tenon.test.unit.library import ROOT, library_files

MAY_IMPORT = {
    "dataclass_speed": (),
    "errors": (),
    "import_time": (),
    "dialects": ("errors", "dialects"),
    "semantics": ("errors", "dialects", "semantics"),
    "algorithms": ("errors", "dialects", "algorithms"),
    "passes": ("errors", "dialects", "algorithms", "semantics", "passes"),
    "backends": ("errors", "import_time", "dialects", "semantics", "backends"),
    "runtime": (
        "errors",
        "dialects",
        "semantics",
        "runtime",
        "backends.cache",
        "backends.interface",
        "backends.registry",
        "backends.steps",
    ),
    "compiler": ("errors", "dialects", "semantics", "passes", "backends", "runtime", "compiler"),
    "frontends": (
        "errors",
        "dialects",
        "algorithms",
        "semantics",
        "frontends",
        "compiler",
        "runtime.collectives",
        "runtime.timeline",
        "runtime.process_bound",
    ),
}
"""The prefixes of the modules that each part may import; parts that are not listed sit on top."""

ONLY_IN = {
    "llvmlite": "backends.llvm",
    "mpi4py": "runtime.collectives",
    "onnx": "frontends.onnx",
    "pyopencl": "backends.opencl",
}
"""The one package that may import each outside library."""

FORBIDDEN = {
    "dialects": ("numpy", "ml_dtypes", "subprocess", "os", "pathlib"),
    "passes": ("subprocess", "os"),
}
"""Outside libraries that a part has no business with."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[str, str | None]]:
    """Yields what a file imports: a module of Tenon's and None, or an empty name and an outside library."""
    package = [*path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield "", alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert node.module is not None
            yield "", node.module
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                yield ".".join([*base, alias.name]), None


def is_within(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(f"{prefix}.")


@pytest.mark.parametrize("path", library_files(), ids=module_name)
def test_a_module_imports_only_what_stands_below_it(path: Path):
    part = module_name(path).split(".")[0]
    for module, library in imports(path):
        if library is not None:
            assert not is_within(library, "tenon"), f"{library}: imports inside the library are relative"
            for name, owner in ONLY_IN.items():
                if is_within(library, name):
                    assert is_within(module_name(path), owner), f"only {owner} imports {name}"
            assert library.split(".")[0] not in FORBIDDEN.get(part, ()), f"{part} has no use for {library}"
        elif part in MAY_IMPORT:
            allowed = MAY_IMPORT[part]
            assert any(is_within(module, prefix) for prefix in allowed), f"{part} must not import {module}"


def test_a_pass_never_prints_or_reads_the_environment():
    for path in library_files():
        if module_name(path).split(".")[0] != "passes" or is_within(module_name(path), "passes.instruments"):
            continue
        names = {
            node.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Name)
        }
        assert not names & {"print", "input", "open"}, path


INNER_FLOORS = {
    "passes": (
        ("rewriting", "indices", "scalar", "machine", "instruments"),
        ("graph", "low"),
        ("sched", "sharding", "stablehlo"),
    ),
    "passes.sched": (("host", "steps", "planning"), ("mapping",)),
    "passes.sched.steps": (("borders", "loop_nests"), ("primitives",), ("passes",)),
    "runtime": (
        ("timeline", "collectives"),
        ("memory",),
        ("plan",),
        ("nodes", "streams", "reports"),
        ("executables", "platforms"),
    ),
    "backends": (("cache",), ("llvm", "opencl", "reference")),
    "backends.llvm": (("native", "emission"), ("programs",)),
    "frontends": (
        ("arrays",),
        ("tracing",),
        ("sharding",),
        ("calls",),
        ("jit", "numpy", "stablehlo"),
        ("onnx", "torch"),
    ),
    "frontends.numpy": (("arguments",), ("products",), ("linalg",), ("further",)),
    "frontends.onnx": (("ops",), ("layers",), ("fusions", "quantised")),
    "tools": (("opt", "tune"), ("run",), ("reduce",)),
}
"""
The rooms of a room, floor by floor from the ground: a file imports what stands on a lower floor than its own,
or in its own room, type-only and function-level imports counted. Files that stand in no room may import all.
"""


def room_within(module: str, house: str) -> str | None:
    """Returns the room of `house` that a module stands in, None where it stands in none."""
    if not module.startswith(f"{house}."):
        return None
    room = module.removeprefix(f"{house}.").partition(".")[0]
    return room if ROOT.joinpath(*house.split("."), room).is_dir() else None


@pytest.mark.parametrize("house", INNER_FLOORS)
def test_rooms_import_only_what_stands_on_lower_floors(house: str):
    floors = {room: number for number, rooms in enumerate(INNER_FLOORS[house]) for room in rooms}
    arrows: set[tuple[str, str, str]] = set()
    for path in library_files():
        name = module_name(path)
        room = room_within(name, house)
        if room is None:
            continue
        for module, _ in imports(path):
            other = room_within(module, house)
            if (
                other is not None
                and other != room
                and not (house == "frontends" and "public" in (room, other))
            ):
                arrows.add((room, other, name))
    assert arrows, f"{house}: no room imports another"
    up = sorted(f"{name} imports {other}" for room, other, name in arrows if floors[other] >= floors[room])
    assert not up


UPWARD = {
    ("runtime.platforms.device", "runtime.platforms.context"),
    ("runtime.platforms.device", "runtime.platforms.platform"),
    ("runtime.platforms.code", "runtime.platforms.platform"),
    ("runtime.platforms.routine", "runtime.platforms.context"),
    ("runtime.platforms.link", "runtime.platforms.context"),
}
"""
The arrows from a file up to one that imports it, for types only: users go from a device to its platform and
to contexts on it, from code to its platform and from a routine to its context, and from each of them back.
What else `runtime.platforms` needs of a context is what `NodeMemory` has.
"""

FILES = {module_name(path): path for path in library_files() if path.parent != ROOT}

PARTS = {name[:end] for name in FILES for end, char in enumerate(f"{name}.") if char == "."}
"""All files and rooms."""

HOUSES = sorted({name.rpartition(".")[0] for name in FILES})


@pytest.mark.parametrize("house", HOUSES, ids=lambda house: house or "root")
def test_files_and_rooms_of_a_room_import_one_another_in_no_circle(house: str):
    arrows: dict[str, set[str]] = {}
    for name, path in FILES.items():
        here = part_of(name, house)
        if not here:
            continue
        others = {part_of(module, house) for module in imported_modules(path)}
        arrows.setdefault(here, set()).update(
            other for other in others - {"", here} if (here, other) not in UPWARD
        )
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(("low", "high"), sorted(UPWARD))
def test_an_arrow_up_is_there_for_types_only(low: str, high: str):
    tree = ast.parse(FILES[low].read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    arrows = [
        node for node in nodes if isinstance(node, ast.ImportFrom) and f"{node.module}" in high.split(".")
    ]
    blocks = [
        node.body for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    assert arrows
    assert all(any(arrow in block for block in blocks) for arrow in arrows)


@cache
def imported_modules(path: Path) -> list[str]:
    return [module for module, library in imports(path) if library is None]


def part_of(module: str, house: str) -> str:
    """Returns which file or room of a house a module is or stands in, nothing where it stands outside."""
    if not is_within(module, house or module):
        return ""
    name = module.removeprefix(f"{house}.").partition(".")[0] if house else module.partition(".")[0]
    part = f"{house}.{name}".lstrip(".")
    return part if part in PARTS else ""
