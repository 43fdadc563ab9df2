"""Programs that call the host do so alike at every level and on every backend."""

from collections.abc import Callable, Iterator
from functools import partial
from threading import Barrier, Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.backends.registry import REFERENCE, compiling_names
from tenon.dialects.modules.level import IRLevel
from tenon.errors import CallError, DeviceError

from .open_platforms import KINDS, device_of, open_kind

Array = npt.NDArray[Any]
Build = Callable[..., tenon.Executable]


LEVELS = {f"{REFERENCE}-{level}": level for level in IRLevel}


@pytest.fixture(params=(*LEVELS, *compiling_names()))
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """Compiles text for the interpreter at each level, and for each other backend."""
    made: list[tenon.Executable] = []
    level = LEVELS.get(request.param)
    backend: Backend | str = device_of(request.param) if level is None else REFERENCE
    options = {} if level is None else {"level": level}

    def build_one(text: str, **callbacks: Callable[..., Any]) -> tenon.Executable:
        made.append(tenon.compile(text, backend=backend, callbacks=callbacks, **options))
        return made[-1]

    yield build_one
    for executable in made:
        executable.close()


X = np.arange(4, dtype=np.float32)

ONE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.add %x, %x : tensor<4xf32>
  %y = graph.callback @f(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.neg %y : tensor<4xf32>
  func.return %z : tensor<4xf32>
}"""


def test_a_callback_is_given_arrays_and_gives_some(build: Build) -> None:
    given: list[Array] = []

    def f(x: Array) -> Array:
        given.append(x)
        return x[::-1]

    executable = build(ONE, f=f)
    np.testing.assert_array_equal(executable(X), -2 * X[::-1])
    np.testing.assert_array_equal(executable(X + 1), -2 * (X + 1)[::-1])
    # What it was given is its own: later runs, and writing to it, change nothing.
    np.testing.assert_array_equal(given, [2 * X, 2 * X + 2])
    given[0][:] = 0


def test_callbacks_take_and_give_several_arrays_of_every_type(build: Build) -> None:
    def f(flags: Array, whole: Array, empty: Array, scalar: Array) -> tuple[Any, ...]:
        assert [each.dtype.name for each in (flags, whole, empty, scalar)] == [
            *("bool", "uint16", "float64", "bfloat16")
        ]
        assert (empty.shape, scalar.shape) == ((0, 3), ())
        return ~flags, whole + 1, empty, float(scalar) * 2

    types = "tensor<3xi1>, tensor<2x2xui16>, tensor<0x3xf64>, tensor<bf16>"
    executable = build(
        f"""
        func.func @main(%a: tensor<3xi1>, %b: tensor<2x2xui16>, %c: tensor<0x3xf64>, %d: tensor<bf16>)
            -> ({types}) {{
          %r, %s, %t, %u = graph.callback @f(%a, %b, %c, %d) : ({types}) -> ({types})
          func.return %r, %s, %t, %u : {types}
        }}""",
        f=f,
    )
    flags, whole = np.array([True, False, True]), np.array([[1, 2], [3, 65535]], np.uint16)
    scalar = np.array(1.5, executable.argument_types[3].dtype)
    found = executable(flags, whole, np.empty((0, 3)), scalar)
    assert [each.tolist() for each in found] == [[False, True, False], [[2, 3], [4, 0]], [], 3.0]


LOOPS = """
func.func @main(%x: tensor<3x4xf32>, %n: tensor<i32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %start = graph.constant dense<0> : tensor<i32>
  %one = graph.constant dense<1> : tensor<i32>
  graph.print "begin"
  %sum, %all = graph.scan %i = 3 (%s = %zero) over (%row = %x)
      : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
    %next = graph.add %s, %row : tensor<4xf32>
    graph.print "row {0}: {1}"(%i, %next) : tensor<i64>, tensor<4xf32>
    %double = graph.callback @double(%row) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %next, %double : tensor<4xf32>, tensor<4xf32>
  }
  %k, %z = graph.while (%i = %start, %v = %sum) : (tensor<i32>, tensor<4xf32>) {
    %more = graph.callback @less(%i, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    graph.print "again {0}"(%more) : tensor<i1>
    graph.condition %more
  } do (%i, %v) {
    %j = graph.add %i, %one : tensor<i32>
    %w = graph.callback @double(%v) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %j, %w : tensor<i32>, tensor<4xf32>
  }
  %y = graph.if %c -> (tensor<4xf32>) {
    graph.print "then"
    %g = graph.callback @double(%z) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %g : tensor<4xf32>
  } else {
    graph.print "else"
    graph.yield %z : tensor<4xf32>
  }
  graph.print "end {0:.1f}"(%k) : tensor<i32>
  func.return %y, %all : tensor<4xf32>, tensor<3x4xf32>
}"""


@pytest.mark.parametrize("holds", [True, False])
def test_loops_and_branches_call_the_host_in_order(
    build: Build, capsys: pytest.CaptureFixture[str], holds: bool
) -> None:
    executable = build(LOOPS, double=lambda x: x * 2, less=lambda i, n: i < n)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y, doubled = executable(x, np.array(2, np.int32), np.array(holds))
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_array_equal(y, x.sum(0) * (8 if holds else 4))
    assert capsys.readouterr().out.splitlines() == [
        "begin",
        "row 0: [0. 1. 2. 3.]",
        "row 1: [ 4.  6.  8. 10.]",
        "row 2: [12. 15. 18. 21.]",
        *("again True", "again True", "again False"),
        "then" if holds else "else",
        "end 2.0",
    ]


class SomeError(Exception):
    pass


def test_what_a_callback_raises_ends_the_program(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(x: Array) -> Array:
        raise SomeError("told")

    executable = build(LOOPS, double=fail, less=lambda i, n: i < n)
    arguments = np.ones((3, 4), np.float32), np.array(2, np.int32), np.array(True)
    for _ in range(3):
        with pytest.raises(SomeError, match="told") as caught:
            executable(*arguments)
        assert caught.traceback[-1].name == "fail"
        assert capsys.readouterr().out.splitlines() == ["begin", "row 0: [1. 1. 1. 1.]"]
    # Nothing of it is left.
    works = build(LOOPS, double=lambda x: x, less=lambda i, n: i < n)
    np.testing.assert_array_equal(works(*arguments)[0], [3, 3, 3, 3])


def test_what_tenon_raises_in_a_callback_is_not_renamed(build: Build) -> None:
    def fail(x: Array) -> Array:
        raise DeviceError("as it is")

    with pytest.raises(DeviceError, match=r"^as it is$"):
        build(ONE, f=fail)(X)


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (X.astype(np.float64), r"callback @f: result 0 is float64\[4\], expected float32\[4\]"),
        (X[:3], r"callback @f: result 0 is float32\[3\], expected float32\[4\]"),
        (1.0, r"callback @f: result 0 is float32\[\], expected float32\[4\]"),
        (None, r"callback @f: result 0 is object\[\], expected float32\[4\]"),
    ],
)
def test_what_a_callback_gives_is_checked(build: Build, gives: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        build(ONE, f=lambda x: gives)(X)


TWO = """
func.func @main(%x: tensor<4xf32>) -> tensor<i32> {
  %y, %n = graph.callback @f(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>)
  func.return %n : tensor<i32>
}"""


def test_a_callback_gives_as_many_arrays_as_it_says(build: Build) -> None:
    assert build(TWO, f=lambda x: [x, 3])(X) == 3
    with pytest.raises(CallError, match="callback @f: the function gives 1 arrays, expected 2"):
        build(TWO, f=lambda x: (x,))(X)
    with pytest.raises(
        CallError, match="callback @f: the function gives ndarray, expected a tuple of 2 arrays"
    ):
        build(TWO, f=lambda x: x)(X)
    with pytest.raises(CallError, match="callback @f: the function gives 0 arrays, expected 2"):
        build(TWO, f=lambda x: None)(X)
    with pytest.raises(CallError, match=r"result 1 is float64\[\], expected int32\[\]"):
        build(TWO, f=lambda x: (x, 3.5))(X)
    with pytest.raises(CallError, match=r"result 1 is int64\[\], expected int32\[\]"):
        build(TWO, f=lambda x: (x, 1 << 40))(X)


def test_each_name_has_a_function(build: Build) -> None:
    message = r"callback.*: no function is given for @f \(none are given; hint: callbacks={'f': function}\)"
    with pytest.raises(tenon.TenonError, match=message):
        build(ONE)
    with pytest.raises(tenon.TenonError, match=r"no function is given for @f \(given are @g, @h;"):
        build(ONE, g=abs, h=abs)


def test_programs_of_one_text_call_their_own_functions(build: Build) -> None:
    first, second = build(ONE, f=lambda x: x), build(ONE, f=lambda x: 10 * x)
    np.testing.assert_array_equal(first(X), -2 * X)
    np.testing.assert_array_equal(second(X), -20 * X)


def test_a_callback_may_call_programs_also_its_own(build: Build) -> None:
    other = build(ONE, f=lambda x: x)

    def f(x: Array) -> Array:
        return x if x[0] > 10 else executable(x + other(x + 1) + 20)

    executable = build(ONE, f=f)

    def expected(x: Array) -> Array:
        y = 2 * x
        return -y if y[0] > 10 else -expected(y - 2 * (y + 1) + 20)

    np.testing.assert_array_equal(executable(X), expected(X))
    np.testing.assert_array_equal(executable(X), expected(X))


def test_a_callback_may_close_the_program_that_waits_for_it(build: Build) -> None:
    def f(x: Array) -> Array:
        executable.close()
        return x

    executable = build(ONE, f=f)
    np.testing.assert_array_equal(executable(X), -2 * X)
    with pytest.raises(CallError, match="closed"):
        executable(X)


def test_threads_call_a_program_at_the_same_time(build: Build) -> None:
    # Each waits in its callback until the other is there too.
    together = Barrier(2)
    results: dict[int, Array] = {}

    def f(x: Array) -> Array:
        together.wait(60)
        return x

    executable = build(ONE, f=f)

    def call(number: int) -> None:
        for _ in range(3):
            results[number] = executable(X + number)

    threads = [Thread(target=call, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for number in range(2):
        np.testing.assert_array_equal(results[number], -2 * (X + number))


def test_extents_that_are_known_when_a_program_is_called(
    build: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    executable = build(
        """
        graph.dim @n min 0 max 64
        func.func @main(%x: tensor<?x2xf32, #graph.dims<n, 2>>) -> tensor<?xf32, #graph.dims<2 * n>> {
          graph.print "{0}"(%x) : tensor<?x2xf32, #graph.dims<n, 2>> %y = graph.callback @f(%x) :
          (tensor<?x2xf32, #graph.dims<n, 2>>) -> tensor<?xf32, #graph.dims<2 * n>> %z = graph.neg %y :
          tensor<?xf32, #graph.dims<2 * n>> func.return %z : tensor<?xf32, #graph.dims<2 * n>>
        }""",
        f=lambda x: x.reshape(-1)[: 6 if len(x) < 5 else 3],
    )
    for n in (3, 0):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        np.testing.assert_array_equal(executable(x), -x.reshape(-1))
        assert capsys.readouterr().out == f"{x}\n"
    with pytest.raises(CallError, match=r"callback @f: result 0 is float32\[3\], expected float32\[10\]"):
        executable(np.ones((5, 2), np.float32))


NODES = """
graph.tnode @w : tensor<4xf32> = dense<1.0>
func.func @main() -> tensor<4xf32> {
  %w = graph.read @w : tensor<4xf32>
  %v = graph.callback @f(%w) : (tensor<4xf32>) -> tensor<4xf32>
  graph.write @w, %v : tensor<4xf32>
  %n = graph.read @w : tensor<4xf32>
  graph.print "{0}"(%n) : tensor<4xf32>
  func.return %v : tensor<4xf32>
}"""


def test_callbacks_fill_nodes(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    executable = build(NODES, f=lambda w: w * 2)
    np.testing.assert_array_equal(executable(), [2, 2, 2, 2])
    np.testing.assert_array_equal(executable(), [4, 4, 4, 4])
    assert capsys.readouterr().out == "[2. 2. 2. 2.]\n[4. 4. 4. 4.]\n"


def test_a_program_with_nodes_is_not_called_by_its_own_callback(build: Build) -> None:
    executable = build(NODES, f=lambda w: executable())
    for _ in range(2):
        with pytest.raises(CallError, match="main: its own callback uses it, and with tensor nodes"):
            executable()


def test_steps_of_the_host_are_on_the_timeline(device: Backend) -> None:
    executable = tenon.compile(LOOPS, backend=device, callbacks={"double": lambda x: x, "less": np.less})
    with tenon.record_timeline() as timeline:
        executable(np.ones((3, 4), np.float32), np.array(1, np.int32), np.array(False))
    spans = [span for span in timeline.spans if span.category == "host"]
    assert [span.name for span in spans][:3] == ["print 'begin'", "print 'row {0}: {1}'", "callback @double"]
    assert spans[2].args["runs"] == 3
    executable.close()


@pytest.mark.parametrize("kind", KINDS)
def test_routines_call_the_host(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = NODES.replace("() -> tensor<4xf32> {", "() {").replace(
        "func.return %v : tensor<4xf32>", "func.return"
    )
    with open_kind(kind) as platform:
        device = platform.get_device(0)
        code = platform.compile(text, callbacks={"f": lambda w: w + 1})
        routine = device.make_context().link(code)
        routine.run()
        routine.run().sync()
        assert capsys.readouterr().out == "[2. 2. 2. 2.]\n[3. 3. 3. 3.]\n"
        assert routine.schedule[0] == "callback @f"
        with pytest.raises(tenon.TenonError, match="no function is given for @f"):
            platform.compile(text)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_routine_calls_back_does_not_use_its_device(kind: str) -> None:
    text = NODES.replace("() -> tensor<4xf32> {", "() {").replace(
        "func.return %v : tensor<4xf32>", "func.return"
    )
    with open_kind(kind) as platform:
        device = platform.get_device(0)
        waiting: list[Callable[[], Any]] = []

        def f(w: Array) -> Array:
            waiting.pop()()
            return w

        code = platform.compile(text, callbacks={"f": f})
        routine = device.make_context().link(code)
        waiting.append(partial(routine.run))
        routine.run()
        with pytest.raises(
            tenon.RoutineError, match="the device waits for the callback that uses it"
        ) as caught:
            device.synchronize()
        assert isinstance(caught.value.__cause__, DeviceError)
        # Others are as they were.
        waiting.append(list)
        device.make_context().link(
            platform.compile(text.replace("@w", "@v"), callbacks={"f": f})
        ).run().sync()
