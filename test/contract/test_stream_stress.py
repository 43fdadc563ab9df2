"""Random work on nodes that several streams share gives what it gives in the order it was scheduled in."""

from collections.abc import Callable
from functools import partial
from random import Random
from time import sleep

import numpy as np
import pytest
from tenon.runtime.platforms.code import Code
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.device import Device, Stream
from tenon.runtime.platforms.routine import Routine

from .open_platforms import Array
from .stream_platforms import device

__all__ = ["device"]

N_STEPS = 250
N_STREAMS = 4
"""The device itself among them."""

PROGRAM = """
graph.tnode @a : tensor<64xi32> mode on_device
graph.tnode @b : tensor<64xi32> mode on_device(shared_cross_streams)
graph.tnode @c : tensor<64xi32> mode hosted
graph.tnode @x : tensor<8x64xi32> mode on_device
"""
ADD = """
func.func @add() {
  %b = graph.read @b : tensor<64xi32>
  graph.write add @a, %b : tensor<64xi32>
  func.return
}
"""
MIX = """
func.func @mix() {
  %a = graph.read @a : tensor<64xi32>
  %b = graph.read @b : tensor<64xi32>
  %c = graph.read @c : tensor<64xi32>
  %s = graph.sub %a, %b : tensor<64xi32>
  %y = graph.add %s, %c : tensor<64xi32>
  graph.write @b, %y : tensor<64xi32>
  graph.write add @c, %a : tensor<64xi32>
  func.return
}
"""
ROW = """
func.func @row(%i: index) {
  %x = graph.read @x[%i] : tensor<64xi32>
  %a = graph.read @a : tensor<64xi32>
  %y = graph.add %x, %a : tensor<64xi32>
  graph.write @x[%i], %y : tensor<64xi32>
  graph.write @a, %x : tensor<64xi32>
  func.return
}
"""
MERGE = """
func.func @merge() {
  %other = graph.merge @a : tensor<64xi32>
  graph.write add @a, %other : tensor<64xi32>
  func.return
}
"""


class Family:
    """The contexts and routines of one set of nodes, on every stream, and what the nodes hold."""

    def __init__(
        self, codes: dict[str, Code], home: Context, streams: list[Stream], values: dict[str, Array]
    ):
        self.nodes = codes["mix"].nodes | codes["row"].nodes
        self.values = values
        for name in ("a", "x"):
            home = home.init_from_host(self.nodes[name], values[name])
        self.home = home.make_child([self.nodes["b"], self.nodes["c"]])
        self.children = [self.home.make_child(stream=stream) for stream in streams]

    def link(self, codes: dict[str, Code], other: "Family") -> None:
        names = ("add", "mix", "row")
        self.routines = [{name: child.link(codes[name]) for name in names} for child in self.children]
        self.copies: list[Routine] = []
        self.merges: list[tuple[Routine, Routine]] = []
        for child, source in zip(self.children, reversed(other.children), strict=True):
            copy = child.device_to_device(self.nodes["a"], source)
            into_merge = child.device_to_device(self.nodes["a"], source, into_merge_buffer=True)
            assert copy is not None and into_merge is not None
            self.copies.append(copy)
            self.merges.append((into_merge, into_merge.context.link(codes["merge"])))


