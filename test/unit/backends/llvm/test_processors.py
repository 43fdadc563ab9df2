"""Code for a processor that is named: what it is made of, where it runs, and what says that it does not."""

import os
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm import compile as llvm_compile
from tenon.backends.llvm import device as llvm_device
from tenon.backends.llvm.compile import shared_compiler
from tenon.backends.llvm.device import TARGET, cpu_device, host_device
from tenon.backends.llvm.processors import NATIVE, PROCESSOR_NAMES, PROCESSORS, find_processor, host_processor
from tenon.backends.registry import get_backend
from tenon.compiler.kept_programs import lookup_counts
from tenon.compiler.tuning import device_key
from tenon.semantics.fused_multiply_add import fma
from tenon.test import processors
from tenon.tools.tenon_opt import main as tenon_opt
from tenon.tools.tenon_run import main as tenon_run

N = 40

SHAPE = f"tensor<{N}x{N}xf32>"

PROGRAM = f"""func.func @f(%x: {SHAPE}, %y: {SHAPE}) -> {SHAPE} {{
  %p = graph.contract %x, %y maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : {SHAPE}, {SHAPE} -> {SHAPE}
  %e = graph.exp %p : {SHAPE}
  %h = graph.cast %e : {SHAPE} -> tensor<{N}x{N}xf16>
  %r = graph.cast %h : tensor<{N}x{N}xf16> -> {SHAPE}
  func.return %r : {SHAPE}
}}"""

SMALL = """func.func @f(%x: tensor<80xf32>) -> tensor<80xf32> {
  %y = graph.exp %x : tensor<80xf32>
  func.return %y : tensor<80xf32>
}"""

DYNAMIC = """graph.dim @n min 1 max 64
func.func @g(%x: tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<n>> {
  %y = graph.exp %x : tensor<?xf32, #graph.dims<n>>
  func.return %y : tensor<?xf32, #graph.dims<n>>
}"""

X86 = [name for name, processor in PROCESSORS.items() if processor.arch == "x86_64"]

RUNNABLE = [name for name in PROCESSORS if not cpu_device(name).unmet]

FOREIGN = next(name for name, processor in PROCESSORS.items() if processor.arch != host_processor().arch)
"""A target that this machine never runs."""

NO_AVX512 = "target 'x86-64-v4' needs avx512bw, avx512cd, avx512dq, avx512f, avx512vl"


