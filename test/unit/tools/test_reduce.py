"""Injected faults: each is found, and the module is reduced to the least that still shows it."""

import os
import signal
import time
from dataclasses import dataclass

import pytest
from tenon import TenonError
from tenon.dialects import graph
from tenon.dialects.modules.parsing import parse_module
from tenon.passes import registry
from tenon.tools.reduce import (
    ChangesSemantics,
    FailsLike,
    Failure,
    FailureKind,
    Trial,
    WrongNumbers,
    reduce_module,
)
from tenon.tools.reduce.child import Died, Finished, TimedOut, call_in_child
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter


@dataclass(frozen=True)
class _Fault(ModulePass):
    """Does something to each `graph.sin` of a module."""

    name = "fault"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, graph.SinOp):
                self.harm(inner)

    def harm(self, op: graph.SinOp) -> None:
        raise NotImplementedError


class CrashPass(_Fault):
    name = "fault-crash"

    def harm(self, op: graph.SinOp) -> None:
        raise ZeroDivisionError("division by zero")


class RefusePass(_Fault):
    name = "fault-refuse"

    def harm(self, op: graph.SinOp) -> None:
        raise TenonError("graph.sin: cannot be handled")


class WrongPass(_Fault):
    name = "fault-wrong"

    def harm(self, op: graph.SinOp) -> None:
        Rewriter.replace_op(op, graph.CosOp(op.operands[0]))


class InvalidPass(_Fault):
    name = "fault-invalid"

    def harm(self, op: graph.SinOp) -> None:
        wrong = graph.tensor_of(op.results[0].type.element_type, (7, 7, 7))
        Rewriter.replace_value_with_new_type(op.results[0], wrong)


class AbortPass(_Fault):
    name = "fault-abort"

    def harm(self, op: graph.SinOp) -> None:
        os.write(2, b"assertion failed: no sines\n")
        os.kill(os.getpid(), signal.SIGABRT)


class HangPass(_Fault):
    name = "fault-hang"

    def harm(self, op: graph.SinOp) -> None:
        time.sleep(60)


FAULTS = (CrashPass, RefusePass, WrongPass, InvalidPass, AbortPass, HangPass)


@pytest.fixture(autouse=True)
def faults(monkeypatch: pytest.MonkeyPatch) -> None:
    for fault in FAULTS:
        monkeypatch.setitem(registry.ALL_PASSES, fault.name, lambda fault=fault: fault)


def program(n_ops: int = 9) -> str:
    """A chain of ops with one sine in the middle, and a result at the end."""
    lines = ["func.func @f(%v0: tensor<4x6xf32>, %w: tensor<4x6xf32>) -> tensor<4x6xf32> {"]
    for number in range(n_ops):
        op = "sin" if number == n_ops // 2 else ("tanh", "abs", "add")[number % 3]
        second = f", %v{max(0, number - 2)}" if op == "add" else ""
        lines.append(f"  %v{number + 1} = graph.{op} %v{number}{second} : tensor<4x6xf32>")
    return "\n".join([*lines, f"  func.return %v{n_ops} : tensor<4x6xf32>", "}"])


def reduced(trial: Trial, text: str) -> tuple[Failure, ModuleOp]:
    module = parse_module(text)
    failure = trial.failure(module)
    assert failure is not None
    return failure, reduce_module(module, FailsLike(trial, failure))


def ops_of(module: ModuleOp) -> list[str]:
    (function,) = module.body.ops
    return [op.name.removeprefix("graph.") for op in function.body.block.ops]


@pytest.mark.parametrize(
    ("fault", "kind", "what"),
    [
        ("crash", FailureKind.ERROR, "ZeroDivisionError from test_reduce.CrashPass.harm"),
        ("refuse", FailureKind.ERROR, "PassError about graph.sin from test_reduce.RefusePass.harm"),
        ("invalid", FailureKind.INVALID, "InvalidModuleError from types.SameTensor.verify"),
        ("abort", FailureKind.CRASH, "SIGABRT"),
    ],
)
def test_a_failure_of_a_pass_has_a_class_that_smaller_modules_share(fault, kind, what):
    trial = Trial(None, f"canonicalize-graph,fault-{fault}")
    failure = trial.failure(parse_module(program()))
    assert failure is not None
    assert failure.kind is kind
    assert failure.where == f"pass `fault-{fault}`"
    assert failure.what.startswith(what)
    is_alike = FailsLike(trial, failure)
    assert is_alike(parse_module(program(1)))
    assert not is_alike(parse_module(program(1).replace("graph.sin", "graph.cos")))


