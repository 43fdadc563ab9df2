"""
The phases of the default pipeline under names that pipeline text can use. `pipeline.py` says what is in
them.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass

from ..errors import TenonError


def _is_gpu(who: str, target: str) -> bool:
    """Raises TenonError for a target that is neither cpu nor gpu."""
    if target not in ("cpu", "gpu"):
        raise TenonError(f"{who}: target '{target}' is not one of cpu, gpu")
    return target == "gpu"


def _graph_pipeline(vector_nbytes: int = 32, target: str = "cpu") -> tuple[ModulePass, ...]:
    """The default passes from graph to better graph, for vectors of vector-nbytes bytes on a cpu or gpu."""
    from .pipeline import graph_passes

    return graph_passes(vector_nbytes, has_tiles=not _is_gpu("graph-pipeline", target))


def _sched_pipeline(
    vector_nbytes: int = 32, target: str = "cpu", max_items: int = 256, shared_nbytes: int = 32768
) -> tuple[ModulePass, ...]:
    """
    The default passes from graph to sched, with memory planned; vectors have vector-nbytes bytes. For target
    gpu work-groups have up to max-items work-items, which share up to shared-nbytes.
    """
    from .pipeline import sched_passes
    from .sched.mapping.gpu.map_work_groups import MapWorkGroupsPass

    if not _is_gpu("sched-pipeline", target):
        return sched_passes(vector_nbytes)
    groups = MapWorkGroupsPass(
        max_items=max_items, shared_nbytes=shared_nbytes, vector_nbytes=min(vector_nbytes, 16)
    )
    return sched_passes(vector_nbytes, groups=groups)


def _low_pipeline() -> tuple[ModulePass, ...]:
    """The default passes from sched to low kernels that every backend can render."""
    from .pipeline import low_passes

    return low_passes()


def _default_pipeline(
    vector_nbytes: int = 32, target: str = "cpu", max_items: int = 256, shared_nbytes: int = 32768
) -> tuple[ModulePass, ...]:
    """The graph, sched and low pipelines one after the other."""
    return (
        *_graph_pipeline(vector_nbytes, target),
        *_sched_pipeline(vector_nbytes, target, max_items, shared_nbytes),
        *_low_pipeline(),
    )


NAMED_PIPELINES: dict[str, Callable[..., tuple[ModulePass, ...]]] = {
    "graph-pipeline": _graph_pipeline,
    "sched-pipeline": _sched_pipeline,
    "low-pipeline": _low_pipeline,
    "default-pipeline": _default_pipeline,
}