@pytest.fixture
def on_v3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the host one that has AVX2 and no AVX-512."""
    for module in (llvm_device, llvm_compile):
        monkeypatch.setattr(module, "host_processor", lambda: PROCESSORS["x86-64-v3"])


@pytest.fixture(params=RUNNABLE)
def runnable(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param


def arrays() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((N, N), np.float32) / 8 for _ in range(2)]


def instructions(assembly: str) -> str:
    """Returns the lines of instructions, without labels and directives."""
    return "\n".join(line for line in assembly.splitlines() if re.match(r"\t[a-z]", line))


def calls(assembly: str) -> set[str]:
    """Returns the routines of others that code calls."""
    called = set(re.findall(r"\bcallq?\s+\*?([\w.]+)", assembly))
    return {name for name in called if not name.endswith(".range")}


@pytest.mark.processor
def test_code_and_numpy_are_what_the_environment_says():
    assert get_backend("llvm").device.name == find_processor(os.environ.get(TARGET) or NATIVE).name
    disabled = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()
    assert not set(disabled).intersection(processors.dispatched_by_numpy())


def test_slices_are_for_what_numpy_can_do_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(processors, "dispatched_by_numpy", lambda: ["AVX2", "X86_V4", "AVX512_SPR"])
    variables = processors.environment_for("x86-64-v2")
    assert variables[TARGET] == "x86-64-v2" and "-FMA," in variables["GLIBC_TUNABLES"]
    assert variables["NPY_DISABLE_CPU_FEATURES"] == "AVX2 X86_V4 AVX512_SPR"
    expected = {TARGET: "x86-64-v3", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_SPR"}
    assert processors.environment_for("x86-64-v3") == expected
    assert any(path.endswith("test_every_op.py") for path in processors.marked_files())
    assert processors.main([FOREIGN]) == 0
    assert f"{FOREIGN}: skipped: target '{FOREIGN}' is for " in capsys.readouterr().out
    assert processors.main(["z80"]) == 2
    assert "target 'z80' is not one of native, " in capsys.readouterr().err


def test_some_target_runs_here_and_some_other_does_not():
    assert RUNNABLE or host_processor().arch not in ("x86_64", "aarch64")
    with tenon.compile(PROGRAM, target=FOREIGN) as executable, pytest.raises(tenon.DeviceError):
        executable(*arrays())


@pytest.mark.parametrize("target", X86)
def test_code_has_the_registers_of_its_target_and_no_others(target: str):
    text = tenon.compile(PROGRAM, target=target).assembly()
    found = instructions(text)
    widest = PROCESSORS[target].vector_nbytes
    assert ("%zmm" in found) == (widest == 64)
    assert ("%ymm" in found) == (widest >= 32)
    assert bool(re.search(r"^\tv", found, re.MULTILINE)) == (widest >= 32), "an instruction of AVX"
    assert ("vfmadd" in found) == (widest >= 32)
    assert calls(text) == set()


def test_code_for_another_architecture_has_its_instructions_and_is_an_object_file_of_it():
    executable = tenon.compile(PROGRAM, target="aarch64")
    text = executable.assembly()
    assert re.search(r"\tfmla\tv\d+\.4s", text) and "xmm" not in text
    assert re.search(r"\tfcvtn\tv\d+\.4h", text), "a conversion to f16"
    assert "llvm.x86" not in executable.source
    code = executable.object_code()
    assert code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == 183


def test_objects_of_all_targets_differ_and_are_the_same_each_time():
    codes = {name: tenon.compile(SMALL, target=name).object_code() for name in PROCESSORS}
    assert len(set(codes.values())) == len(PROCESSORS)
    again = {name: tenon.compile(SMALL, target=name).object_code() for name in PROCESSORS}
    assert again == codes


def test_the_text_of_a_target_does_not_depend_on_the_host(on_v3: None):
    code = {name: tenon.compile(PROGRAM, target=name) for name in PROCESSORS}
    assert "x86.avx512" in code["x86-64-v4"].source
    assert all("x86." not in code[name].source for name in PROCESSORS if name != "x86-64-v4")
    assert "<16 x float>" in code["x86-64-v4"].source
    assert "<8 x float>" in code["znver3"].source and "<16 x float>" not in code["znver3"].source
    assert "<4 x float>" in code["aarch64"].source and "<8 x float>" not in code["aarch64"].source


def test_results_are_right_on_every_target_that_runs_here(runnable: str):
    x, y = arrays()
    exact = np.exp(x.astype(np.float64) @ y.astype(np.float64))
    with tenon.compile(PROGRAM, target=runnable) as executable:
        np.testing.assert_allclose(executable(x, y), exact, rtol=2**-10)


def test_a_product_and_its_exponential_have_the_same_bits_on_every_target(runnable: str):
    with tenon.compile(PROGRAM, target=runnable) as one, tenon.compile(PROGRAM, backend="reference") as other:
        np.testing.assert_array_equal(one(*arrays()), other(*arrays()))


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_f16_is_converted_without_instructions_for_it(lanes: int):
    """All f16 are extended; what is rounded lies at, between and around all of them."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide = every.astype(np.float32)
    with np.errstate(all="ignore"):
        ties = (wide + np.nextafter(every, np.float16(np.inf)).astype(np.float32)) / np.float32(2)
        near = np.concatenate([wide, ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, wide)])
    near = np.concatenate([near, np.float32([65519.996, 65520, 1e38, -1e38, 1e-45, 2.0**-25, 2.0**-24])])
    near = np.resize(near, len(near) // 8 * 8 + 8)
    program = f"""func.func @f(%h: tensor<{{n}}x{lanes}xf16>, %x: tensor<{{m}}x{lanes}xf32>)
        -> (tensor<{{n}}x{lanes}xf32>, tensor<{{m}}x{lanes}xf16>) {{{{
      %w = graph.cast %h : tensor<{{n}}x{lanes}xf16> -> tensor<{{n}}x{lanes}xf32>
      %s = graph.cast %x : tensor<{{m}}x{lanes}xf32> -> tensor<{{m}}x{lanes}xf16>
      func.return %w, %s : tensor<{{n}}x{lanes}xf32>, tensor<{{m}}x{lanes}xf16>
    }}}}""".format(n=len(every) // lanes, m=len(near) // lanes)
    with tenon.compile(program, target="x86-64-v2") as executable:
        assert "fpext" not in executable.source and "fptrunc" not in executable.source
        assert calls(executable.assembly()) == set()
        if "x86-64-v2" not in RUNNABLE:
            pytest.skip(cpu_device("x86-64-v2").unmet)
        extended, rounded = executable(every.reshape(-1, lanes), near.reshape(-1, lanes))
    np.testing.assert_array_equal(extended.ravel(), wide)
    assert np.array_equal(np.signbit(extended.ravel()), np.signbit(wide))
    with np.errstate(all="ignore"):
        expected = near.astype(np.float16)
    np.testing.assert_array_equal(rounded.ravel(), expected)
    assert np.array_equal(np.signbit(rounded.ravel()), np.signbit(expected))


def test_sums_of_products_round_once_without_an_instruction_for_it():
    if "x86-64-v2" not in RUNNABLE:
        pytest.skip(cpu_device("x86-64-v2").unmet)
    for type, dtype, digits in (("f32", np.float32, 24), ("f64", np.float64, 53)):
        n = 37
        text = f"""func.func @f(%x: tensor<{n}x{type}>, %y: tensor<{n}x{type}>, %z: tensor<{n}x{type}>)
            -> tensor<{n}x{type}> {{
          %r = graph.fma %x, %y, %z : tensor<{n}x{type}>
          func.return %r : tensor<{n}x{type}>
        }}"""
        x = np.array([1 + i * 2.0 ** (1 - digits) for i in range(n)], dtype)
        z = -(x * x)
        with tenon.compile(text, target="x86-64-v2") as executable:
            found = executable(x, x, z)
            assert calls(executable.assembly()) == ({"fma"} if type == "f64" else set())
        # What the product loses where it is rounded: nothing but an operation that rounds once gives it.
        lost = [Fraction(float(a)) ** 2 + Fraction(float(b)) for a, b in zip(x, z, strict=True)]
        assert [Fraction(float(value)) for value in found] == lost
        assert sum(map(bool, lost)) > n // 2


def test_f32_that_is_multiplied_and_added_by_f64_is_rounded_once():
    if "x86-64-v2" not in RUNNABLE:
        pytest.skip(cpu_device("x86-64-v2").unmet)
    n = 3 << 12
    rng = np.random.default_rng(5)
    x, y, z = rng.integers(0, 1 << 32, (3, n), np.uint32).view(np.float32)
    edges = np.float32(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.0, 1.1754942e-38]
    )
    x[: 11**3], y[: 11**3], z[: 11**3] = (grid.ravel() for grid in np.meshgrid(edges, edges, edges))
    with np.errstate(all="ignore"):
        # Sums that cancel all but the last bits, and those that lie between two floats but for a little.
        z[4096:8192] = -x[4096:8192] * y[4096:8192]
        scale = np.exp2(rng.integers(-40, 40, n - 8192))
        z[8192:] = (x[8192:] * y[8192:]).astype(np.float32) * scale.astype(np.float32)
        expected = fma(x, y, z)
    row = f"tensor<{n}xf32>"
    text = f"""func.func @f(%x: {row}, %y: {row}, %z: {row}) -> {row} {{
      %r = graph.fma %x, %y, %z : {row}
      func.return %r : {row}
    }}"""
    with tenon.compile(text, target="x86-64-v2") as executable:
        assert calls(executable.assembly()) == set() and "llvm.fma" not in executable.source
        found = executable(x, y, z)
    with tenon.compile(text, target="native") as executable:
        np.testing.assert_array_equal(found, executable(x, y, z))
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def test_programs_with_named_dims_and_with_nodes_are_refused_alike():
    with tenon.compile(DYNAMIC, target=FOREIGN) as executable:
        assert "fma" in executable.assembly()
        with pytest.raises(tenon.DeviceError, match=f"g: target '{FOREIGN}' is for "):
            executable(np.zeros(3, np.float32))
    node = """graph.tnode @w : tensor<4xf32>
    func.func @h() -> tensor<4xf32> {
      %w = graph.read @w : tensor<4xf32>
      func.return %w : tensor<4xf32>
    }"""
    with tenon.compile(node, target=FOREIGN) as executable:
        with pytest.raises(tenon.DeviceError, match=f"h: target '{FOREIGN}' is for "):
            executable.nodes["w"] = np.zeros(4, np.float32)
        with pytest.raises(tenon.DeviceError, match=f"h: target '{FOREIGN}' is for "):
            executable.memory_plan()
        assert "graph.read" in executable.stages["graph"] and " h() -> " in str(executable)


def test_what_the_host_lacks_is_named(on_v3: None):
    with tenon.compile(PROGRAM, target="x86-64-v4") as executable:
        assert "%zmm" in executable.assembly() and executable.object_code()
        assert "kernel" in str(executable.explain())
        with pytest.raises(
            tenon.DeviceError, match=f"^f: {NO_AVX512}, which this machine \\(x86-64-v3\\) lacks$"
        ):
            executable(*arrays())
    with tenon.compile(PROGRAM, target="znver3") as executable:
        assert executable(*arrays()).shape == (N, N)


def test_code_that_the_host_lacks_something_for_is_never_loaded(on_v3: None):
    compiler, device = shared_compiler(), cpu_device("x86-64-v4")
    image = compiler.image(tenon.compile(PROGRAM, target="x86-64-v4").source, device)
    with pytest.raises(tenon.DeviceError, match=f"^llvm: {NO_AVX512}"):
        compiler.load(image, device)


def test_devices_and_searches_for_schedules_take_no_target_that_does_not_run(on_v3: None):
    with pytest.raises(tenon.DeviceError, match=f"^open_platform: {NO_AVX512}"):
        tenon.open_platform(target="x86-64-v4")
    with pytest.raises(tenon.DeviceError, match=f"^tune: {NO_AVX512}"):
        tenon.tune(PROGRAM, target="x86-64-v4", seconds=0.1)
    with pytest.raises(tenon.DeviceError, match=f"^tune: {NO_AVX512}"):
        tenon.tune(tenon.jit(tnp.exp, target="x86-64-v4"), *arrays()[:1], seconds=0.1)


def test_devices_of_a_platform_are_the_target(runnable: str):
    device = tenon.open_platform(target=runnable).get_device(0)
    assert device.static_properties["processor"] == runnable
    assert device.static_properties["vector_nbytes"] == PROCESSORS[runnable].vector_nbytes


def test_schedules_are_found_by_their_target():
    keys = {device_key(get_backend("llvm", name)) for name in PROCESSOR_NAMES}
    assert len(keys) == len(PROCESSOR_NAMES) or host_processor().name in PROCESSORS


def test_the_cache_on_disk_tells_targets_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TENON_CACHE", "1")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path))
    names = (*PROCESSORS, *PROCESSORS)
    before = lookup_counts()
    sources = [tenon.compile(SMALL, target=name).source for name in names]
    after = lookup_counts()
    assert (after.hits - before.hits, after.misses - before.misses) == (len(PROCESSORS), len(PROCESSORS))
    assert sources[: len(PROCESSORS)] == sources[len(PROCESSORS) :]
    monkeypatch.setenv(TARGET, FOREIGN)
    assert tenon.compile(SMALL).source == sources[names.index(FOREIGN)]
    assert lookup_counts().hits == after.hits + 1, "the variable means the same as the argument"


def test_functions_of_two_targets_in_one_process_share_no_code():
    def double(x: Any) -> Any:
        return x * 2

    one, other, foreign = (tenon.jit(double, target=name) for name in ("native", "x86-64-v2", FOREIGN))
    x = np.arange(64, dtype=np.float32)
    if "x86-64-v2" in RUNNABLE:
        np.testing.assert_array_equal(np.asarray(other(x)), np.asarray(one(x)))
        assert "ymm" not in other.lower(x).code("s")
    assert foreign.lower(x).object_code() != one.lower(x).object_code()
    assert "ldr" in tenon.jit(double, target="aarch64").lower(x).code("s")
    assert "kernel void" in other.lower(x).code("cl")
    with pytest.raises(tenon.DeviceError, match=f"double: target '{FOREIGN}' is for "):
        foreign(x)
    np.testing.assert_array_equal(np.asarray(one(x)), 2 * x)


def test_the_environment_names_the_target_where_nothing_else_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TARGET, "x86-64-v2")
    assert cpu_device().name == "x86-64-v2" and cpu_device("znver3").name == "znver3"
    assert cpu_device("native") is host_device()
    assert "<8 x float>" not in tenon.compile(PROGRAM).source
    assert "x86-64-v2" in repr(get_backend("llvm").device)
    monkeypatch.setenv(TARGET, "")
    assert cpu_device() is host_device()
    monkeypatch.setenv(TARGET, "z80")
    with pytest.raises(tenon.TenonError, match=r"^TENON_TARGET: target 'z80' is not one of native"):
        tenon.compile(PROGRAM)
    assert get_backend("reference").name == "reference"


