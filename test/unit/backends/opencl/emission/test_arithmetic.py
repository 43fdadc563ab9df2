"""What ops do in OpenCL C where `low` leaves it open: divisions that trap elsewhere, and far shifts."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
from tenon.backends.interface import Backend
from tenon.backends.opencl import backend
from tenon.backends.opencl.renderer import RULES
from tenon.dialects.low import BODY_OPS, EXPANDED_OPS
from tenon.test.contract.op_cases import (
    DTYPES,
    INTEGERS,
    LANES,
    Array,
    Case,
    integers,
    on_unsigned,
    run_cases,
)
from xdsl.dialects import scf

pytest.importorskip("pyopencl")


@functools.cache
def opencl() -> Backend:
    return backend()


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", INTEGERS)
def test_integer_division_never_traps(type: str, lanes: int | None):
    """By 0 it gives 0, and the least number divided by -1 is itself."""
    dtype = DTYPES[type]

    def divide(a: Array, b: Array) -> Array:
        safe = np.where((b == 0) | (b == -1), 1, b).astype(dtype)
        quotient = np.floor_divide(a, safe) + ((np.remainder(a, safe) != 0) & ((a < 0) != (safe < 0)))
        return np.where(b == 0, 0, np.where(b == -1, 0 - a, quotient)).astype(dtype)

    divisions: dict[str, Callable[[Array, Array], Array]] = {
        "divsi": divide,
        "remsi": lambda a, b: np.where(b == 0, 0, a - divide(a, b) * b).astype(dtype),
        "divui": on_unsigned(lambda a, b: np.where(b == 0, 0, a // np.maximum(b, 1))),
        "remui": on_unsigned(lambda a, b: np.where(b == 0, 0, a % np.maximum(b, 1))),
    }
    cases = [Case(f"%r = arith.{op} %a, %b : !{type}", type, f) for op, f in divisions.items()]
    inputs = {"a": integers(type, 0), "b": integers(type, 1)}
    run_cases(opencl(), cases, inputs, dict.fromkeys(inputs, type), lanes)


def test_division_by_a_constant_never_traps():
    minus_one = "%t0 = arith.constant -1 : i32\n"
    cases = [
        Case(f"{minus_one}%r = arith.divsi %a, %t0 : i32", "i32", lambda a: -a.astype(np.int64)),
        Case(f"{minus_one}%r = arith.remsi %a, %t0 : i32", "i32", np.zeros_like),
    ]
    run_cases(opencl(), cases, {"a": integers("i32", 0)}, {"a": "i32"}, None)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", INTEGERS)
def test_shifts_are_by_the_amount_modulo_the_width(type: str, lanes: int | None):
    width = np.dtype(DTYPES[type]).itemsize * 8
    shifts: dict[str, Callable[[Array, Array], Array]] = {
        "shli": np.left_shift,
        "shrsi": np.right_shift,
        "shrui": on_unsigned(np.right_shift),
    }
    cases = [
        Case(f"%r = arith.{op} %a, %b : !{type}", type, lambda a, b, f=f: f(a, b & (width - 1)))
        for op, f in shifts.items()
    ]
    inputs = {"a": integers(type, 0), "b": integers(type, 1)}
    run_cases(opencl(), cases, inputs, dict.fromkeys(inputs, type), lanes)


def test_every_op_of_a_body_has_a_rule_or_must_be_expanded():
    assert {*RULES, *EXPANDED_OPS, scf.ConditionOp, scf.YieldOp} == {*BODY_OPS}
