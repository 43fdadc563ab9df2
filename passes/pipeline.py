"""
Every order that passes run in, and the reason for each order that is forced.

`phases` gives the default pipeline in three named parts, one for each level it ends at.
"""

from dataclasses import asdict

from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from ..dialects.low import EXPANDED_OPS
from .graph.canonicalize_graph import CanonicalizeGraphPass
from .graph.decompose_composites import DecomposeCompositesPass
from .graph.decompositions import COMPOSITE_NAMES
from .graph.infer_precision import InferPrecisionPass
from .graph.inline_calls import InlineCallsPass
from .graph.inline_virtual_nodes import InlineVirtualNodesPass
from .graph.loops.carry_older_values import CarryOlderValuesPass
from .graph.loops.copy_carried_parts import CopyCarriedPartsPass
from .graph.loops.double_buffer_loops import DoubleBufferLoopsPass
from .graph.loops.expand_updates import ExpandUpdatesPass
from .graph.loops.hoist_loop_invariants import HoistLoopInvariantsPass
from .graph.loops.share_matrix_reads import ShareMatrixReadsPass
from .graph.mark_symmetric_products import MarkSymmetricProductsPass
from .graph.packing.gather_in_pieces import GatherInPiecesPass
from .graph.packing.lay_channels_last import LayChannelsLastPass
from .graph.packing.multiply_nibbles import MultiplyNibblesPass
from .graph.packing.pack_convolutions import PackConvolutionsPass
from .graph.packing.pack_operands import PackOperandsPass
from .graph.packing.pack_panels import PackPanelsPass
from .graph.packing.widen_rows import WidenRowsPass
from .graph.packing.winograd_convolutions import WinogradConvolutionsPass
from .graph.recognize_gathers import RecognizeGathersPass
from .graph.relax_maxima import RelaxMaximaPass
from .graph.separate_preparation import SeparatePreparationPass
from .graph.simplify_contractions import SimplifyContractionsPass
from .graph.simplify_nodes import SimplifyNodesPass
from .graph.split_reductions import SplitReductionsPass
from .low.exit_searches import ExitSearchesPass
from .low.expand_math import ExpandMathPass
from .low.expand_tiles import ExpandTilesPass
from .low.expand_vectors import ExpandVectorsPass
from .low.fuse_sibling_loops import FuseSiblingLoopsPass
from .low.hoist_invariant_ops import HoistInvariantOpsPass
from .low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from .low.predict_indices import PredictIndicesPass
from .low.promote_scalars import PromoteScalarsPass
from .low.simplify_low import SimplifyLowPass
from .low.stream_stores import StreamStoresPass
from .machine.target import DEFAULT_TARGET, Target
from .rewriting.eliminate_common_subexpressions import EliminateCommonSubexpressionsPass
from .rewriting.verify_stage import VerifyStagePass
from .sched.host.analyze_schedule import AnalyzeSchedulePass
from .sched.host.build_dependencies import BuildDependenciesPass
from .sched.host.hand_over_rows import HandOverRowsPass
from .sched.host.plan_memory import PlanMemoryPass
from .sched.host.rearrange_on_host import RearrangeOnHostPass
from .sched.host.schedule_collectives import ScheduleCollectivesPass
from .sched.mapping.collapse_axes import CollapseAxesPass
from .sched.mapping.contractions.tile_contractions import TileContractionsPass
from .sched.mapping.deduplicate_kernels import DeduplicateKernelsPass
from .sched.mapping.fuse_loops import FuseLoopsPass
from .sched.mapping.fuse_producers import FuseProducersPass
from .sched.mapping.gpu.map_work_groups import MapWorkGroupsPass
from .sched.mapping.inlining.inline_elements import InlineElementsPass
from .sched.mapping.inlining.inline_launches import InlineLaunchesPass
from .sched.mapping.inlining.inline_shared_elements import InlineSharedElementsPass
from .sched.mapping.map_axes import MapAxesPass
from .sched.mapping.merge_launches import MergeLaunchesPass
from .sched.mapping.narrow_loops import NarrowLoopsPass
from .sched.mapping.prefetch_rows import PrefetchRowsPass
from .sched.mapping.skip_padding import SkipPaddingPass
from .sched.mapping.split_borders import SplitBordersPass
from .sched.mapping.stage_images import StageImagesPass
from .sched.mapping.strip_columns import StripColumnsPass
from .sched.mapping.tile_columns import TileColumnsPass
from .sched.mapping.tile_convolutions import TileConvolutionsPass
from .sched.planning.convert_graph_to_sched import ConvertGraphToSchedPass
from .sched.planning.infer_memory_modes import InferMemoryModesPass
from .sched.steps.borders.split_halos import SplitHalosPass
from .sharding.drop_sharding import DropShardingPass