def test_a_target_that_there_is_not_is_an_error_that_lists_all():
    message = f"^target 'z80' is not one of {', '.join(PROCESSOR_NAMES)}$"
    with pytest.raises(tenon.TenonError, match=message):
        find_processor("z80")
    with pytest.raises(tenon.TenonError, match=message):
        tenon.compile(PROGRAM, target="z80")
    with pytest.raises(tenon.TenonError, match=message):
        tenon.open_platform(target="z80")
    with pytest.raises(tenon.TenonError, match=message):
        tenon.jit(tnp.exp, target="z80")(1.0)
    with pytest.raises(tenon.TenonError, match="compile: target is 3, of type int, expected the name of a p"):
        tenon.compile(PROGRAM, target=3)  # pyright: ignore[reportArgumentType]


def test_what_runs_on_no_processor_of_a_name_takes_no_target():
    with pytest.raises(tenon.TenonError, match="target 'znver3' is for backend llvm: reference interprets"):
        tenon.compile(PROGRAM, backend="reference", target="znver3")
    with pytest.raises(tenon.TenonError, match="target 'znver3' is for backend llvm: reference interprets"):
        tenon.open_platform("reference", target="znver3")
    message = "target 'znver3' is for backend llvm: an OpenCL driver compiles for its own device"
    with pytest.raises(tenon.TenonError, match=message):
        get_backend("opencl", "znver3")
    message = "target 'znver3' excludes a backend that is open, which has its own"
    with pytest.raises(tenon.TenonError, match=f"^compile: {message}"):
        tenon.compile(PROGRAM, backend=get_backend("llvm"), target="znver3")
    with pytest.raises(tenon.TenonError, match=f"^tune: {message}"):
        tenon.tune(PROGRAM, backend=get_backend("llvm"), target="znver3")
    with tenon.compile(PROGRAM, backend="reference") as executable:
        for make in (executable.assembly, executable.object_code):
            with pytest.raises(tenon.TenonError, match="f: backend reference makes no machine code itself"):
                make()


