"""What writes LLVM IR, of which programs that were compiled before need nothing."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from ..interface import DeviceInfo
from .device import CpuDevice


@dataclass(frozen=True)
class LLVMRenderer:
    """Renders LLVM IR. A `sched.program` beside the kernels is for the runtime and is passed over."""

    suffix: str = ".ll"

    def render(self, module: ModuleOp, device: DeviceInfo) -> str:
        from .emission.render import render_module

        assert isinstance(device, CpuDevice), f"llvm cannot render for {device}"
        return render_module(module, device.processor)
