import gc
import re
from collections.abc import Sequence

import numpy as np
import pytest
import tenon
from tenon.backends.registry import get_backend
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.instruments.interface import PassInstrument
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.memory.slab_pool import slab_pool_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

SOFTMAX = """
func.func @softmax(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %max = graph.reduce max %x axes [1] keep : tensor<4x10xf32> -> tensor<4x1xf32>
  %base = graph.broadcast %max : tensor<4x1xf32> -> tensor<4x10xf32>
  %diff = graph.sub %x, %base : tensor<4x10xf32>
  %e = graph.exp %diff : tensor<4x10xf32>
  %sum = graph.reduce add %e axes [1] keep : tensor<4x10xf32> -> tensor<4x1xf32>
  %den = graph.broadcast %sum : tensor<4x1xf32> -> tensor<4x10xf32>
  %y = graph.div %e, %den : tensor<4x10xf32>
  func.return %y : tensor<4x10xf32>
}
"""

WITH_CONSTANT = """
func.func @shift(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c = graph.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %y = graph.add %x, %c : tensor<3xf32>
  func.return %y : tensor<3xf32>
}
"""

LEVELS = ("graph", "sched", "low")


def logits() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((4, 10)).astype(np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def text_at(level: str) -> str:
    return tenon.compile(SOFTMAX, backend="reference", level=level).source


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_text_becomes_an_executable(backend: str):
    with tenon.compile(SOFTMAX, backend=backend) as executable:
        np.testing.assert_allclose(executable(logits()), softmax(logits()), rtol=1e-6)
        assert executable.name == "softmax"
        assert executable.backend_name == backend
        assert executable.argument_names == ("x",)
        assert repr(executable).endswith(
            f"Executable softmax(x: float32[4, 10]) -> (float32[4, 10]) on {backend}>"
        )


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_module_at_any_level_is_compiled(backend: str, level: str):
    with tenon.compile(text_at(level), backend=backend) as executable:
        np.testing.assert_allclose(executable(x=logits()), softmax(logits()), rtol=1e-6)


def test_a_schedule_without_a_memory_plan_gets_one():
    text = tenon.compile(
        SOFTMAX, backend="reference", pipeline="graph-pipeline,convert-graph-to-sched"
    ).source
    assert "sched.kernel" in text
    assert "memory_plan" not in text
    with tenon.compile(text) as executable:
        np.testing.assert_allclose(executable(logits()), softmax(logits()), rtol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_the_reference_runs_the_level_that_it_is_asked_for(level: str):
    executable = tenon.compile(SOFTMAX, backend="reference", level=level)
    assert list(executable.stages) == list(LEVELS[: LEVELS.index(level) + 1])
    assert executable.source == executable.stages[level]
    np.testing.assert_allclose(executable(logits()), softmax(logits()), rtol=1e-6)


def test_a_module_is_left_as_it_is():
    module = parse_module(SOFTMAX)
    before = str(module)
    with tenon.compile(module):
        assert str(module) == before


def test_every_stage_has_its_text():
    executable = tenon.compile(SOFTMAX)
    assert list(executable.stages) == ["graph", "sched", "low", "source"]
    assert "graph.reduce" in executable.stages["graph"]
    assert "sched.kernel" in executable.stages["sched"]
    assert "low.kernel" in executable.stages["low"]
    assert executable.stages["source"] == executable.source
    assert "define" in executable.source
    assert repr(executable.stages) == "Stages(graph, sched, low, source)"
    assert len(executable.stages) == 4
    for level in LEVELS:
        assert str(parse_module(executable.stages[level])) + "\n" == executable.stages[level]


def test_a_pipeline_replaces_the_default_one():
    pipeline = "sched-pipeline,low-pipeline"
    by_text = tenon.compile(SOFTMAX, pipeline=pipeline)
    by_object = tenon.compile(SOFTMAX, pipeline=tenon.PassManager(pipeline))
    assert by_text.source == by_object.source
    assert list(by_text.stages) == ["low", "source"]
    np.testing.assert_array_equal(by_text(logits()), by_object(logits()))


class Recorder(PassInstrument):
    def __init__(self) -> None:
        self.names: list[str] = []
        self.n_pipelines = 0

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        self.n_pipelines += 1

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        self.names.append(pass_.name)


def test_instruments_hear_of_the_passes_once():
    recorder, own = Recorder(), Recorder()
    executable = tenon.compile(
        SOFTMAX,
        pipeline=tenon.PassManager("sched-pipeline,low-pipeline", [own]),
        instruments=[recorder],
    )
    assert executable.stages["low"]
    assert recorder.n_pipelines == own.n_pipelines == 1
    assert recorder.names == own.names
    assert "convert-graph-to-sched" in recorder.names


TWO = SOFTMAX + SOFTMAX.replace("@softmax", "@other").replace("graph.div", "graph.mul")


def test_one_of_several_functions_is_compiled():
    with tenon.compile(TWO, entry="other") as executable:
        assert executable.name == "other"
        assert "@softmax" not in executable.stages["graph"]
        assert "@softmax" not in executable.stages["low"]
        assert isinstance(executable, DeviceExecutable)
        assert executable.program.kernel_names == ("other_0",)
    with pytest.raises(tenon.TenonError, match=r"the module has 2 functions \(@softmax, @other\)"):
        tenon.compile(TWO)
    with pytest.raises(tenon.TenonError, match=r"there is no function @third"):
        tenon.compile(TWO, entry="third")


WRONG = {
    "backend": ({"backend": "cuda"}, r"backend 'cuda' is not one of llvm, opencl, reference"),
    "level": (
        {"backend": "reference", "level": "high"},
        r"compile: level 'high' is not one of graph, sched, low",
    ),
    "level of a device": ({"level": "low"}, r"compile: level 'low' is for the reference backend only"),
    "level and pipeline": (
        {"backend": "reference", "level": "low", "pipeline": ""},
        r"compile: level and pipeline exclude each other",
    ),
    "pipeline": ({"pipeline": "no-such-pass"}, r"unknown pass 'no-such-pass'"),
    "unfinished": (
        {"pipeline": "graph-pipeline"},
        r"@softmax: the pipeline leaves a func.func, but backend llvm runs a sched.program "
        r"\(hint: end the pipeline in sched-pipeline,low-pipeline\)",
    ),
    "half finished": (
        {"pipeline": "graph-pipeline,sched-pipeline"},
        r"sched.launch: @softmax_0 is no low.kernel",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_says_what_is_wrong(name: str):
    options, message = WRONG[name]
    with pytest.raises(tenon.TenonError, match=message):
        tenon.compile(SOFTMAX, **options)  # pyright: ignore


def test_a_level_above_the_module_is_an_error():
    with pytest.raises(tenon.TenonError, match=r"@softmax: the module is at low, below sched"):
        tenon.compile(text_at("low"), backend="reference", level="sched")


def test_wrong_text_is_told_with_its_place():
    with pytest.raises(tenon.TenonError, match=r"^soft.mlir:9:8: error: "):
        tenon.compile(SOFTMAX.replace("graph.div %e", "graph.div %f"), filename="soft.mlir")
    with pytest.raises(tenon.TenonError, match=r"^soft.mlir:3:10: error: graph.reduce: "):
        tenon.compile(SOFTMAX.replace("axes [1] keep", "axes [2] keep", 1), filename="soft.mlir")


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_a_function_is_over_tensors_of_numbers(backend: str):
    def identity(type: str) -> str:
        return f"func.func @f(%x: {type}) -> {type} {{ func.return %x : {type} }}"

    with pytest.raises(tenon.TenonError, match=r"^s:1:1: error: f: argument 'x': f32 is no tensor"):
        tenon.compile(identity("f32"), backend=backend, filename="s")
    no_arrays = r"^s:1:1: error: f: argument 'x': there are no numpy arrays of index"
    with pytest.raises(tenon.TenonError, match=no_arrays):
        tenon.compile(identity("tensor<4xindex>"), backend=backend, filename="s")


def test_the_reference_takes_any_extent_for_one_that_is_not_known():
    text = """
func.func @f(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %y = graph.add %x, %x : tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}
"""
    executable = tenon.compile(text, backend="reference")
    for extent in (0, 1, 5):
        assert executable(np.ones((extent, 3), np.float32)).tolist() == [[2, 2, 2]] * extent
    with pytest.raises(tenon.CallError, match=r"argument 'x': shape \[2, 4\], expected \[\?, 3\]"):
        executable(np.ones((2, 4), np.float32))
    with pytest.raises(tenon.TenonError, match=r"dynamic"):
        tenon.compile(text)


def test_a_function_without_kernels_runs():
    text = """
func.func @swap(%a: tensor<2xi8>, %b: tensor<i1>) -> (tensor<i1>, tensor<2xi8>) {
  func.return %b, %a : tensor<i1>, tensor<2xi8>
}
"""
    with tenon.compile(text) as executable:
        a = np.array([1, -1], np.int8)
        b, same = executable(a, np.array(True))
        assert b.dtype == np.bool_ and b.shape == () and b
        assert same.tolist() == [1, -1]
        assert not np.may_share_memory(same, a)


def test_executables_share_a_backend_and_give_its_memory_back():
    backend = get_backend("llvm")
    pool = slab_pool_of(backend.driver)
    first = tenon.compile(WITH_CONSTANT, backend=backend)
    second = tenon.compile(WITH_CONSTANT, backend=backend)
    held = pool.statistics().n_slabs
    assert held == 2
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(first(x), second(x))
    first.close()
    assert pool.statistics().n_slabs == held // 2
    del second
    gc.collect()
    assert pool.statistics().n_slabs == 0


def test_what_is_not_part_of_tenon_is_no_attribute():
    assert "compile" in dir(tenon)
    with pytest.raises(AttributeError, match="module 'tenon' has no attribute 'compyle'"):
        _ = tenon.compyle  # pyright: ignore


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"program": 3}, "compile: program is 3, of type int, expected a module or its text"),
        ({"backend": None}, "compile: backend is None, of type NoneType, expected a backend or one of llvm,"),
        ({"pipeline": ["cse"]}, "compile: pipeline is ['cse'], of type list, expected a pass manager or its"),
        ({"entry": 0}, "compile: entry is 0, of type int, expected a function's name"),
    ],
)
def test_an_argument_of_a_wrong_kind_is_an_error(arguments: dict[str, object], message: str):
    with pytest.raises(tenon.TenonError, match="^" + re.escape(message)):
        tenon.compile(**{"program": SOFTMAX, **arguments})  # pyright: ignore


