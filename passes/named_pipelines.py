"""
The phases of the default pipeline under names that pipeline text can use. `pipeline.py` says what is in
them.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass


def _graph_pipeline(vector_nbytes: int = 32) -> tuple[ModulePass, ...]:
    """The default passes from graph to better graph, for vectors of vector-nbytes bytes."""
    from .pipeline import graph_passes

    return graph_passes(vector_nbytes)


def _sched_pipeline(vector_nbytes: int = 32) -> tuple[ModulePass, ...]:
    """The default passes from graph to sched, with memory planned; vectors have vector-nbytes bytes."""
    from .pipeline import sched_passes

    return sched_passes(vector_nbytes)


def _low_pipeline() -> tuple[ModulePass, ...]:
    """The default passes from sched to low kernels that every backend can render."""
    from .pipeline import low_passes

    return low_passes()


def _default_pipeline(vector_nbytes: int = 32) -> tuple[ModulePass, ...]:
    """The graph, sched and low pipelines one after the other."""
    return (*_graph_pipeline(vector_nbytes), *_sched_pipeline(vector_nbytes), *_low_pipeline())


NAMED_PIPELINES: dict[str, Callable[..., tuple[ModulePass, ...]]] = {
    "graph-pipeline": _graph_pipeline,
    "sched-pipeline": _sched_pipeline,
    "low-pipeline": _low_pipeline,
    "default-pipeline": _default_pipeline,
}
