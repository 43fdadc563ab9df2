"""Every compiler has options, with defaults."""

import pytest
from tenon.backends.interface import Backend
from tenon.errors import TenonError

from .compile_options import run, source_of


def test_the_defaults_are_what_is_used_without_options(device: Backend):
    defaults = dict(device.compiler.default_options(device.device))
    assert run(device, None) == run(device, {}) == run(device, defaults) == [1, 2, 3, 4]


def test_one_option_leaves_the_others(device: Backend):
    for name, value in device.compiler.default_options(device.device).items():
        assert run(device, {name: value}) == [1, 2, 3, 4]


def test_options_that_are_not_known_are_refused(device: Backend):
    present = ", ".join(device.compiler.default_options(device.device)) or "none"
    with pytest.raises(
        TenonError, match=rf"^{device.name}: there is no compile option 'speed' \(options: {present}\)$"
    ):
        device.compiler.compile(source_of(device), device.device, {"speed": 1})


def test_options_without_a_value_are_refused(device: Backend):
    for name in device.compiler.default_options(device.device):
        with pytest.raises(
            TenonError, match=rf"^{device.name}: compile option '{name}' is None, expected \w+$"
        ):
            device.compiler.compile(source_of(device), device.device, {name: None})
