"""
Contexts, transfers, routines, merge buffers, finalisation and garbage collection on two devices, in any
order, against a model in numpy: whatever is scheduled happens at once there.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from time import sleep
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tenon.errors import ContextError
from tenon.runtime.memory.segments import aligned
from tenon.runtime.nodes.tensor_node import TensorNode
from tenon.runtime.platforms.code import Code
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.node_buffer import NodeBuffer
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.platforms.routine import Routine
from tenon.runtime.streams.event import Event

Array = npt.NDArray[Any]
Values = dict[str, Array]

SHAPES = {"a": (4,), "b": (4,), "c": (6, 4), "h": (4,)}
HOSTED = "h"

NODES = "".join(
    f"graph.tnode @{name} : tensor<{'x'.join(map(str, shape))}xf32> "
    f"mode {'hosted' if name == HOSTED else 'on_device'}\n"
    for name, shape in SHAPES.items()
)

PROGRAMS = {
    "double": """func.func @double() {
      %a = graph.read @a : tensor<4xf32>
      %b = graph.add %a, %a : tensor<4xf32>
      graph.write @b, %b : tensor<4xf32>
      func.return
    }""",
    "add": """func.func @add() {
      %a = graph.read @a : tensor<4xf32>
      graph.write add @b, %a : tensor<4xf32>
      func.return
    }""",
    "set_row": """func.func @set_row(%i: index) {
      %a = graph.read @a : tensor<4xf32>
      graph.write @c[%i], %a : tensor<4xf32>
      func.return
    }""",
    "get_row": """func.func @get_row(%i: index) {
      %row = graph.read @c[%i] : tensor<4xf32>
      %some = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %a = graph.add %row, %some : tensor<4xf32>
      graph.write @a, %a : tensor<4xf32>
      func.return
    }""",
    "send": """func.func @send() {
      %h = graph.read @h : tensor<4xf32>
      graph.write @a, %h : tensor<4xf32>
      func.return
    }""",
    "bump": """func.func @bump() {
      %a = graph.read @a : tensor<4xf32>
      graph.write add @h, %a : tensor<4xf32>
      func.return
    }""",
    "merge": """func.func @merge() {
      %other = graph.merge @a : tensor<4xf32>
      graph.write add @a, %other : tensor<4xf32>
      func.return
    }""",
}

USES: Mapping[str, tuple[str, ...]] = {
    "double": ("a", "b"),
    "add": ("a", "b"),
    "set_row": ("a", "c"),
    "get_row": ("a", "c"),
    "send": ("a", "h"),
    "bump": ("a", "h"),
    "merge": ("a",),
}
"""What has memory where a program is linked."""

PLATFORMS = {
    "llvm-sync": ("llvm", "sync"),
    "llvm-multicore": ("llvm", "multicore"),
    "opencl": ("opencl", None),
    "reference": ("reference", "sync"),
}


@dataclass(eq=False)
class Cells:
    """What the memory of a node should hold; None before it was written."""

    value: Array | None = None
    version: int = -1
    """Of a hosted node: how often the host had written when this was written."""


@dataclass(eq=False)
class Model:
    """What a context should be."""

    context: Context
    device: int
    parent: Model | None
    cells: dict[str, Cells] = field(default_factory=dict[str, Cells])
    merged: str | None = None
    was_finalized: bool = False

    @property
    def is_finalized(self) -> bool:
        return self.was_finalized or (self.parent is not None and self.parent.is_finalized)

    def child(self, context: Context, new: tuple[str, ...] = (), merged: str | None = None) -> Model:
        added = {name: Cells() for name in new if name not in self.cells}
        return Model(context, self.device, self, {**self.cells, **added}, merged or self.merged)


@dataclass(eq=False)
class Linked:
    """A routine, and what a run of it should do; `run` gives False where it should be refused."""

    routine: Routine
    model: Model
    has_symbol: bool
    run: Callable[[int], bool]
    copied: tuple[Model, str] | None = None
    """What a copy between devices reads."""


@dataclass
class HostModel:
    """What the host's copy of the hosted node should be, and the memory with newer values, if any."""

    value: Array
    version: int = 0
    newer: Cells | None = None

    def read(self) -> Array:
        if self.newer is not None:
            assert self.newer.value is not None
            self.value, self.newer = self.newer.value.copy(), None
        return self.value

    def write(self, value: Array) -> None:
        self.value, self.newer = value, None
        self.version += 1


@dataclass
class MergeModel:
    nbytes: int = 0
    node: str | None = None
    value: Array | None = None


def open_platform(kind: str) -> Platform:
    backend, scheduler = PLATFORMS[kind]
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    return tenon.open_platform(backend, scheduler=scheduler, num_devices=2, pool_limit=192)


