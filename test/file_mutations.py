"""
Changes bytes of files that are not programs, and reads what comes out:

    python test/file_mutations.py --count 10000 [--seed 0] [--kinds npz safetensors library]

Weights are read, or refused by a `TenonError` that names the file, and what is read is no larger than it
is. Of libraries what they say about themselves is read, which comes before any of their code is loaded.
"""

from __future__ import annotations

import random
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import tenon
from tenon.compiler.export.description import SECTION, Description, read_description
from tenon.compiler.export.elf import section_of
from tenon.errors import TenonError
from tenon.test.mutations import campaign_parser, limited_time, mutated_bytes, run_campaigns
from tenon.tools.run.input_arrays import read_arrays
from tenon.tools.run.safetensors_file import write_safetensors

KINDS = ("npz", "safetensors", "library")

_ARRAYS = {
    "w": np.arange(12, dtype=np.float32).reshape(3, 4),
    "flags": np.array([True, False]),
    "one": np.array(3, np.int64),
}

_PROGRAM = """
graph.dim @n min 1 max 64
func.func @f(%x: tensor<?x3xf32, #graph.dims<n, 3>>) -> tensor<3xf32> {
  %s = graph.reduce add %x axes [0] : tensor<?x3xf32, #graph.dims<n, 3>> -> tensor<3xf32>
  func.return %s : tensor<3xf32>
}"""


@cache
def file_bytes(kind: str) -> bytes:
    """Returns a file as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"arrays.{kind}"
        if kind == "library":
            library = tenon.export(_PROGRAM, path.with_suffix("")).library
            assert library is not None, "there is no linker"
            path = library
        elif kind == "npz":
            np.savez(path, **_ARRAYS)
        else:
            with path.open("wb") as file:
                write_safetensors(file, _ARRAYS)
        return path.read_bytes()


def changed_file(kind: str, seed: int) -> bytes:
    """Returns a file with changes; of libraries mostly of the section that describes them."""
    whole = file_bytes(kind)
    if kind != "library" or random.Random(seed).randrange(8) == 0:
        return mutated_bytes(whole, seed)
    place = section_of(whole, SECTION)
    assert place is not None, "a library describes itself"
    offset, nbytes = place
    part = mutated_bytes(whole[offset : offset + nbytes], seed)[:nbytes].ljust(nbytes, b"\0")
    return whole[:offset] + part + whole[offset + nbytes :]


def outcome(kind: str, contents: bytes, folder: Path) -> str:
    """Returns `read`, or `error` for one that a user may see. All other exceptions are left."""
    path = folder / f"changed.{kind}"
    try:
        with limited_time():
            if kind == "library":
                found: object = read_description(contents, str(path))
                assert isinstance(found, Description)
            else:
                path.write_bytes(contents)
                arrays = read_arrays(path)
                assert sum(each.nbytes for each in arrays.values()) <= len(contents)
    except TenonError as error:
        assert str(path) in str(error), f"an error without the file: {error}"
        return "error"
    return "read"


def main() -> int:
    chosen = campaign_parser(__doc__, KINDS).parse_args()
    with tempfile.TemporaryDirectory() as folder:

        def changed(kind: str, seed: int) -> str:
            return outcome(kind, changed_file(kind, seed), Path(folder))

        return run_campaigns(chosen, __file__, changed)


if __name__ == "__main__":
    sys.exit(main())
