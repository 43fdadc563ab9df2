"""Programs compiled for a platform, not yet linked to any context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...backends.interface import Backend, CompiledArtifact
from ...semantics.host_calls import HostFunctions
from ..nodes.tensor_node import TensorNode
from ..plan.lowered_program import LoweredProgram
from ..process_bound import ProcessBound
from .optimize_context import OptimizeContext

if TYPE_CHECKING:
    from .platform import Platform

_next_code_id = count()


class Code(ProcessBound):
    """
    One function, compiled. It belongs to no device: contexts of any device of its platform can link it, any
    number of times. It does not change; any thread may use it.
    """

    COPY_HINT = "pickle the text of a stage, code.stages['graph'], and compile that"

    def __init__(
        self,
        platform: Platform,
        lowered: LoweredProgram,
        nodes: Mapping[str, TensorNode],
        optimize_context: OptimizeContext,
        artifacts: Mapping[int, CompiledArtifact],
        callbacks: HostFunctions,
    ) -> None:
        self.id = next(_next_code_id)
        self.platform = platform
        self.plan = lowered.plan
        self.stages = lowered.stages
        self.nodes = MappingProxyType(dict(nodes))
        """The tensor nodes that the function reads or writes, by the names that they have there."""
        self.optimize_context = optimize_context
        """What later compiles may inline: computations of virtual nodes, of this program and earlier ones."""
        self.callbacks = MappingProxyType(dict(callbacks))
        """The functions of the host that the function may call, by the names that it has for them."""
        self._lowered = lowered
        self._artifacts = dict(artifacts)

    @property
    def name(self) -> str:
        return self.plan.signature.name

    @property
    def kept_nodes(self) -> list[TensorNode]:
        """The nodes that outlive a run: those that contexts need memory for."""
        return [node for node in self.nodes.values() if not node.known_not_materialized]

    @property
    def source(self) -> str:
        """The text that was compiled: LLVM IR, OpenCL C, or for the reference device `low`."""
        return self._lowered.source

    def artifact_for(self, backend: Backend) -> CompiledArtifact:
        """Returns the machine code for a device of the platform."""
        return self._artifacts[id(backend.compiler)]

    def __repr__(self) -> str:
        return f"<Code {self.name} for {self.platform.name}>"


class CodeBatch(Sequence["Code | None"]):
    """Programs compiled together; None for those that the occupancy predicate left out."""

    def __init__(self, codes: Sequence[Code | None], optimize_context: OptimizeContext) -> None:
        self._codes = tuple(codes)
        self.optimize_context = optimize_context
        """What later compiles may inline, from all programs of the batch."""

    def __getitem__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, index: int | str
    ) -> Code | None:
        """
        Returns a program by its place or its name. Raises `KeyError` where none has the name, or several.
        """
        if isinstance(index, str):
            found = [code for code in self._codes if code is not None and code.name == index]
            if len(found) != 1:
                raise KeyError(f"{len(found)} programs of the batch are called {index}")
            return found[0]
        return self._codes[index]

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[Code | None]:
        return iter(self._codes)

    def __repr__(self) -> str:
        names = ", ".join("none" if code is None else code.name for code in self._codes)
        return f"<CodeBatch ({names})>"
