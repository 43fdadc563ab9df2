"""Long ways of branches that are seldom taken are functions, one for all places with equal ones."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm import backend
from tenon.backends.llvm.device import host_device
from tenon.backends.llvm.emission import rare_ways
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.test.contract.op_cases import run
from tenon.test.kernels import parsed
from tenon.test.unit.everywhere import run_everywhere

FAR = np.array([0.5, -3.0, 1e5, -1e10, 3e20, 1e38, np.inf, -np.inf, np.nan, 0.0, -0.0] * 5)


WAYS = (("reference", "low"), ("llvm", None))


def text_of(function: Any, x: npt.NDArray[Any]) -> str:
    return tenon.jit(function).lower(x).text("source")


def called(text: str) -> list[str]:
    """Returns the names of the functions that are called, one for each call."""
    return [
        line.partition("@apart.")[2].partition("(")[0] for line in text.splitlines() if "= call {" in line
    ]


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("function", ["sin", "cos", "tan"])
def test_far_angles_are_reduced_as_by_the_interpreter(type: str, function: str) -> None:
    """Vectors of near and far angles, and single ones behind the last vector."""
    text = f"""func.func @f(%x: tensor<55x{type}>) -> tensor<55x{type}> {{
      %y = graph.{function} %x : tensor<55x{type}>
      func.return %y : tensor<55x{type}>
    }}"""
    run_everywhere(text, FAR.astype({"f32": np.float32, "f64": np.float64}[type]), ways=WAYS)
    assert called(tenon.compile(text).stages["source"])


def test_equal_ways_are_one_function() -> None:
    text = """func.func @f(%x: tensor<48xf32>) -> tensor<48xf32> {
      %y = graph.sin %x : tensor<48xf32>
      %z = graph.sin %y : tensor<48xf32>
      %a = graph.add %x, %z : tensor<48xf32>
      %b = graph.cos %a : tensor<48xf32>
      func.return %b : tensor<48xf32>
    }"""
    run_everywhere(text, FAR[:48].astype(np.float32), ways=WAYS)
    source = tenon.compile(text).stages["source"]
    assert called(source) == ["0", "0", "0"]
    assert source.count("define internal") == 1


def test_ways_of_other_types_are_functions_of_their_own() -> None:
    x = np.ones(64)
    text = text_of(lambda x: (tnp.sin(x), tnp.sin(x.astype(tnp.float32))), x)
    assert set(called(text)) == {"0", "1"}
    assert text.count("define internal") == 2


ADD, LOAD = "arith.addf %x, %x : f32", "memref.load %a[%c0] : memref<4xf32>"


def branch(then: str, n_ops: int, op: str = ADD) -> str:
    ops = "\n".join(f"%v{number} = {op}" for number in range(n_ops))
    return f"""low.kernel @k(%a: memref<4xf32>, %r: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %x = memref.load %a[%c0] : memref<4xf32>
      %is_less = arith.cmpf olt, %x, %zero : f32
      %y = scf.if %is_less -> (f32) {{
        {then}
      }} else {{
        {ops}
        scf.yield %v{n_ops - 1} : f32
      }}
      memref.store %y, %r[%c0] : memref<4xf32>
    }}"""


PASSED_ON = "scf.yield %zero : f32"


@pytest.mark.parametrize(
    ("text", "is_apart"),
    [
        (branch(PASSED_ON, rare_ways.LEAST_OPS), True),
        (branch(PASSED_ON, rare_ways.LEAST_OPS - 1), False),
        (branch(f"%z = arith.addf %x, %zero : f32\n{PASSED_ON}", rare_ways.LEAST_OPS), False),
        (branch(PASSED_ON, rare_ways.LEAST_OPS, LOAD), False),
    ],
)
def test_only_long_ways_that_make_values_beside_one_that_makes_none(text: str, is_apart: bool) -> None:
    assert bool(called(LLVMRenderer().render(parsed(text), host_device()))) is is_apart
    for first, wanted in ((-1.0, 0.0), (3.0, 3.0 if LOAD in text.partition("else")[2] else 6.0)):
        a, result = np.full(4, first, np.float32), np.zeros(4, np.float32)
        run(backend(), text, a, result)
        assert result[0] == wanted


@pytest.mark.parametrize(
    ("text", "is_rare"),
    [
        (branch(PASSED_ON, 3), True),
        (branch(f"%z = arith.addf %x, %zero : f32\n{PASSED_ON}", 3), False),
        (branch(PASSED_ON, rare_ways.LEAST_OPS), True),
    ],
)
def test_ways_that_are_said_to_be_rare_are_predicted(text: str, is_rare: bool) -> None:
    text = text.replace("memref.store", "{tenon.rare}\nmemref.store")
    source = LLVMRenderer().render(parsed(text), host_device())
    assert ("branch_weights" in source) is is_rare
    for first, wanted in ((-1.0, 0.0), (3.0, 6.0)):
        a, result = np.full(4, first, np.float32), np.zeros(4, np.float32)
        run(backend(), text, a, result)
        assert result[0] == wanted
