"""The program of one rank, as it is written."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, LocationAttr, TensorType
from xdsl.dialects.shard import ShardOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import graph
from ...dialects.dims.expressions import Extent
from ...dialects.element_types import element_type_of
from ...dialects.graph import tensor_of
from ...dialects.sharding import Interval, Mesh, Sharding
from ...dialects.sharding.blocks import common, length
from .bits import as_numbers, chosen_by
from .exchange import exchange_of
from .halos import Box, Piece, Pieces, are_halos
from .part import Part, Wants, block_part, spread, wants_of
from .reshard import Gather, Move, Slice, steps_between
from .rules import extents

Asker = tuple[int, SSAValue]
"""The number of a region, in the order in which they are written, and a value that is read in it."""

View = Callable[["RankProgram", Operation, Wants], SSAValue]
"""Writes what is wanted of the result of an op."""


class RankProgram:
    """
    Writes the program of one rank at the end of `block`. Values of the program over the mesh are looked up by
    what is wanted of them; `made` has what was written so far, in the regions around too. Ops that only move
    elements are written where what they give is wanted: so a slice of padded rows fetches the rows that it
    has not from a neighbour, and no others.

    The collectives do not depend on the rank: those of all ranks meet.
    """

    def __init__(
        self,
        mesh: Mesh,
        rank: int,
        homes: Mapping[SSAValue, Sharding],
        views: Mapping[type[Operation], View],
        read_in_place: Mapping[Operation, View],
        last_channel: int = 0,
        hulls: Mapping[Asker, Mapping[Wants, Wants]] | None = None,
        spans: Mapping[Asker, Mapping[Wants, Wants]] | None = None,
    ) -> None:
        self.mesh = mesh
        self.rank = rank
        self.homes = homes
        self._views = views
        self._read_in_place = read_in_place
        self.block = Block()
        self.location: LocationAttr | None = None
        self.made: ChainMap[tuple[SSAValue, Wants], SSAValue] = ChainMap()
        self.last_channel = last_channel
        self.sums: list[tuple[graph.AllReduceOp, Operation]] = []
        """The sums of all ranks, each with the op of the program over the mesh that it finishes."""
        self.asked: dict[Asker, list[Wants]] = {}
        """What the views of a region asked of a value of which ranks have other elements."""
        self._hulls: Mapping[Asker, Mapping[Wants, Wants]] = {} if hulls is None else hulls
        self.asked_padded: dict[Asker, list[Wants]] = {}
        """What was asked of a padded value in a region, as often as it was."""
        self._spans: Mapping[Asker, Mapping[Wants, Wants]] = {} if spans is None else spans
        self._halos: ChainMap[tuple[SSAValue, Wants], Piece | Pieces] = ChainMap()
        self._regions = [0]
        self._n_regions = 0

    def view_of(self, op: Operation) -> View | None:
        """Returns what writes an op where it is read; None where it is written where it stands."""
        return self._views.get(type(op)) or self._read_in_place.get(op)

    def channel(self) -> int:
        """Returns the number of the next collective."""
        self.last_channel += 1
        return self.last_channel

    def write(self, op: Operation) -> None:
        """Writes an op, with the location of what is written now."""
        if self.location is not None:
            op.location = self.location
        self.block.add_op(op)

    def add(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Writes an op with one result and returns that, named `hint`."""
        self.write(op)
        result = op.results[0]
        result.name_hint = hint
        return result

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Writes into the block of a region, whose values are seen there only."""
        around, made, halos = self.block, self.made, self._halos
        self.block, self.made, self._halos = block, made.new_child(), halos.new_child()
        self._n_regions += 1
        self._regions.append(self._n_regions)
        try:
            yield
        finally:
            self.block, self.made, self._halos = around, made, halos
            self._regions.pop()

    def scalar(self, value: float, element_type: Attribute) -> SSAValue:
        """Returns a constant of rank 0."""
        type = tensor_of(element_type, ())
        return self.add(graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, (value,))))

    def splat(self, value: float, type: TensorType[Attribute]) -> SSAValue:
        """Returns `value` for every element of a tensor of `type`."""
        return self.add(graph.BroadcastOp(self.scalar(value, type.element_type), type))

    def cast_to(self, element_type: Attribute) -> Callable[[SSAValue], SSAValue]:
        """Returns what writes a cast of a value to an element type."""
        return lambda value: self.add(graph.CastOp(value, tensor_of(element_type, self.shape(value))))

    def bits_as(self, value: SSAValue, element_type: Attribute) -> SSAValue:
        """Returns the bits of a value as another element type; itself if it has that already."""
        if element_type_of(value.type) == element_type:
            return value
        return self.add(graph.BitcastOp(value, tensor_of(element_type, self.shape(value))))

    def shape(self, value: SSAValue) -> tuple[Extent, ...]:
        return extents(value)

    def home(self, value: SSAValue) -> Sharding:
        """Returns how a value of the program over the mesh is split."""
        found = self.homes.get(value)
        return Sharding.whole(len(self.shape(value))) if found is None else found

    def wants(self, value: SSAValue, sharding: Sharding | None = None) -> Wants:
        """Returns what ranks have of a value that is split so, as its home is if nothing is said."""
        return wants_of(self.mesh, self.home(value) if sharding is None else sharding, self.shape(value))

    def local_type(self, value: SSAValue, sharding: Sharding) -> Attribute:
        """Returns the type of this rank's part of a value."""
        if isinstance(value.type, IndexType):
            return value.type
        shape = sharding.local_shape(self.mesh, self.shape(value), self.rank)
        return tensor_of(element_type_of(value.type), shape)

    def local_extent(self, extent: Extent, axes: Sequence[int]) -> int:
        """Returns how many indices this rank has of a dim that is split over some axes."""
        return length(self._block(extent, axes))

    def mine(self, part: Part) -> Interval:
        return part.mine(self.mesh, self.rank)

    def note(self, value: SSAValue, local: SSAValue) -> None:
        """Notes this rank's part of a value, split as its home says."""
        if local.name_hint is None:
            local.name_hint = value.name_hint
        self.made[value, self.wants(value)] = local

    def at(self, value: SSAValue, sharding: Sharding) -> SSAValue:
        """Returns this rank's part of a value that is split so."""
        wants = self.wants(value, sharding)
        if (value, wants) in self.made:
            return self.made[value, wants]
        if self.is_view(value):
            return self.local(value, wants)
        local = self.resharded(self.local(value), self.shape(value), self.home(value), sharding)
        self.made[value, wants] = local
        return local

    def local(self, value: SSAValue, wants: Wants | None = None) -> SSAValue:
        """Returns what this rank wants of a value; what it has of it if nothing is said."""
        if wants is None:
            wants = self.wants(value)
        if (value, wants) not in self.made:
            local = self._written(value, wants)
            if local.name_hint is None:
                local.name_hint = value.name_hint
            self.made[value, wants] = local
        return self.made[value, wants]

    def is_view(self, value: SSAValue) -> bool:
        """Returns whether what is wanted of a value is written anew rather than taken from what there is."""
        owner = value.owner
        if isinstance(owner, ShardOp):
            return self.home(owner.src) == self.home(value) and self.is_view(owner.src)
        return (
            isinstance(owner, Operation)
            and self.view_of(owner) is not None
            and (
                (value, self.wants(value)) not in self.made or (value, self.wants(value)) in self.made.maps[0]
            )
        )

    def _written(self, value: SSAValue, wants: Wants) -> SSAValue:
        owner = value.owner
        if isinstance(owner, ShardOp):
            if self.home(owner.src) == self.home(value):
                return self.local(owner.src, wants)
            if wants == self.wants(value):
                return self.at(owner.src, self.home(value))
        elif isinstance(owner, Operation) and self.is_view(value) and (view := self.view_of(owner)):
            around, self.location = self.location, owner.location
            try:
                span = self._spans.get((self._regions[-1], value), {}).get(wants, wants)
                if span != wants:
                    return self._within(value, span, wants)
                return view(self, owner, wants)
            finally:
                self.location = around
        assert wants != self.wants(value), f"{value} is used before it is written"
        return self._fetched(value, wants)

    def sliced(self, padded: SSAValue, wants: Wants) -> None:
        """Notes that a slice wants so much of a padded value."""
        self.asked_padded.setdefault((self._regions[-1], padded), []).append(wants)

    def _within(self, value: SSAValue, span: Wants, wants: Wants) -> SSAValue:
        """Returns what is wanted of a value, cut out of a span of it."""
        whole = self.local(value, span)
        return self._cut_out(Piece(whole, self._box(span)), self._box(wants), whole)

    def _fetched(self, value: SSAValue, wants: Wants) -> SSAValue:
        """Returns what is wanted of a value that is there, split as its home says."""
        local, shape, home = self.local(value), self.shape(value), self.home(value)
        if are_halos(wants, own := self.wants(value)):
            self.asked.setdefault((self._regions[-1], value), []).append(wants)
            if (hull := self._hull(value, wants)) is not None:
                return self._cut_out(self._with_halos(value, own, hull), self._box(wants), local)
        wanted = [() if part is None else part.axes for part in wants]
        if any(
            axis in other
            for dim, axes in enumerate(home.split)
            for axis in axes
            for at, other in enumerate(wanted)
            if at != dim
        ):
            # An axis that splits one dim here and another there: whoever has rows lacks columns.
            is_enough = [
                isinstance(extent, int) and extent >= self.mesh.count(axes)
                for extent, axes in zip(shape, wanted, strict=True)
            ]
            moved = Sharding(
                tuple(axes if enough else () for axes, enough in zip(wanted, is_enough, strict=True))
            )
            local = self.resharded(local, shape, home, moved)
            home = moved
        for dim, (extent, axes, part) in enumerate(zip(shape, home.split, wants, strict=True)):
            if isinstance(extent, int) and (axes or part is not None):
                whole = Part((), ((0, extent),))
                own = block_part(self.mesh, extent, axes) if axes else whole
                local = self.fetch(local, dim, own, whole if part is None else part)
        return local

    def _hull(self, value: SSAValue, wants: Wants) -> Wants | None:
        """Returns what wants are fetched with: in this region, or in one around it that has done so."""
        for number in reversed(self._regions):
            found = self._hulls.get((number, value))
            hull = None if found is None else found.get(wants)
            if hull is not None and (number == self._regions[-1] or (value, hull) in self._halos):
                return hull
        return None

    def _box(self, wants: Wants) -> Box:
        return tuple(None if part is None else self.mine(part) for part in wants)

    def _with_halos(self, value: SSAValue, own: Wants, hull: Wants) -> Piece | Pieces:
        """Returns what this rank has of a value, and gets, to have all of `hull`."""
        if (value, hull) in self._halos:
            return self._halos[value, hull]
        local = self.local(value)
        box, element = list(self._box(own)), element_type_of(local.type)
        pieces: Piece | Pieces = Piece(local, tuple(box))
        for dim, (owned, want) in enumerate(zip(own, hull, strict=True)):
            if owned is None or want is None or owned == want:
                continue
            kept, me = common(self.mine(owned), self.mine(want)), self.mesh.member(owned.axes, self.rank)
            parts: list[tuple[Interval, Piece | Pieces]] = [(kept, pieces)] if length(kept) else []
            for messages in exchange_of(owned.intervals, want.intervals).rounds:
                # Who sends nothing gives what is there already.
                sent, got = local, (0, 0)
                for message in messages:
                    if message.source == me:
                        face = (*box[:dim], message.interval, *box[dim + 1 :])
                        sent = self._cut_out(pieces, face, local)
                    if message.target == me:
                        got = message.interval
                around = (*box[:dim], got, *box[dim + 1 :])
                pairs = tuple((message.source, message.target) for message in messages)
                type = tensor_of(element, self._sizes(around, local))
                received = self.add(
                    graph.CollectivePermuteOp(sent, self.mesh.name, owned.axes, pairs, self.channel(), type),
                    local.name_hint and f"{local.name_hint}_halo",
                )
                if length(got):
                    parts.append((got, Piece(received, around)))
            pieces = Pieces(dim, tuple(sorted(parts, key=lambda part: part[0])))
            box[dim] = self.mine(want)
        self._halos[value, hull] = pieces
        return pieces

    def _sizes(self, box: Box, local: SSAValue) -> tuple[Extent, ...]:
        pairs = zip(self.shape(local), box, strict=True)
        return tuple(extent if interval is None else length(interval) for extent, interval in pairs)

    def _cut_out(self, pieces: Piece | Pieces, box: Box, local: SSAValue) -> SSAValue:
        """Returns a box of a value in pieces, of which this rank has `local`."""
        sizes = self._sizes(box, local)
        if 0 in sizes:
            return self.splat(0, tensor_of(element_type_of(local.type), sizes))
        if isinstance(pieces, Pieces):
            dim, wanted = pieces.dim, box[pieces.dim]
            assert wanted is not None, f"a dim in pieces of which all is wanted ({dim})"
            shared = [(common(interval, wanted), piece) for interval, piece in pieces.parts]
            return self.concat(
                [
                    self._cut_out(piece, (*box[:dim], interval, *box[dim + 1 :]), local)
                    for interval, piece in shared
                    if length(interval)
                ],
                dim,
            )
        if box == pieces.box:
            return pieces.value
        offsets = [
            0 if interval is None or has is None else interval[0] - has[0]
            for interval, has in zip(box, pieces.box, strict=True)
        ]
        ones = [1] * len(sizes)
        return self.add(graph.SliceOp(pieces.value, offsets, sizes, ones), pieces.value.name_hint)

    def resharded(
        self, local: SSAValue, shape: Sequence[Extent], before: Sharding, after: Sharding
    ) -> SSAValue:
        """Returns this rank's part under another sharding."""
        now = [list(axes) for axes in before.split]
        for step in steps_between(before, after):
            match step:
                case Slice(dim, axes):
                    around = self._block(shape[dim], now[dim])
                    now[dim] += axes
                    begin, end = self._block(shape[dim], now[dim])
                    local = self.slice(local, dim, (begin - around[0], end - around[0]))
                case Gather(dim, axes):
                    del now[dim][len(now[dim]) - len(axes) :]
                    extent = self.local_extent(shape[dim], now[dim])
                    local = self.add(
                        graph.AllGatherOp(local, self.mesh.name, axes, dim, self.channel(), extent)
                    )
                case Move(source, target, axes):
                    del now[source][len(now[source]) - len(axes) :]
                    now[target] += axes
                    sizes = (
                        self.local_extent(shape[target], now[target]),
                        self.local_extent(shape[source], now[source]),
                    )
                    local = self.add(
                        graph.AllToAllOp(local, self.mesh.name, axes, target, source, self.channel(), sizes)
                    )
        return local

    def _block(self, extent: Extent, axes: Sequence[int]) -> Interval:
        assert isinstance(extent, int), f"a dim of {extent} is split"
        return self.mine(block_part(self.mesh, extent, tuple(axes)))

    def slice(self, local: SSAValue, dim: int, interval: Interval, step: int = 1) -> SSAValue:
        """Returns some of the indices of a dim, every `step`th from the first on."""
        shape = self.shape(local)
        count = -(-length(interval) // step)
        if count == shape[dim]:
            return local
        offsets = [interval[0] if axis == dim else 0 for axis in range(len(shape))]
        sizes = [count if axis == dim else extent for axis, extent in enumerate(shape)]
        strides = [step if axis == dim else 1 for axis in range(len(shape))]
        if not count:
            offsets[dim] = 0
        return self.add(graph.SliceOp(local, offsets, sizes, strides), local.name_hint)

    def concat(self, pieces: Sequence[SSAValue], dim: int) -> SSAValue:
        """Returns pieces one after the other, without those that are empty; at least one is given."""
        full = [piece for piece in pieces if self.shape(piece)[dim] != 0] or [pieces[0]]
        return full[0] if len(full) == 1 else self.add(graph.ConcatOp(full, dim))

    def fetch(self, local: SSAValue, dim: int, own: Part, want: Part) -> SSAValue:
        """Returns what is wanted of a dim of which members have their own parts; `local` is this rank's."""
        if own == want:
            return local
        axes = (*own.axes, *(axis for axis in want.axes if axis not in own.axes))
        owned, wanted = (spread(self.mesh.shape, part, axes) for part in (own, want))
        me = self.mesh.member(axes, self.rank)
        mine, my_want = owned[me], wanted[me]
        if all(
            common(has, needs) == needs or not length(needs) for has, needs in zip(owned, wanted, strict=True)
        ):
            begin = my_want[0] - mine[0] if length(my_want) else 0
            return self.slice(local, dim, (begin, begin + length(my_want)))
        if len(set(wanted)) == 1:
            return self._gathered(local, dim, own, want.intervals[0])
        return self._exchanged(local, dim, axes, owned, (wanted,))[0]

    def fetch_pieces(self, local: SSAValue, dim: int, own: Part, wants: Sequence[Part]) -> list[SSAValue]:
        """
        Returns several pieces of a dim of which members have their own parts. What is sent for one and for
        another shares a collective wherever no rank sends or gets both.
        """
        axes = tuple(dict.fromkeys(axis for part in (own, *wants) for axis in part.axes))
        owned, *wanted = (spread(self.mesh.shape, part, axes) for part in (own, *wants))
        alone = sum(len(exchange_of(owned, each).rounds) for each in wanted)
        if len(exchange_of(owned, *wanted).rounds) >= alone:
            return [self.fetch(local, dim, own, want) for want in wants]
        return self._exchanged(local, dim, axes, owned, wanted)

    def _exchanged(
        self,
        local: SSAValue,
        dim: int,
        axes: tuple[int, ...],
        owned: tuple[Interval, ...],
        wanted: Sequence[tuple[Interval, ...]],
    ) -> list[SSAValue]:
        """Returns the pieces that this member wants, of which others send what it has not."""
        me = self.mesh.member(axes, self.rank)
        mine, shape = owned[me], self.shape(local)
        element = element_type_of(local.type)
        found: list[list[tuple[Interval, SSAValue]]] = []
        for wants in wanted:
            kept = common(mine, wants[me])
            found.append([(kept, self._cut(local, dim, mine, kept))] if length(kept) else [])
        for messages in exchange_of(owned, *wanted).rounds:
            sent, got, piece = local, (0, 0), 0
            for message in messages:
                if message.source == me:
                    sent = self._cut(local, dim, mine, message.interval)
                if message.target == me:
                    got, piece = message.interval, message.piece
            extents = tuple(length(got) if axis == dim else extent for axis, extent in enumerate(shape))
            pairs = tuple((message.source, message.target) for message in messages)
            op = graph.CollectivePermuteOp(
                sent, self.mesh.name, axes, pairs, self.channel(), tensor_of(element, extents)
            )
            received = self.add(op, local.name_hint and f"{local.name_hint}_halo")
            if length(got):
                found[piece].append((got, received))
        return [
            self.concat([part for _, part in sorted(parts, key=lambda each: each[0])], dim)
            if parts
            else self.slice(local, dim, (0, 0))
            for parts in found
        ]

    def _cut(self, local: SSAValue, dim: int, own: Interval, wanted: Interval) -> SSAValue:
        return self.slice(local, dim, (wanted[0] - own[0], wanted[1] - own[0]))

    def _gathered(self, local: SSAValue, dim: int, own: Part, want: Interval) -> SSAValue:
        """Returns what all members want alike, of which each has a part."""
        total = own.intervals[-1][1]
        is_in_blocks = own == block_part(self.mesh, total, own.axes)
        if is_in_blocks and 2 * length(want) >= total:
            gathered = self.add(
                graph.AllGatherOp(local, self.mesh.name, own.axes, dim, self.channel(), total)
            )
            return self.slice(gathered, dim, want)
        mine = self.mine(own)
        kept = common(mine, want)
        shape, element = self.shape(local), element_type_of(local.type)
        extents = tuple(length(want) if axis == dim else extent for axis, extent in enumerate(shape))
        if length(kept):
            low = [kept[0] - want[0] if axis == dim else 0 for axis in range(len(shape))]
            high = [want[1] - kept[1] if axis == dim else 0 for axis in range(len(shape))]
            zero = self.scalar(0, element)
            padded = self.add(graph.PadOp(self._cut(local, dim, mine, kept), zero, low, high))
        else:
            padded = self.splat(0, tensor_of(element, extents))
        return self.only_one(padded, own.axes)

    def only_one(self, local: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Returns the elements that one member of a group has, all bits of them; the others have zeros."""
        element = element_type_of(local.type)
        local = self.bits_as(local, as_numbers(element))
        kind = chosen_by(element)
        summed = self.add(graph.AllReduceOp(kind, local, self.mesh.name, tuple(axes), self.channel()))
        return self.bits_as(summed, element)