def graph_passes(target: Target, part: str | None = None) -> tuple[ModulePass, ...]:
    """
    Returns the passes from `graph` to better `graph`, for a machine: processors run register tiles. `part` is
    for programs that are prepared: what they make of frozen arguments, or the rest.
    """
    has_tiles = target.groups is None
    return (
        # First: the others see one function at a time.
        InlineCallsPass(),
        # Before what looks at ops: annotations stand between them.
        DropShardingPass(),
        InlineVirtualNodesPass(),
        # After inline-virtual-nodes, which leaves computations that read nodes a second time.
        SimplifyNodesPass(),
        # Before canonicalize-graph: what composites stand for may fold.
        DecomposeCompositesPass(),
        # Before canonicalize-graph, which may move what the pattern consists of.
        RecognizeGathersPass(),
        # After simplify-nodes: what is forwarded may fold.
        CanonicalizeGraphPass(),
        # After canonicalize-graph: what reductions fold to needs no parts.
        SplitReductionsPass(),
        # After canonicalize-graph, which finds the places of boxes; it makes one view of several afterwards.
        ExpandUpdatesPass(),
        # After canonicalize-graph, which drops casts that the rules would have to look through.
        InferPrecisionPass(),
        # After canonicalize-graph, which brings permutations to convolutions; before simplify-contractions,
        # which makes one axis of several.
        *((LayChannelsLastPass(),) if has_tiles else ()),
        # After lay-channels-last. Before simplify-contractions, which makes one axis of window and channels
        # where it can, and of all tiles; before pack-convolutions, which packs the weights of what is left.
        *((target.pass_of(WinogradConvolutionsPass),) if has_tiles else ()),
        # After canonicalize-graph, which brings permutations to contractions; before pack-operands, which
        # looks at the order of the dims.
        SimplifyContractionsPass(),
        # After simplify-contractions, which tells convolutions from products of matrices; before
        # pack-operands, which leaves alone what is packed. What the weights are copied by is simplified then.
        *((target.pass_of(PackConvolutionsPass), SimplifyContractionsPass()) if has_tiles else ()),
        # After simplify-contractions, which brings transposes to contractions. Before what copies operands:
        # they are no longer one value then.
        MarkSymmetricProductsPass(),
        # After simplify-contractions, which would make one dim of the two again. Before what packs operands:
        # bytes are read as they lie.
        *((MultiplyNibblesPass(),) if has_tiles else ()),
        # After infer-precision, which lets contractions read what is narrow. Before pack-panels: what has a
        # tile is left alone.
        *((target.pass_of(WidenRowsPass),) if has_tiles else ()),
        # After infer-precision: what is copied is as narrow as it gets. Before hoist-loop-invariants and
        # eliminate-common-subexpressions: all rounds of a loop, or two contractions, may share a copy.
        # Before pack-operands, which copies what is left and is not contiguous.
        *((target.pass_of(PackPanelsPass),) if has_tiles else ()),
        # After pack-panels, which takes sums over two dims for convolutions: the copy is a small part of the
        # large products that it packs.
        GatherInPiecesPass(),
        PackOperandsPass(),
        # After simplify-contractions, which tells products of matrices and vectors; before
        # hoist-loop-invariants, as a loop of blocks reads more than its block.
        *((target.pass_of(ShareMatrixReadsPass),) if has_tiles else ()),
        # Before eliminate-common-subexpressions: what two loops compute alike is one op only where both can
        # see it.
        HoistLoopInvariantsPass(),
        # After hoist-loop-invariants: what is left changes in each iteration. Before double-buffer-loops,
        # which leaves alone what is stored in place.
        CopyCarriedPartsPass(),
        # After copy-carried-parts, which leaves fewer values that are computed elsewhere; before
        # double-buffer-loops, for which these change places.
        CarryOlderValuesPass(),
        # After hoist-loop-invariants, likewise. Before eliminate-common-subexpressions, for which two
        # iterations may compute the same.
        DoubleBufferLoopsPass(),
        # After canonicalize-graph: equal values are equal text only once they are in canonical form.
        EliminateCommonSubexpressionsPass(),
        # After all that copies weights or computes with them, and after what finds equal copies.
        *(() if part is None else (SeparatePreparationPass(part),)),
        # After eliminate-common-subexpressions, which leaves the operands of what it merged without a use.
        DeadCodeElimination(),
        # After dead-code-elimination, as what reads a value decides; before infer-memory-modes, likewise.
        RelaxMaximaPass(),
        # Last: every rewrite changes who reads what, and a memory mode is about just that.
        target.pass_of(InferMemoryModesPass),
    )


