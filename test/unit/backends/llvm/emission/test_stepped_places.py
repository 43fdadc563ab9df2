"""The pointers by which loops step along what they access, and the kernels that need LLVM to find some."""

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc
from tenon.backends.llvm import backend
from tenon.backends.llvm.compile import LLVMCompiler
from tenon.backends.llvm.device import host_device
from tenon.backends.llvm.emission.stepped_places import MOST_POINTERS
from tenon.backends.llvm.limits import NEEDS_STRENGTH_REDUCTION
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.dialects.modules.parsing import parse_module

CONSTANTS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 8, 40))


def render(body: str, arguments: str = "%x: memref<1024xf32>, %y: memref<1024xf32>") -> str:
    text = f"low.kernel @k({arguments}) grid [2, 1, 1] block [1, 1, 1] {{\n%g = low.block_id x\n{CONSTANTS}\n"
    return LLVMRenderer().render(parse_module(f"{text}{body}\n}}"), host_device())


def copies(index: str, loop: str = "%c0 to %c8 step %c1") -> str:
    """A loop that copies the vectors at an index, which the text computes as %at."""
    return f"""scf.for %j = {loop} {{
      {index}
      %v = vector.load %x[%at] : memref<1024xf32>, vector<4xf32>
      vector.store %v, %y[%at] : memref<1024xf32>, vector<4xf32>
    }}"""


def run(source: str) -> np.ndarray:
    llvm = backend()
    artifact = llvm.compiler.compile(source, llvm.device)
    x, y = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    for number, array in ((41, x), (42, y)):
        llvm.driver.alloc_pool(number, array.nbytes, 64)
        llvm.driver.copy_to_device(BufferLoc(number, 0), array)
    kernel = llvm.driver.get_kernel(artifact, "k")
    llvm.driver.launch(kernel, (2, 1, 1), (1, 1, 1), [BufferLoc(41, 0), BufferLoc(42, 0)])
    llvm.driver.copy_from_device(y, BufferLoc(42, 0))
    return y


ROWS = "%row = arith.muli %j, %c40 : index\n%more = arith.addi %row, %g : index\n"

BACKWARDS = "%back = arith.muli %j, %c4 : index\n%at = arith.subi %c40, %back : index"

EARLIER = "%twice = arith.muli %j, %c8 : index\n%at = arith.subi %twice, %c8 : index"


@pytest.mark.parametrize(
    ("index", "loop", "n_pointers", "places"),
    [
        # Rows that are 40 apart, and the second vector of each.
        (f"{ROWS}%at = arith.addi %more, %c4 : index", "%c0 to %c8 step %c1", 2, range(4, 324, 40)),
        (f"{ROWS}%at = arith.addi %more, %c4 : index", "%c2 to %c8 step %c2", 2, range(84, 324, 80)),
        # Neighbours: an address takes the index as it is.
        ("%at = arith.addi %g, %j : index", "%c0 to %c40 step %c4", 0, range(0, 40, 4)),
        # The first pointer is outside of the buffer.
        (BACKWARDS, "%c1 to %c8 step %c1", 2, range(36, 8, -4)),
        (EARLIER, "%c1 to %c4 step %c1", 2, range(0, 24, 8)),
        # No iteration at all.
        (f"{ROWS}%at = arith.addi %more, %c0 : index", "%c8 to %c8 step %c1", 2, range(0)),
    ],
)
def test_a_loop_carries_a_pointer_for_each_buffer(
    index: str, loop: str, n_pointers: int, places: range
) -> None:
    source = render(copies(index, loop))
    assert source.count("= phi ptr") == n_pointers and NEEDS_STRENGTH_REDUCTION not in source
    expected = np.zeros(1024, np.float32)
    for group in range(2 if "%g" in index else 1):
        for place in places:
            expected[place + group : place + group + 4] = np.arange(place + group, place + group + 4)
    assert np.array_equal(run(source), expected)


