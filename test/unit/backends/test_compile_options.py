"""What the options of each of Tenon's compilers do; test/contract has what holds for all."""

from typing import Any

import pytest
from tenon.backends.interface import Backend, ImageCompiler
from tenon.backends.registry import get_backend
from tenon.errors import KernelCompileError, MissingExtraError
from tenon.test.contract.compile_options import run, source_of

OTHERS: dict[str, dict[str, Any]] = {
    "llvm": {"speed_level": 0, "vectorize_loops": False, "vectorize_statements": False},
    "opencl": {"build_options": ("-cl-std=CL1.2", "-cl-opt-disable", "-w")},
    "reference": {"check_races": False},
}
"""What is not the default."""


@pytest.fixture(params=OTHERS)
def device(request: pytest.FixtureRequest) -> Backend:
    try:
        return get_backend(request.param)
    except MissingExtraError as error:
        pytest.skip(str(error))


def test_the_defaults_are_what_is_used_without_options(device: Backend):
    defaults = dict(device.compiler.default_options(device.device))
    assert set(defaults) == set(OTHERS[device.name])
    assert run(device, None) == run(device, {}) == run(device, defaults) == [1, 2, 3, 4]
    compiler = device.compiler
    if isinstance(compiler, ImageCompiler) and device.name == "llvm":
        source = source_of(device)
        assert compiler.image(source, device.device) == compiler.image(source, device.device, defaults)


def test_options_change_how_a_kernel_is_compiled(device: Backend):
    assert run(device, OTHERS[device.name]) == [1, 2, 3, 4]
    compiler, source = device.compiler, source_of(device)
    if device.name == "llvm":
        assert isinstance(compiler, ImageCompiler)
        plain = compiler.image(source, device.device)
        assert compiler.image(source, device.device, OTHERS["llvm"]) != plain
    elif device.name == "opencl":
        with pytest.raises(KernelCompileError, match="opencl: cannot compile next for device"):
            compiler.compile(source, device.device, {"build_options": ("-there-is-no-such-option",)})


def test_one_option_leaves_the_others(device: Backend):
    name = next(iter(OTHERS[device.name]))
    assert run(device, {name: OTHERS[device.name][name]}) == [1, 2, 3, 4]