def values_of(name: str, seed: int) -> Array:
    shape = SHAPES[name]
    return (np.arange(int(np.prod(shape)), dtype=np.float32) * 10 + seed).reshape(shape)


PLACES = st.integers(0, 1000)
NAMES = st.sampled_from(sorted(SHAPES))
SEEDS = st.integers(0, 99)
DEVICES = st.integers(0, 1)
ROWS = st.integers(0, 5)


class RuntimeMachine(RuleBasedStateMachine):
    """Rules take numbers that choose among the contexts and routines there are."""

    platform: Platform
    codes: Mapping[str, Code]
    nodes: Mapping[str, TensorNode]

    @initialize()
    def start(self) -> None:
        self.models: list[Model] = []
        self.linked: list[Linked] = []
        self.merge = [MergeModel(), MergeModel()]
        self.pending: list[tuple[Event, Array, Array]] = []
        self.host = HostModel(np.zeros(SHAPES[HOSTED], np.float32))
        self.nodes[HOSTED].set_values(self.host.value)
        # A run that failed may be held by its traceback.
        self.before = [device.used_memory for device in self.platform.devices]
        for device in self.platform.devices:
            self.models.append(Model(device.make_context(), device.ordinal, None))
        # Something to begin with: all nodes on both devices, and copies from each to the other.
        for number in (0, 1):
            for name in SHAPES:
                self.init(number, name, number)
                self.models[number] = self.models.pop()
        for name in SHAPES:
            for number in (0, 1):
                self.copy_from(number, 1 - number, name, into_merge_buffer=False)
        del self.models[2:]

    def _pick(self, place: int) -> Model:
        return self.models[place % len(self.models)]

    def _refused(self, call: Callable[[], object]) -> None:
        with pytest.raises(ContextError):
            call()

    def _read(self, name: str, cells: Cells) -> Array | None:
        """Returns what a device reads, which a hosted node may get from the host only now."""
        if name == HOSTED and cells.version != self.host.version:
            self._write(name, cells, self.host.read().copy(), is_sent=True)
        return cells.value

    def _write(self, name: str, cells: Cells, value: Array, is_sent: bool = False) -> None:
        cells.value = value
        if name == HOSTED:
            cells.version = self.host.version
            if not is_sent:
                self.host.newer = cells

    def _fetch(self) -> None:
        """Reads the hosted node on the host: the memory with its newest values may be gone soon."""
        np.testing.assert_array_equal(self.nodes[HOSTED].get_values(), self.host.read())

    # Contexts

    @rule(device=DEVICES)
    def make_root(self, device: int) -> None:
        self.models.append(Model(self.platform.get_device(device).make_context(), device, None))

    @precondition(lambda self: self.models)
    @rule(place=PLACES, names=st.lists(NAMES, max_size=3))
    def make_child(self, place: int, names: list[str]) -> None:
        model = self._pick(place)
        nodes = [self.nodes[name] for name in names]
        if model.is_finalized:
            self._refused(lambda: model.context.make_child(nodes))
            return
        self.models.append(model.child(model.context.make_child(nodes), tuple(names)))

    @precondition(lambda self: self.models)
    @rule(place=PLACES, name=NAMES, seed=st.none() | SEEDS)
    def init(self, place: int, name: str, seed: int | None) -> None:
        model, node = self._pick(place), self.nodes[name]
        value = np.zeros(SHAPES[name], np.float32) if seed is None else values_of(name, seed)

        def call() -> Context:
            context = model.context
            return context.init_zeros(node) if seed is None else context.init_from_host(node, value)

        if model.is_finalized or name in model.cells:
            self._refused(call)
            return
        child = model.child(call(), (name,))
        self._write(name, child.cells[name], value)
        self.models.append(child)

    @precondition(lambda self: len(self.models) > 2)
    @rule(place=PLACES)
    def finalize(self, place: int) -> None:
        model = self._pick(place)
        self._fetch()
        model.context.finalize()
        model.was_finalized = True
        assert model.context.is_finalized

    @precondition(lambda self: len(self.models) > 2)
    @rule(place=PLACES)
    def forget_context(self, place: int) -> None:
        self._fetch()
        del self.models[place % len(self.models)]

    @precondition(lambda self: self.linked)
    @rule(place=PLACES)
    def forget_routine(self, place: int) -> None:
        self._fetch()
        del self.linked[place % len(self.linked)]

    @rule()
    def collect(self) -> None:
        gc.collect(1)

    # The host's copy of the hosted node

    @rule()
    def read_on_host(self) -> None:
        self._fetch()

    @rule(seed=SEEDS)
    def write_on_host(self, seed: int) -> None:
        value = values_of(HOSTED, seed)
        self.nodes[HOSTED].set_values(value)
        self.host.write(value)

    @rule(seed=SEEDS, place=st.integers(0, 3))
    def write_one_on_host(self, seed: int, place: int) -> None:
        self.nodes[HOSTED].set_value([place], seed)
        value = self.host.read().copy()
        value[place] = seed
        self.host.write(value)

    # Transfers

    @precondition(lambda self: self.models)
    @rule(place=PLACES, name=NAMES, seed=SEEDS, row=st.none() | ROWS, queued=st.booleans())
    def from_host(self, place: int, name: str, seed: int, row: int | None, queued: bool) -> None:
        model, node = self._pick(place), self.nodes[name]
        index = None if row is None else row if name == "c" else slice(1 + row % 3, None)
        value = values_of(name, seed)
        part = value if index is None else value[index].copy()
        send = model.context.queue_from_host if queued else model.context.from_host
        cells = model.cells.get(name)
        if model.is_finalized or cells is None or (index is not None and self._read(name, cells) is None):
            self._refused(lambda: send(node, part, index=index))
            return
        event = send(node, part, index=index)
        # Queued copies read the array until they are done.
        self.pending.append((event, part, part.copy()))
        if index is not None:
            assert cells.value is not None
            value = cells.value.copy()
            value[index] = part
        self._write(name, cells, value)

    @precondition(lambda self: self.models)
    @rule(place=PLACES, name=NAMES, queued=st.booleans())
    def to_host(self, place: int, name: str, queued: bool) -> None:
        model, node = self._pick(place), self.nodes[name]
        cells = model.cells.get(name)
        out = np.full(SHAPES[name], -1, np.float32)
        expected = None if model.is_finalized or cells is None else self._read(name, cells)
        if expected is None:
            self._refused(lambda: model.context.to_host(node, out))
        elif queued:
            self.pending.append((model.context.queue_to_host(node, out), out, expected.copy()))
        else:
            np.testing.assert_array_equal(model.context.to_host(node, out), expected)

    @precondition(lambda self: self.models)
    @rule(place=PLACES, source_place=PLACES, name=NAMES, into_merge_buffer=st.booleans())
    def copy_from(self, place: int, source_place: int, name: str, into_merge_buffer: bool) -> None:
        model, source, node = self._pick(place), self._pick(source_place), self.nodes[name]

        def call() -> Routine | None:
            return model.context.device_to_device(node, source.context, into_merge_buffer=into_merge_buffer)

        if model.is_finalized or source.is_finalized:
            self._refused(call)
            return
        routine = call()
        origin, target = source.cells.get(name), model.cells.get(name)
        if origin is None or (not into_merge_buffer and (target is None or target is origin)):
            assert routine is None
            return
        assert routine is not None
        after = model.child(routine.context, merged=name if into_merge_buffer else None)

        def run(_: int) -> bool:
            if after.is_finalized or source.is_finalized:
                return False
            value = self._read(name, origin)
            if value is None:
                return False
            if into_merge_buffer:
                nbytes = max(aligned(node.nbytes), self.merge[model.device].nbytes)
                self.merge[model.device] = MergeModel(nbytes, name, value.copy())
            else:
                assert target is not None
                self._write(name, target, value.copy())
            return True

        self.models.append(after)
        self.linked.append(Linked(routine, after, False, run, (source, name)))

    # Routines

    @precondition(lambda self: self.models)
    @rule(place=PLACES, program=st.sampled_from(sorted(PROGRAMS)))
    def link(self, place: int, program: str) -> None:
        model, code = self._pick(place), self.codes[program]
        if model.is_finalized or (program == "merge" and model.merged != "a"):
            self._refused(lambda: model.context.link(code))
            return
        routine = model.context.link(code)
        after = model.child(routine.context, USES[program])
        cells = after.cells
        reads = [node.code_name or "" for node in routine.inputs]

        def run(row: int) -> bool:
            if after.is_finalized or any(self._read(name, cells[name]) is None for name in reads):
                return False
            merge = self.merge[model.device]
            if program == "merge" and merge.node != "a":
                return False
            self._compute(program, cells, merge, row)
            return True

        self.models.append(after)
        self.linked.append(Linked(routine, after, "row" in program, run))

    def _compute(self, program: str, cells: dict[str, Cells], merge: MergeModel, row: int) -> None:
        values: Values = {name: cell.value.copy() for name, cell in cells.items() if cell.value is not None}
        match program:
            case "double":
                self._write("b", cells["b"], values["a"] + values["a"])
            case "add":
                self._write("b", cells["b"], values["b"] + values["a"])
            case "set_row":
                values["c"][row] = values["a"]
                self._write("c", cells["c"], values["c"])
            case "get_row":
                self._write("a", cells["a"], values["c"][row] + np.array([1, 2, 3, 4], np.float32))
            case "send":
                self._write("a", cells["a"], values["h"])
            case "bump":
                self._write("h", cells["h"], values["h"] + values["a"])
            case _:
                assert merge.value is not None
                self._write("a", cells["a"], values["a"] + merge.value)

    @precondition(lambda self: self.linked)
    @rule(place=PLACES, row=ROWS, times=st.integers(1, 3))
    def run(self, place: int, row: int, times: int) -> None:
        linked = self.linked[place % len(self.linked)]
        bindings = {"i": row} if linked.has_symbol else {}
        for _ in range(times):
            if linked.run(row):
                linked.routine.run(**bindings)
            else:
                self._refused(lambda: linked.routine.run(**bindings))

    # Waiting

    @rule(device=DEVICES)
    def await_idle(self, device: int) -> None:
        self.platform.get_device(device).await_idle()

    @rule(device=DEVICES)
    def wait_for_the_other(self, device: int) -> None:
        self.platform.get_device(device).wait_for(self.platform.get_device(1 - device).all_work())

    @precondition(lambda self: self.platform.scheduler == "multicore")
    @rule(device=DEVICES)
    def be_slow(self, device: int) -> None:
        """Lets the other device get ahead, so that it is seen if it does not wait."""
        self.platform.get_device(device).runner.submit("slow work", partial(sleep, 0.003))

    @precondition(lambda self: self.platform.scheduler == "multicore" and self.linked)
    @rule(place=PLACES, seed=SEEDS)
    def change_what_is_being_copied(self, place: int, seed: int) -> None:
        linked = self.linked[place % len(self.linked)]
        if linked.copied is None or linked.copied[0] not in self.models:
            return
        source, name = linked.copied
        self.be_slow(linked.model.device)
        self.run(place, 0, 1)
        self.from_host(self.models.index(source), name, seed, None, queued=True)

    @precondition(lambda self: self.pending)
    @rule()
    def check_pending(self) -> None:
        for event, found, expected in self.pending:
            event.sync()
            np.testing.assert_array_equal(found, expected)
        self.pending.clear()

    # What always holds

    def _buffers(self) -> dict[NodeBuffer, None]:
        buffers: dict[NodeBuffer, None] = {}
        for model in self.models:
            if not model.is_finalized:
                for name in model.cells:
                    buffers[model.context.buffer_of(self.nodes[name], "test")] = None
        return buffers

    @invariant()
    def buffers_do_not_overlap(self) -> None:
        held = sorted(
            (buffer.device.id, buffer.location.pool_id, buffer.location.offset, buffer.nbytes)
            for buffer in self._buffers()
        )
        for (device, pool, offset, nbytes), (next_device, next_pool, next_offset, _) in pairwise(held):
            assert (device, pool) != (next_device, next_pool) or offset + nbytes <= next_offset
        assert all(pool != 0 for _, pool, _, _ in held), "the merge buffer holds no nodes"

    @invariant()
    def contexts_have_their_nodes(self) -> None:
        for model in self.models:
            assert model.context.is_finalized == model.is_finalized
            if not model.is_finalized:
                assert {*model.context.nodes} == {self.nodes[name] for name in model.cells}
                assert (model.merged and self.nodes[model.merged]) == model.context.merge_buffer_node

    @invariant()
    def memory_is_what_is_held(self) -> None:
        for device in self.platform.devices:
            needed = sum(aligned(buffer.nbytes) for buffer in self._buffers() if buffer.device is device)
            assert device.used_memory >= needed + self.merge[device.ordinal].nbytes

    def _check_values(self) -> None:
        for model in self.models:
            for name, cells in model.cells.items():
                expected = None if model.is_finalized else self._read(name, cells)
                if expected is not None:
                    np.testing.assert_array_equal(model.context.to_host(self.nodes[name]), expected)

    def teardown(self) -> None:
        self.check_pending()
        self._check_values()
        for device in self.platform.devices:
            device.await_idle()
        self.models.clear()
        self.linked.clear()
        gc.collect()
        for device, before in zip(self.platform.devices, self.before, strict=True):
            assert device.used_memory == before + self.merge[device.ordinal].nbytes
            device.merge_buffer.free()
            assert device.used_memory == before


@pytest.mark.parametrize("kind", PLATFORMS)
def test_any_order_of_calls_does_what_the_model_does(kind: str):
    platform = open_platform(kind)
    batch = platform.compile_batch([NODES + text for text in PROGRAMS.values()])
    codes = {code.name: code for code in batch if code is not None}
    nodes = {name: node for code in codes.values() for name, node in code.nodes.items()}
    machine: Any = type(
        f"Machine_{platform.name}", (RuntimeMachine,), {"platform": platform, "codes": codes, "nodes": nodes}
    )
    run_state_machine_as_test(
        machine, settings=settings(max_examples=20, stateful_step_count=40, deadline=None)
    )
    platform.close()