def test_accesses_a_number_of_elements_apart_share_a_pointer() -> None:
    body = copies(f"{ROWS}%at = arith.addi %more, %c4 : index")
    more = "%w = vector.load %x[%more] : memref<1024xf32>, vector<4xf32>\n    }"
    assert render(body[:-1] + more).count("= phi ptr") == 2


@pytest.mark.parametrize("index", ["%at = arith.minsi %j, %c3 : index", "%at = arith.muli %g, %c4 : index"])
def test_an_index_that_is_no_sum_or_stays_gets_no_pointer(index: str) -> None:
    source = render(copies(index))
    assert "= phi ptr" not in source and NEEDS_STRENGTH_REDUCTION not in source


def many(count: int) -> str:
    """A loop with so many rows that are no number of elements apart."""
    lines = ["%row = arith.muli %j, %c40 : index"]
    for number in range(count):
        lines += [
            f"%a{number} = arith.addi %row, %s{number} : index",
            f"%v{number} = vector.load %x[%a{number}] : memref<1024xf32>, vector<4xf32>",
            f"vector.store %v{number}, %z[%c0] : memref<1024xf32>, vector<4xf32>",
        ]
    body = "\n".join(lines)
    return f"scf.for %j = %c0 to %c8 step %c1 {{\n{body}\n}}"


@pytest.mark.parametrize(("count", "carried"), [(MOST_POINTERS, MOST_POINTERS), (MOST_POINTERS + 1, 0)])
def test_a_loop_carries_no_more_pointers_than_there_are_registers_for(count: int, carried: int) -> None:
    sizes = ", ".join(f"%s{number}: index" for number in range(count))
    source = render(many(count), f"{sizes}, %x: memref<1024xf32>, %z: memref<1024xf32>")
    assert source.count("= phi ptr") == carried
    assert (NEEDS_STRENGTH_REDUCTION in source) is (carried == 0)


VARYING = copies("%at = arith.muli %j, %n : index")
STEPS = copies("%at = arith.muli %j, %c4 : index", "%c0 to %c8 step %n")
BRANCH = """scf.for %j = %c0 to %c8 step %c1 {
  %is_first = arith.cmpi eq, %j, %c0 : index
  scf.if %is_first {
    %v = vector.load %x[%j] : memref<1024xf32>, vector<4xf32>
    vector.store %v, %y[%j] : memref<1024xf32>, vector<4xf32>
  }
}"""


NESTED = BRANCH.replace("scf.if %is_first {", "scf.if %is_first {\nscf.if %is_first {").replace(
    "  }\n}", "  }}\n}"
)

LOOP_IN_BRANCH = f"""scf.for %i = %c0 to %c8 step %c1 {{
  %is_first = arith.cmpi eq, %i, %c0 : index
  scf.if %is_first {{
    {copies("%at = arith.muli %j, %c4 : index")}
  }}
}}"""


def test_a_loop_in_a_branch_steps_by_pointers_of_its_own() -> None:
    source = render(LOOP_IN_BRANCH)
    assert source.count("= phi ptr") == 2 and NEEDS_STRENGTH_REDUCTION not in source


@pytest.mark.parametrize("body", [VARYING, STEPS, BRANCH, NESTED])
def test_what_lies_apart_by_no_number_or_in_a_branch_is_left_to_llvm(body: str) -> None:
    source = render(body, "%n: index, %x: memref<1024xf32>, %y: memref<1024xf32>")
    assert "= phi ptr" not in source and NEEDS_STRENGTH_REDUCTION in source


def test_kernels_that_need_it_have_their_strength_reduced_after_others_too() -> None:
    compiler, device = LLVMCompiler(), host_device()
    varying = render(VARYING, "%n: index, %x: memref<1024xf32>, %y: memref<1024xf32>")
    before = compiler.assembly(varying, device)
    unneeded = varying.replace(f" {NEEDS_STRENGTH_REDUCTION}", "")
    assert compiler.assembly(unneeded, device) != before
    assert compiler.assembly(varying, device) == before
