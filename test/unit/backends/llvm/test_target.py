"""The targets `llvm-ir` and `asm`."""

from io import StringIO

from tenon.backends.llvm.target import AsmTarget, LLVMIRTarget
from tenon.dialects.low import LOW
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

COPY = """low.kernel @copy(%x: memref<4xi32>, %y: memref<4xi32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<4xi32>
  memref.store %v, %y[%i] : memref<4xi32>
}"""


def emit(target: LLVMIRTarget | AsmTarget) -> str:
    context = Context()
    for dialect in (Builtin, memref.MemRef, LOW):
        context.load_dialect(dialect)
    output = StringIO()
    target.emit(context, Parser(context, COPY).parse_module(), output)
    return output.getvalue()


def test_llvm_ir_is_the_renderers_text() -> None:
    text = emit(LLVMIRTarget())
    assert LLVMIRTarget.name == "llvm-ir"
    assert text.startswith("define void @copy.range(")


def test_asm_is_assembly() -> None:
    text = emit(AsmTarget())
    assert AsmTarget.name == "asm"
    assert "copy.range:" in text and "copy.chunk:" in text