def test_a_function_that_calls_another_is_interpreted_and_compiled():
    text = """
func.func private @twice(%x: tensor<2xi8>) -> tensor<2xi8> {
  %y = graph.add %x, %x : tensor<2xi8>
  func.return %y : tensor<2xi8>
}
func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
  %y = func.call @twice(%x) : (tensor<2xi8>) -> tensor<2xi8>
  func.return %y : tensor<2xi8>
}
"""
    for backend in ("reference", "llvm"):
        executable = tenon.compile(text, backend=backend, entry="main")
        assert executable(np.array([1, 2], np.int8)).tolist() == [2, 4]


ENORMOUS = """
func.func @f() -> tensor<N> {
  %one = graph.constant dense<1> : tensor<i8>
  %y = graph.broadcast %one : tensor<i8> -> tensor<N>
  func.return %y : tensor<N>
}
"""


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_a_result_that_no_memory_holds_is_an_error(backend: str):
    executable = tenon.compile(ENORMOUS.replace("N", "4611686018427387904xi8"), backend=backend)
    with pytest.raises(tenon.DeviceError, match=r"^f: .*(cannot allocate result 0|no memory left)"):
        executable()


def test_an_array_beyond_the_address_space_is_no_bug_of_the_interpreter():
    text = """
func.func @f() -> tensor<1xi8> {
  %i = graph.iota axis 0 : tensor<4611686018427387904xi8>
  %y = graph.slice %i offsets [5] sizes [1] strides [1] : tensor<4611686018427387904xi8>
  func.return %y : tensor<1xi8>
}
"""
    executable = tenon.compile(text, backend="reference")
    with pytest.raises(tenon.DeviceError, match=r"^f: the reference interpreter has no memory left \("):
        executable()


def test_a_block_of_more_work_items_than_memory_is_no_bug_of_the_interpreter():
    text = """
low.kernel @k(%x: memref<4xf32>) grid [1, 1, 1] block [9223372036854775807, 2, 1] {
}
sched.program @f(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  %t = sched.launch @k(%x) after() : memref<4xf32>
  sched.return after()
}
"""
    executable = tenon.compile(text, backend="reference")
    with pytest.raises(tenon.DeviceError, match=r"^f: the reference interpreter has no memory left \("):
        executable(np.zeros(4, np.float32))