def test_tools_take_a_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, objects = tmp_path / "f.mlir", tmp_path / "f.o"
    path.write_text(SMALL)
    text: dict[str, str] = {}
    for name in ("x86-64-v4", "aarch64"):
        assert tenon_opt([str(path), "-p", "default-pipeline", "-t", "asm", f"--target={name}"]) == 0
        text[name] = capsys.readouterr().out
        assert text[name].strip() == tenon.compile(SMALL, target=name).assembly().strip()
    assert tenon_opt([str(path), "-p", "default-pipeline", "--target=x86-64-v2"]) == 0
    assert "vector<8xf32>" not in capsys.readouterr().out
    pipeline = "default-pipeline{vector-nbytes=32}"
    assert tenon_opt([str(path), "-p", pipeline, "--target=x86-64-v2"]) == 0
    assert "vector<8xf32>" in capsys.readouterr().out
    arguments = [str(path), "-p", "default-pipeline", "--target=aarch64"]
    assert tenon_opt([*arguments, "-t", "obj", "-o", str(objects)]) == 0
    assert objects.read_bytes() == tenon.compile(SMALL, target="aarch64").object_code()
    arguments = [str(path), "-p", "default-pipeline{vector-nbytes=16}"]
    assert tenon_opt([*arguments, "-t", "asm{target=aarch64}", "--target=x86-64-v2"]) == 0
    assert capsys.readouterr().out == text["aarch64"]
    arguments = [str(path), "--target", FOREIGN, "--compile-only"]
    assert tenon_run([*arguments, "--explain", "--dump-dir", str(tmp_path / "dump")]) == 0
    assert "kernel @f_0 computes" in capsys.readouterr().out
    assert (tmp_path / "dump" / "kernels.s").read_text() == tenon.compile(SMALL, target=FOREIGN).assembly()
    assert tenon_run([str(path), "--target", "native", "--print", "none"]) == 0
    assert tenon_run([str(path), "--target", FOREIGN, "--print", "none"]) == 1
    assert f"tenon-run: error: f: target '{FOREIGN}' is for " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        (tenon_opt, ("--target=llvm-ir",), "'llvm-ir' is what to write, no processor (hint: -t llvm-ir)"),
        (tenon_opt, ("--target=x86-64-v5",), "unknown target 'x86-64-v5', did you mean 'x86-64-v4'? (choose"),
        (tenon_opt, ("-t", "obj"), "-t obj writes one file that is no text (hint: -o FILE)"),
        (tenon_opt, ("-t", "obj", "-o", "-"), "-t obj writes one file that is no text (hint: -o FILE)"),
        (tenon_opt, ("-t", "obj", "-o", "x", "--split-input-file"), "-t obj writes one file that is no text"),
        (tenon_run, ("--target=z80",), "argument --target: invalid choice: 'z80'"),
        (
            tenon_run,
            ("--compile-only", "--time=3", "--input=x.npy"),
            "--compile-only runs nothing, found --time, --input",
        ),
        (
            tenon_run,
            ("--target=znver3", "--backend=opencl"),
            "--target is for --backend llvm only, found opencl",
        ),
    ],
)
def test_tools_refuse_what_is_no_target(
    tool: Any, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit, match="2"):
        tool(list(arguments))
    assert message in capsys.readouterr().err


def test_an_option_that_names_no_target_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "f.mlir"
    path.write_text(PROGRAM)
    assert tenon_opt([str(path), "-p", "default-pipeline", "-t", "asm{target=z80}"]) == 1
    assert "target 'z80' is not one of native, x86-64-v2" in capsys.readouterr().err
