r"""
Runs torch's own database of ops, with the samples that torch tests them with, through Tenon's table of ops:

    .venv-frameworks/bin/python test/conformance/torch_ops.py [--samples 4] [--dtypes float32,int64] \
        [--only add,mul] [--all]

An op of the database is traced with the decompositions of the backend, compiled, run, and compared with what
torch gives. It passes where every sample agrees and no part of one is left to torch. Counted are the ops that
are core ATen ops; `--all` counts all of the database. Prints counts by reason for each dtype, and exits with
1 where one is wrong.

Where torch leaves the order of equal elements open, theirs may be another one. A result of halves may differ
from torch's where it is no further from what torch has of the same numbers in float64.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from tenon.frontends.torch.backend import decompositions
from tenon.frontends.torch.graph_program import GraphProgram
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

TOLERANCES = {
    torch.float64: {"rtol": 1e-9, "atol": 1e-10},
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    # Within two or three steps of the dtype: torch's kernels round what they sum where ours do not.
    torch.float16: {"rtol": 3e-3, "atol": 1e-3},
    torch.bfloat16: {"rtol": 2e-2, "atol": 1e-2},
}
EXACT = {"rtol": 0.0, "atol": 0.0}

PASSED = "passed"


def core_names() -> frozenset[str]:
    """Returns the names of core ATen ops, without their overloads."""
    names: set[str] = set()
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        if hasattr(packet, "overloads") and any(
            torch.Tag.core in getattr(packet, overload).tags for overload in packet.overloads()
        ):
            names.add(name)
    return frozenset(names)


def outcomes(op: Any, dtype: torch.dtype, most: int) -> Iterator[str]:
    """Yields what became of each sample of an op."""
    samples = op.sample_inputs("cpu", dtype, requires_grad=False)
    for sample in islice(samples, most):
        yield outcome(op, sample)


def outcome(op: Any, sample: Any) -> str:
    """Returns what became of a sample: `passed`, or why it did not."""
    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def call(*given: torch.Tensor) -> Any:
        left = iter(given)
        filled = [next(left) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        first, rest, named = pytree.tree_unflatten(filled, structure)
        found = op(first, *rest, **named)
        return [each for each in pytree.tree_leaves(found) if isinstance(each, torch.Tensor)]

    try:
        expected = call(*[each.clone() for each in tensors])
    except Exception as error:
        return f"torch has no result: {type(error).__name__}"
    if any(each.is_complex() for each in (*tensors, *expected)):
        return "complex numbers"
    try:
        module = make_fx(
            torch.func.functionalize(call, remove="mutations_and_views"),
            decomposition_table=decompositions(),
            tracing_mode="fake",
        )(*tensors)
    except Exception as error:
        return f"torch cannot trace it: {type(error).__name__}"
    module.graph.eliminate_dead_code()
    # In an error of Tenon's own the sample has failed, whatever it is.
    try:
        program = GraphProgram(module, op.name.replace(".", "_"))
        found = program([each.clone() for each in tensors])
    except Exception as error:
        return f"WRONG: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    if program.left:
        left = program.left[0]
        return f"{left.op} is left to torch: {left.reason}"
    if "empty" in op.name:
        # Nobody knows what is in memory that was not written to.
        found, expected = (
            [torch.zeros_like(each) for each in found],
            [torch.zeros_like(each) for each in expected],
        )
    try:
        compare(list(found), expected, tensors)
    except (AssertionError, ValueError) as error:
        if are_other_ties(op, sample, list(found), expected) or are_nearer(
            call, list(found), expected, tensors
        ):
            return PASSED
        return f"WRONG: {' '.join(str(error).split())[:160]}"
    return PASSED


def compare(found: list[Tensor], expected: list[Tensor], given: Sequence[Tensor]) -> None:
    """Raises AssertionError or ValueError where results differ from what torch has."""
    # The least exact of the dtypes that went in says how far a result may be off, be it of another one.
    known = [TOLERANCES[each.dtype] for each in (*given, *expected) if each.dtype in TOLERANCES]
    allowed = max(known, key=lambda each: each["rtol"], default=EXACT)
    for ours, theirs in zip(found, expected, strict=True):
        bounds = allowed if theirs.dtype.is_floating_point else EXACT
        torch.testing.assert_close(ours, theirs, equal_nan=True, check_stride=False, **bounds)


def are_other_ties(op: Any, sample: Any, found: list[Tensor], expected: list[Tensor]) -> bool:
    """Returns whether results differ only in which of equal elements indices name: torch leaves that open."""
    given = sample.input
    if op.name not in ("sort", "argsort", "topk") or sample.kwargs.get("stable") or not given.ndim:
        return False
    if not all(
        torch.equal(*(each.nan_to_num() for each in pair))
        for pair in zip(found[:-1], expected[:-1], strict=True)
    ):
        return False
    ours, theirs = found[-1], expected[-1]
    for axis in range(given.ndim):
        if int(ours.min()) < 0 or int(ours.max()) >= given.shape[axis]:
            continue
        once = bool((ours.sort(axis).values.diff(dim=axis) > 0).all())
        named = [given.gather(axis, each).nan_to_num() for each in (ours, theirs)]
        if once and torch.equal(*named):
            return True
    return False


def are_nearer(call: Any, found: list[Tensor], expected: list[Tensor], given: Sequence[Tensor]) -> bool:
    """Returns whether results of halves are nowhere further than torch's from what torch has in float64."""
    if not any(each.dtype in (torch.float16, torch.bfloat16) for each in given):
        return False
    exact = call(*[each.double() if each.is_floating_point() else each for each in given])
    for ours, theirs, truth in zip(found, expected, exact, strict=True):
        if not theirs.is_floating_point() or theirs.shape != ours.shape or theirs.dtype != ours.dtype:
            return False
        ours_off, theirs_off = ((each.double() - truth).abs().max() for each in (ours, theirs))
        if not ours_off <= theirs_off:
            return False
    return True