def sched_passes(
    target: Target, schedule: ModulePass | None = None, part: str | None = None
) -> tuple[ModulePass, ...]:
    """
    Returns the passes from `graph` to a complete `sched` module, for a machine; `schedule` is what schedules
    some kernels another way, `part` as in `graph_passes`.
    """
    first: tuple[ModulePass, ...] = (
        # Before all that maps axes: the fewer there are, the less is left over at their ends.
        CollapseAxesPass(),
        # Before tile-contractions, which takes them for products of matrices, one for each row of an image.
        target.pass_of(TileConvolutionsPass),
        # After tile-convolutions, which says what is a convolution; before split-borders and map-axes, which
        # change the kernels whose code it copies.
        target.pass_of(StageImagesPass),
        # Before split-borders and map-axes, which leave alone what is mapped: panels are no borders.
        target.pass_of(TileContractionsPass),
        # After tile-convolutions and tile-contractions, of whose tiles it says what they leave out; before
        # split-borders, which cuts the loops that fill images into pieces: a border has no condition then.
        SkipPaddingPass(),
        # After collapse-axes, which makes one axis of the columns.
        target.pass_of(TileColumnsPass),
        # After collapse-axes, likewise; before map-axes, which maps the columns of a strip to vectors.
        target.pass_of(StripColumnsPass),
        # After fuse-loops, which fuses whole loops; before map-axes, which finds no vector where an index is
        # clamped.
        SplitBordersPass(),
    )
    # Before collapse-axes, which would make one axis of the blocks of a buffer and what is in them; before
    # what schedules kernels, which sees them whole.
    stages: tuple[ModulePass, ...] = (target.pass_of(FuseProducersPass),)
    if target.groups is not None:
        # Without split-borders: loops beside one another would be one work-group. Before map-axes, which
        # leaves alone what is mapped.
        first = (MapWorkGroupsPass(**asdict(target.groups)),)
        # Work-items would have to share the buffers.
        stages = ()
    return (
        VerifyStagePass(absent=COMPOSITE_NAMES),
        target.pass_of(ConvertGraphToSchedPass),
        VerifyStagePass(absent=("func", "graph"), allowed=("graph.dim", "graph.tnode")),
        # Before deduplicate-kernels, which makes one of what is equal then. On GPUs, where rows are placed in
        # the order of the items, nothing could run at the same time.
        *((HandOverRowsPass(),) if target.groups is None else ()),
        # Before all passes over kernels, which then see equal ones once.
        DeduplicateKernelsPass(),
        # After deduplicate-kernels: how much is copied by one kernel is told by its launches. What runs once
        # need not be machine code. Before all that schedules kernels. On GPUs the host is far away.
        *((RearrangeOnHostPass(),) if part == "preparation" and target.groups is None else ()),
        # Before all that schedules kernels: what is inlined gets no schedule of its own. On GPUs, a single
        # work-item would do it all.
        *((InlineLaunchesPass(),) if target.groups is None else ()),
        # After inline-launches, whose kernels are more than a loop over elements; before all that schedules
        # kernels. On GPUs, a single work-item would compute them all.
        *((InlineElementsPass(),) if target.groups is None else ()),
        # Before map-axes, which maps the loops that there are.
        FuseLoopsPass(),
        # After fuse-loops, which fuses loops that are masked alike or not at all; before fuse-producers and
        # collapse-axes, after which indices are computed.
        *((NarrowLoopsPass(),) if target.groups is None else ()),
        *stages,
        # After fuse-producers, which hands on what one launch stores; before all that maps axes.
        *((target.pass_of(MergeLaunchesPass),) if target.groups is None else ()),
        # After merge-launches: what several kernels read, it finds read by one. Before all that maps axes.
        *((InlineSharedElementsPass(),) if target.groups is None else ()),
        # After all that makes or merges launches; before all that maps axes, as its parts are kernels.
        SplitHalosPass(),
        # Before the default schedules, which leave alone what is mapped.
        *(() if schedule is None else (schedule,)),
        *first,
        target.pass_of(MapAxesPass),
        # After map-axes, which says what runs as vectors. On GPUs other work-groups run while one waits.
        *((target.pass_of(PrefetchRowsPass),) if target.groups is None else ()),
        # After all that makes, merges or moves launches. Before build-dependencies, which says what they wait
        # for in their new order, and plan-memory: what is on its way lives longer.
        ScheduleCollectivesPass(),
        # Before plan-memory, which adds the dependencies that sharing memory brings to those of the data.
        BuildDependenciesPass(),
        PlanMemoryPass(),
        # After plan-memory: the critical path follows all dependencies.
        AnalyzeSchedulePass(),
    )


