"""
Programs that several devices share, or several streams of one, as in `examples/data_parallel`: each sums up
its shards, the sums meet in merge buffers, one device makes the step, and the others get what came of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tenon

from .draws import Array, Draws
from .node_text import TracedText, module, node
from .numpy_side import NumpySide
from .program import Program, Shards
from .tenon_side import TenonSide
from .values import Noise, Value

MERGES = ("chain", "tree", "star")
"""The pairs in which sums are added up in that of the first device."""

COPIES = ("direct", "merge_buffer", "host")
"""How the others get the next values."""


@dataclass(frozen=True)
class Plan:
    devices: int
    merges: str
    copies: str
    reader: int
    """The device that the results are read from."""
    is_linked_again: bool
    """Whether the routines of each step are made anew."""
    are_streams: bool = False
    """Whether one device has as many streams as there would be devices."""

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """The targets and sources of the merges of a step."""
        count = self.devices
        if self.merges == "chain":
            yield from ((source - 1, source) for source in range(count - 1, 0, -1))
        elif self.merges == "star":
            yield from ((0, source) for source in range(1, count))
        else:
            apart = 1
            while apart < count:
                yield from ((target, target + apart) for target in range(0, count - apart, 2 * apart))
                apart *= 2


def draw_plan(draws: Draws) -> Plan:
    with draws.scope("plan"):
        devices = draws.integer("devices", 1, 4)
        return Plan(
            devices,
            draws.pick("merges", MERGES),
            draws.pick("copies", COPIES, (2, 2, 1)),
            draws.integer("reader", 0, devices - 1),
            draws.flag("is_linked_again", 0.3),
            draws.flag("are_streams", 0.4),
        )


class SharedWork:
    """The functions of a program over shards, compiled for the devices of a platform; all have its nodes."""

    def __init__(self, platform: Any, program: Program, first_mode: int) -> None:
        assert program.shards is not None, f"{program.kind}: has no shards"
        self._platform, self._shards = platform, program.shards
        self._count = len(program.inputs[program.shards.data[0]])
        text, sums = shared_text(program, first_mode)
        self._sums = [f"s{number}" for number in range(sums)]
        self._shared = [f"a{number}" for number in program.shards.shared]
        merges = [*(f"add_{name}" for name in self._sums), *(f"take_{name}" for name in self._shared)]
        entries = ("clear", "sum_up", "update", *merges)
        codes = platform.compile_batch([tenon.parse_module(text)] * len(entries), entries=entries)
        self._codes = dict(zip(entries, codes, strict=True))
        self._nodes = {name: each for code in codes for name, each in code.nodes.items()}

    def run(self, given: Sequence[Array], plan: Plan, steps: int) -> list[Array]:
        """Makes steps, and returns the results of the last."""
        first = self._platform.get_device(0)
        contexts = [
            (first.new_stream() if plan.are_streams else self._platform.get_device(number)).make_context()
            if number
            else first.make_context()
            for number in range(plan.devices)
        ]
        for number, array in enumerate(given):
            if f"a{number}" in self._nodes:
                contexts = [each.init_from_host(self._nodes[f"a{number}"], array) for each in contexts]
        routines: list[Any] = []
        for _ in range(steps):
            if not routines or plan.is_linked_again:
                routines, contexts = self._linked(contexts, plan)
            for routine, values in routines:
                routine.run(**values)
            if plan.copies == "host":
                for name in self._shared:
                    value = contexts[0].to_host(self._nodes[name])
                    for context in contexts[1:]:
                        context.from_host(self._nodes[name], value)
        read = [contexts[0].to_host(self._nodes[self._sums[number]]) for number in self._shards.results]
        read += [contexts[plan.reader].to_host(self._nodes[name]) for name in self._shared]
        return [np.array(each) for each in read]

    def _linked(self, contexts: list[Any], plan: Plan) -> tuple[list[tuple[Any, dict[str, int]]], list[Any]]:
        """Returns the routines of a step in order, with the numbers that they take, and the contexts then."""
        contexts = list(contexts)
        routines: list[tuple[Any, dict[str, int]]] = []

        def link(device: int, entry: str, **values: int) -> None:
            routine = contexts[device].link(self._codes[entry])
            contexts[device] = routine.context
            routines.append((routine, values))

        def send(name: str, source: int, target: int, then: str | None) -> None:
            copy = contexts[target].device_to_device(
                self._nodes[name], contexts[source], into_merge_buffer=then is not None
            )
            assert copy is not None, f"{name}: is on both devices"
            routines.append((copy, {}))
            if then is None:
                contexts[target] = copy.context
            else:
                # Only in this child is it known whose values the merge buffer has.
                merged = copy.context.link(self._codes[then])
                routines.append((merged, {}))

        for device in range(plan.devices):
            link(device, "clear")
        for shard in range(self._count):
            link(shard % plan.devices, "sum_up", shard=shard)
        for target, source in plan.pairs:
            for name in self._sums:
                send(name, source, target, f"add_{name}")
        link(0, "update")
        if plan.copies != "host":
            for device in range(1, plan.devices):
                for name in self._shared:
                    send(name, 0, device, f"take_{name}" if plan.copies == "merge_buffer" else None)
        return routines, contexts


def shared_text(program: Program, first_mode: int) -> tuple[str, int]:
    """Returns the module over nodes, and how many sums there are: `@s0` and so on; arguments are `@a0`."""
    shards = program.shards
    assert shards is not None, f"{program.kind}: has no shards"
    shared = [program.inputs[number] for number in shards.shared]
    data = [program.inputs[number] for number in shards.data]
    summing, updating = _traced(shards, shared, data)
    sums = [(f"s{number}", type) for number, (_, type) in enumerate(summing.results)]
    of_shared, of_data = summing.arguments[: len(shared)], summing.arguments[len(shared) :]
    values = [(f"a{number}", type) for number, (_, type) in zip(shards.shared, of_shared, strict=True)]

    declared = [node(name, type, first_mode + k) for k, (name, type) in enumerate([*values, *sums])]
    sum_up = [
        f"    {value} = graph.read @{name} : {type}"
        for (name, type), (value, _) in zip(values, of_shared, strict=True)
    ]
    for number, array, (value, type) in zip(shards.data, data, of_data, strict=True):
        rest = type.removeprefix("tensor<")
        declared.append(node(f"a{number}", f"tensor<{len(array)}x{rest}", first_mode + number))
        sum_up.append(f"    {value} = graph.read @a{number}[%shard] : {type}")
    sum_up += summing.body
    sum_up += [
        f"    graph.write add @{name}, {value} : {type}"
        for (name, type), (value, _) in zip(sums, summing.results, strict=True)
    ]
    update = [
        f"    {value} = graph.read @{name} : {type}"
        for (name, type), (value, _) in zip([*values, *sums], updating.arguments, strict=True)
    ]
    update += updating.body
    update += [
        f"    graph.write @{name}, {value} : {type}"
        for (name, type), (value, _) in zip(values, updating.results, strict=True)
    ]
    clear: list[str] = []
    for name, type in sums:
        clear += [
            f"    %zero_{name} = graph.constant dense<0.0> : {type}",
            f"    graph.write @{name}, %zero_{name} : {type}",
        ]
    functions = {"sum_up(%shard: index)": sum_up, "update()": update, "clear()": clear}
    for name, type in sums:
        functions[f"add_{name}()"] = _merged("write add", name, type)
    for name, type in values:
        functions[f"take_{name}()"] = _merged("write", name, type)
    return module(declared, functions), len(sums)


def _merged(write: str, name: str, type: str) -> list[str]:
    return [f"    %other = graph.merge @{name} : {type}", f"    graph.{write} @{name}, %other : {type}"]


def _traced(shards: Shards, shared: list[Array], data: list[Array]) -> tuple[TracedText, TracedText]:
    """Returns the functions of the sums and of the update."""
    count = len(shared)
    first = [array[0] for array in data]

    def sum_up(*arguments: Any) -> Any:
        return tuple(shards.sums(TenonSide, arguments[:count], arguments[count:]))

    def update(*arguments: Any) -> Any:
        return tuple(shards.update(TenonSide, arguments[:count], arguments[count:]))

    side = NumpySide(Noise())
    given = [Value(array, array.dtype, side.noise) for array in (*shared, *first)]
    sums = [np.zeros(each.shape, each.dtype) for each in shards.sums(side, given[:count], given[count:])]
    summing = tenon.jit(sum_up).lower(*shared, *first)
    updating = tenon.jit(update).lower(*shared, *sums)
    return TracedText.of(str(summing.module)), TracedText.of(str(updating.module))
