"""
Runs torch's own database of ops, with the samples that torch tests them with, through Tenon's table of ops:

    .venv-frameworks/bin/python test/conformance/torch_ops.py [--samples 4] [--only add,mul] [--all]

An op of the database is traced with the decompositions of the backend, compiled, run, and compared with what
torch gives. It passes where every sample agrees and no part of one is left to torch. Counted are the ops that
are core ATen ops; `--all` counts all of the database. Prints counts by reason, and exits with 1 where one is
wrong.
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
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}

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


def outcomes(op: Any, most: int) -> Iterator[str]:
    """Yields what became of each sample of an op."""
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=False)
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
        torch.testing.assert_close(list(found), expected, equal_nan=True, check_stride=False, **TOLERANCE)
    except AssertionError as error:
        return f"WRONG: {' '.join(str(error).split())[:160]}"
    return PASSED


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Runs torch's database of ops through Tenon.")
    parser.add_argument("--samples", type=int, default=4, help="how many samples of each op")
    parser.add_argument("--only", default="", help="names of ops, with commas between them")
    parser.add_argument("--all", action="store_true", help="count all ops, not only core ATen ops")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    core, only = core_names(), set(filter(None, chosen.only.split(",")))
    reasons: Counter[str] = Counter()
    for op in op_db:
        if only and op.name not in only:
            continue
        if not only and not chosen.all and (op.aten_name or op.name) not in core:
            continue
        name = op.name + (f" ({op.variant_test_name})" if op.variant_test_name else "")
        if torch.float32 not in op.supported_dtypes("cpu"):
            reasons["no float32 in torch"] += 1
            continue
        torch.manual_seed(0)
        failed = [each for each in outcomes(op, chosen.samples) if each != PASSED]
        reasons[failed[0].partition(":")[0] if failed else PASSED] += 1
        if failed:
            print(f"{name}: {failed[0]}", flush=True)
    counted = reasons.total() - reasons["no float32 in torch"]
    print(f"\n{reasons[PASSED]} of {counted} pass ({reasons[PASSED] / max(counted, 1):.1%})")
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")
    return 1 if any(reason.startswith("WRONG") for reason in reasons) else 0


if __name__ == "__main__":
    sys.exit(main())