EXPANSIONS: dict[str, type[ModulePass]] = {
    # Before vectors: the loops of a tile have some.
    "low.tile_fma": ExpandTilesPass,
    "vector": ExpandVectorsPass,
}
"""
The ops and dialects that a backend need not have rules for, and the pass that expands each; in the order that
they run in.
"""


def expansions(target: Target) -> tuple[ModulePass, ...]:
    """Returns the passes that expand what a backend lacks."""
    return tuple(target.pass_of(expand) for name, expand in EXPANSIONS.items() if name in target.lacks)


def low_passes(target: Target) -> tuple[ModulePass, ...]:
    """
    Returns the passes from `sched` to `low` kernels that a backend can render that lacks some of the ops in
    `EXPANSIONS`.
    """
    return (
        ConvertSchedToLowPass(),
        VerifyStagePass(absent=("sched.kernel", "sched.axis", "sched.reduce", "sched.alloc", "sched.yield")),
        # Before simplify-low: the expansions bring constants and conversions of their own.
        ExpandMathPass(),
        SimplifyLowPass(),
        EliminateCommonSubexpressionsPass(),
        # After eliminate-common-subexpressions: what two places share may be invariant in a loop that neither
        # alone shows.
        HoistInvariantOpsPass(),
        # After both: what two loops compute before they begin is one value then.
        target.pass_of(FuseSiblingLoopsPass),
        # After eliminate-common-subexpressions and hoist-invariant-ops: one place is one value then, and none
        # of the loop's.
        PromoteScalarsPass(),
        # After all that moves or merges loops: how often a store runs decides.
        target.pass_of(StreamStoresPass),
        # After all that moves or merges loops, and what sees through indices. On GPUs a branch is for all
        # work-items that run together.
        *((ExitSearchesPass(), PredictIndicesPass()) if target.groups is None else ()),
        # After all others, which have less to do as long as a tile is one op and a vector one value.
        *expansions(target),
        VerifyStagePass(absent=(*(op.name for op in EXPANDED_OPS), *target.lacks)),
    )


def phases(
    target: Target = DEFAULT_TARGET, schedule: ModulePass | None = None, part: str | None = None
) -> dict[str, tuple[ModulePass, ...]]:
    """Returns the default pipeline by phase; the arguments are those of `graph_passes` and `sched_passes`."""
    return {
        "graph": graph_passes(target, part),
        "sched": sched_passes(target, schedule, part),
        "low": low_passes(target),
    }