def test_a_program_is_reduced_to_the_op_that_ends_the_process():
    failure, module = reduced(Trial(None, "fault-abort"), program(4))
    assert (failure.kind, failure.what) == (FailureKind.CRASH, "SIGABRT")
    assert ops_of(module) == ["sin", "func.return"]


def test_what_follows_a_failing_pass_is_not_run():
    module = parse_module(program(1))
    failure = Trial(None, "fault-wrong,fault-crash", verify_semantics=True).failure(module)
    assert failure is not None
    assert not FailsLike(Trial(None, "fault-wrong,fault-abort"), failure)(module)
    assert Trial(None, "canonicalize-graph,fault-abort", until="canonicalize-graph").failure(module) is None


def test_what_a_crashing_process_said_is_in_the_message():
    failure = Trial(None, "fault-abort").failure(parse_module(program(3)))
    assert failure is not None
    assert failure.message == "the process ended by SIGABRT (assertion failed: no sines)"


def test_a_pass_that_does_not_end_is_a_timeout():
    failure = Trial(None, "fault-hang", timeout=0.3).failure(parse_module(program(3)))
    assert failure is not None
    assert (failure.kind, failure.where) == (FailureKind.TIMEOUT, "pass `fault-hang`")
    assert failure.message == "no end in 0.3 seconds"


def test_wrong_numbers_of_a_backend_are_kept():
    pipeline = "fault-wrong,default-pipeline"
    module = reduce_module(parse_module(program(2)), WrongNumbers(pipeline=pipeline))
    assert ops_of(module) == ["sin", "func.return"]
    assert not WrongNumbers()(module)


def test_a_pass_that_changes_what_is_computed_is_named_and_kept():
    trial = Trial(None, "canonicalize-graph,fault-wrong", verify_semantics=True)
    failure, module = reduced(trial, program(2))
    assert (failure.kind, failure.where) == (FailureKind.SEMANTICS, "pass `fault-wrong`")
    assert ops_of(module) == ["sin", "func.return"]
    assert ChangesSemantics("fault-wrong", pipeline="fault-wrong,default-pipeline")(module)
    assert not ChangesSemantics("canonicalize-graph", pipeline="fault-wrong,default-pipeline")(module)


def test_the_same_question_gives_the_same_bytes():
    first, second = (
        reduce_module(parse_module(program()), lambda module: "graph.sin" in str(module)) for _ in range(2)
    )
    assert str(first) == str(second)


def test_a_module_that_is_not_interesting_is_an_error():
    with pytest.raises(TenonError, match="the module is not interesting to begin with"):
        reduce_module(parse_module(program(3)), lambda module: False)


def test_an_answer_that_changes_is_an_error():
    answers = iter([True, False])
    with pytest.raises(TenonError, match="interesting no more when it is asked about again"):
        reduce_module(parse_module(program(3)), lambda module: next(answers), reductions=())


def test_what_is_unknown_is_an_error():
    with pytest.raises(TenonError, match="backend 'cuda' is not one of llvm, opencl"):
        Trial("cuda")
    with pytest.raises(TenonError, match="unknown pass 'canonicalise-graph'"):
        Trial(None, "canonicalise-graph")


def test_the_reducer_leaves_the_module_as_it_is():
    module = parse_module(program(5))
    text = str(module)
    reduce_module(module, lambda module: "graph.sin" in str(module))
    assert str(module) == text


def test_a_child_returns_dies_or_is_killed():
    assert call_in_child(lambda note: [1, "a"], 10) == Finished([1, "a"])
    assert call_in_child(lambda note: (note("here"), os._exit(3)), 10) == Died("exit code 3", "here", "")
    assert call_in_child(lambda note: (note("there"), time.sleep(60)), 0.2) == TimedOut("there")
    with pytest.raises(AssertionError, match=r"(?s)no function that can fail, but: .*KeyError: .x."):
        call_in_child(lambda note: {}["x"], 10)