def sweep(dtype: torch.dtype, ops: Sequence[Any], most: int) -> bool:
    """Runs samples of each op in one dtype, prints what became of them, and returns whether none is wrong."""
    reasons: Counter[str] = Counter()
    kind = str(dtype).removeprefix("torch.")
    for op in ops:
        name = op.name + (f" ({op.variant_test_name})" if op.variant_test_name else "")
        if dtype not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        failed = [each for each in outcomes(op, dtype, most) if each != PASSED]
        # What is wrong is told before what is only left to torch.
        failed.sort(key=lambda each: not each.startswith("WRONG"))
        reasons[failed[0].partition(":")[0] if failed else PASSED] += 1
        if failed:
            print(f"{kind} {name}: {failed[0]}", flush=True)
    counted = reasons.total()
    print(f"\n{kind}: {reasons[PASSED]} of {counted} pass ({reasons[PASSED] / max(counted, 1):.1%})")
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    print(flush=True)
    return not reasons["WRONG"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Runs torch's database of ops through Tenon.")
    parser.add_argument("--samples", type=int, default=4, help="how many samples of each op")
    parser.add_argument("--only", default="", help="names of ops, with commas between them")
    parser.add_argument("--dtypes", default="float32", help="names of dtypes, with commas between them")
    parser.add_argument("--all", action="store_true", help="count all ops, not only core ATen ops")
    chosen = parser.parse_args(arguments)
    dtypes = [getattr(torch, name, None) for name in chosen.dtypes.split(",")]
    if not all(isinstance(dtype, torch.dtype) for dtype in dtypes):
        parser.error(f"--dtypes: torch has not all of {chosen.dtypes}")
    warnings.simplefilter("ignore")
    core, only = core_names(), set(filter(None, chosen.only.split(",")))
    ops = [
        op for op in op_db if (op.name in only if only else chosen.all or (op.aten_name or op.name) in core)
    ]
    agree = [sweep(dtype, ops, chosen.samples) for dtype in dtypes]
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
