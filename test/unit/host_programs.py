"""Random host programs for tests: launches that copy one buffer or add two, transfers and syncs."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from tenon.dialects.modules.parsing import parse_module, verify_module
from xdsl.dialects.builtin import ModuleOp

KERNELS = """
low.kernel @copy(%x: memref<4xi32>, %y: memref<4xi32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<4xi32>
  memref.store %v, %y[%i] : memref<4xi32>
}
low.kernel @add(%x: memref<4xi32>, %y: memref<4xi32>, %z: memref<4xi32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<4xi32>
  %w = memref.load %y[%i] : memref<4xi32>
  %s = arith.addi %v, %w : i32
  memref.store %s, %z[%i] : memref<4xi32>
}
"""


@dataclass(frozen=True)
class RandomProgram:
    """A program of one argument; `items` are its items as (word, buffers read, buffers written)."""

    n_buffers: int
    items: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    returned: tuple[int, ...]

    def text(self) -> str:
        """Returns the program; buffer 0 is its argument, all others are temporaries."""
        results = ", ".join(["tensor<4xi32>"] * len(self.returned))
        lines = [f"sched.program @p(%b0: memref<4xi32>) : (tensor<4xi32>) -> ({results}) {{"]
        lines += [
            f"  %b{n} = sched.buffer global temporary : memref<4xi32>" for n in range(1, self.n_buffers)
        ]
        for number, (word, reads, writes) in enumerate(self.items):
            names = [f"%b{n}" for n in (*reads, *writes)]
            if word == "sync":
                lines.append(f"  %t{number} = sched.sync after()")
            elif word == "transfer":
                lines.append(
                    f"  %t{number} = sched.transfer {names[0]} to {names[1]} after() : memref<4xi32>"
                )
            else:
                types = ", ".join(["memref<4xi32>"] * len(names))
                lines.append(f"  %t{number} = sched.launch @{word}({', '.join(names)}) after() : {types}")
        types = ", ".join(["memref<4xi32>"] * len(self.returned))
        lines += [f"  sched.return {', '.join(f'%b{n}' for n in self.returned)} after() : {types}", "}"]
        return KERNELS + "\n".join(lines)

    def module(self) -> ModuleOp:
        module = parse_module(self.text())
        verify_module(module)
        return module


@st.composite
def programs(draw: st.DrawFn) -> RandomProgram:
    """Draws programs that read nothing that was not written before."""
    n_buffers = draw(st.integers(2, 7))
    written = {0}
    items: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = []
    for _ in range(draw(st.integers(1, 14))):
        word = draw(st.sampled_from(("copy", "copy", "add", "add", "transfer", "sync")))
        if word == "sync":
            items.append((word, (), ()))
            continue
        sources = st.sampled_from(sorted(written))
        reads = tuple(draw(sources) for _ in range(2 if word == "add" else 1))
        target = draw(st.sampled_from([n for n in range(1, n_buffers) if n not in reads] or [0]))
        if target:
            items.append((word, reads, (target,)))
            written.add(target)
    returned = tuple(draw(st.lists(st.sampled_from(sorted(written)), min_size=1, max_size=3)))
    return RandomProgram(n_buffers, tuple(items), returned)
