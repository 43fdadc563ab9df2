"""
Replaces every call by the body of the function that it calls.

    func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = graph.exp %x : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {            func.func @f(%a: tensor<4xf32>) -> ... {
      %b = func.call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>  -->  %y = graph.exp %a : tensor<4xf32>
      func.return %b : tensor<4xf32>                                 func.return %y : tensor<4xf32>
    }                                                             }

Calls in regions of loops and branches too. Private functions that nothing calls any more are erased. The
inlined ops keep the locations of the callee's ops; where these name no file, the call's place is added.

Requires: functions of one block. Ensures: no `func.call` remains; a call of a function that has no body, or
that leads back to the function it stands in, is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import CallSiteLoc, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...dialects.modules.entry import check_single_block
from ...dialects.modules.parsing import location_text


@dataclass(frozen=True)
class InlineCallsPass(ModulePass):
    """Replaces every call by the body of the function that it calls."""

    name = "inline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {other.sym_name.data: other for other in op.ops if isinstance(other, func.FuncOp)}
        inliner = _Inliner(functions)
        for function in functions.values():
            inliner.inline(function, ())
        for name in inliner.called:
            function = functions[name]
            if is_private(function):
                function.detach()
                function.erase()


def is_private(function: func.FuncOp) -> bool:
    """Returns whether nothing outside of the module calls a function."""
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


class _Inliner:
    def __init__(self, functions: dict[str, func.FuncOp]) -> None:
        self._functions = functions
        self._done: set[str] = set()
        self.called: dict[str, None] = {}
        """The functions that were put in somewhere."""

    def inline(self, function: func.FuncOp, callers: tuple[str, ...]) -> None:
        """Puts in all that a function calls; `callers` are the functions that this is done for."""
        name = function.sym_name.data
        if name in self._done or function.is_declaration:
            return
        for op in list(function.walk()):
            if isinstance(op, func.CallOp):
                self._replace(op, self._callee(op, (*callers, name)))
        self._done.add(name)

    def _callee(self, op: func.CallOp, callers: tuple[str, ...]) -> func.FuncOp:
        """Returns the function that is called, in which all calls are replaced already."""
        name = op.callee.string_value()
        callee = self._functions.get(name)
        assert callee is not None, f"{op.name}: there is no function @{name}"
        if callee.is_declaration:
            raise PassFailedException(f"{op.name}: @{name} has no body")
        if name in callers:
            chain = " -> ".join(f"@{caller}" for caller in (*callers[callers.index(name) :], name))
            raise PassFailedException(f"{op.name}: @{name} calls itself ({chain})")
        check_single_block(callee)
        self.inline(callee, callers)
        self.called[name] = None
        return callee

    def _replace(self, op: func.CallOp, callee: func.FuncOp) -> None:
        block = op.parent
        assert block is not None, f"{op.name}: stands in no block"
        values: dict[SSAValue, SSAValue] = dict(zip(callee.body.block.args, op.operands, strict=True))
        for inner in callee.body.block.ops:
            if isinstance(inner, func.ReturnOp):
                for result, value in zip(op.results, inner.operands, strict=True):
                    result.replace_all_uses_with(values.get(value, value))
            else:
                put = inner.clone(values)
                if location_text(op.location) is not None:
                    for each in put.walk():
                        if location_text(each.location) is None:
                            each.location = CallSiteLoc(each.location, op.location)
                block.insert_op_before(put, op)
        op.detach()
        op.erase()