class Run:
    """
    Schedules steps at random, and does each at once with numpy. Slow work before some of them keeps streams
    behind one another: whoever does not wait computes with what is there too early.
    """

    def __init__(self, device: Device, codes: dict[str, Code], seed: int) -> None:
        self.random = random = Random(seed)
        self.streams = [device, *(device.new_stream() for _ in range(N_STREAMS - 1))]
        self.nodes = codes["mix"].nodes
        self.codes = codes
        self.shared = {name: self.numbers() for name in ("b", "c")}
        self.nodes["c"].set_values(self.shared["c"])
        self.families = [self.family(stream) for stream in random.sample(self.streams, 2)]
        self.families[0].home.from_host(self.nodes["b"], self.shared["b"])
        self.link()
        self.merged: list[Array | None] = [None] * N_STREAMS
        self.read: list[tuple[str, Array, Array]] = []

    def numbers(self, *shape: int) -> Array:
        values = [self.random.randrange(-100, 100) for _ in range(int(np.prod(shape or (64,))))]
        return np.array(values, np.int32).reshape(shape or (64,))

    def family(self, stream: Stream) -> Family:
        values = {"a": self.numbers(), "x": self.numbers(8, 64)}
        return Family(self.codes, stream.make_context(), self.streams, values)

    def link(self) -> None:
        first, second = self.families
        first.link(self.codes, second)
        second.link(self.codes, first)

    def step(self) -> None:
        random = self.random
        place, number = random.randrange(2), random.randrange(N_STREAMS)
        if random.random() < 0.3:
            self.streams[number].runner.submit("slow work", partial(sleep, 0.001))
            number = random.choice([number, random.randrange(N_STREAMS)])
        do: Callable[[Family, Family, int], None] = random.choice(
            [self.add, self.mix, self.row, self.copy, self.fill_merge, self.merge, self.fetch, self.send]
        )
        do(self.families[place], self.families[1 - place], number)

    def add(self, family: Family, other: Family, number: int) -> None:
        family.routines[number]["add"].run()
        family.values["a"] = family.values["a"] + self.shared["b"]

    def mix(self, family: Family, other: Family, number: int) -> None:
        if family is not self.families[0]:  # a hosted node is each family's own: one only computes with it
            return
        family.routines[number]["mix"].run()
        a, b, c = family.values["a"], self.shared["b"], self.shared["c"]
        self.shared |= {"b": a - b + c, "c": c + a}

    def row(self, family: Family, other: Family, number: int) -> None:
        i = self.random.randrange(8)
        family.routines[number]["row"].run(i=i)
        x, a = family.values["x"].copy(), family.values["a"]
        family.values["a"] = x[i].copy()
        x[i] += a
        family.values["x"] = x

    def copy(self, family: Family, other: Family, number: int) -> None:
        family.copies[number].run()
        family.values["a"] = other.values["a"]

    def fill_merge(self, family: Family, other: Family, number: int) -> None:
        family.merges[number][0].run()
        self.merged[number] = other.values["a"]

    def merge(self, family: Family, other: Family, number: int) -> None:
        merged = self.merged[number]
        if merged is not None:
            family.merges[number][1].run()
            family.values["a"] = family.values["a"] + merged

    def fetch(self, family: Family, other: Family, number: int) -> None:
        name = self.random.choice(["a", "b", "x"])
        expected = self.shared[name] if name == "b" else family.values[name]
        out = np.zeros_like(expected)
        family.children[number].queue_to_host(family.nodes[name], out)
        self.read.append((name, out, expected))

    def send(self, family: Family, other: Family, number: int) -> None:
        name, values = self.random.choice(["a", "b", "c"]), self.numbers()
        if name == "c":
            self.nodes["c"].set_values(values)
        else:
            family.children[number].queue_from_host(self.nodes[name], values)
        (family.values if name == "a" else self.shared)[name] = values

    def check(self) -> None:
        for name, out, expected in self.read:
            np.testing.assert_array_equal(out, expected, err_msg=name)
        for family in self.families:
            for name, expected in (family.values | {"b": self.shared["b"]}).items():
                found = self.random.choice(family.children).to_host(family.nodes[name])
                np.testing.assert_array_equal(found, expected, err_msg=name)
        np.testing.assert_array_equal(self.nodes["c"].get_values(), self.shared["c"])

    def replace_second(self) -> None:
        """Finalizes one family while its work is queued, and makes another one in what is free then."""
        self.families[1].home.finalize()
        self.families[1] = self.family(self.random.choice(self.streams))
        self.link()


@pytest.mark.parametrize("seed", range(4))
def test_streams_compute_what_one_would(device: Device, seed: int):
    programs = [PROGRAM + text for text in (ADD, MIX, ROW, MERGE)]
    batch = device.platform.compile_batch(programs)
    codes = {code.name: code for code in batch if code is not None}
    run = Run(device, codes, seed)
    for number in range(N_STEPS):
        run.step()
        if number % 100 == 99:
            run.replace_second()
    device.await_idle()
    run.check()
