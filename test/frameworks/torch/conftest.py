"""
What tests of compiled torch programs begin with. torch is imported late, as this file is read without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture
def all_is_compiled() -> Iterator[None]:
    """Has each op that is left to torch told again, as an error, and random numbers begin anew."""
    import torch
    from tenon.frontends.torch.told import LeftToTorchWarning, forget_told

    torch.manual_seed(0)
    forget_told()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeftToTorchWarning)
        yield


@pytest.fixture
def nothing_is_compiled_yet(all_is_compiled: None) -> None:
    """Has torch forget what it compiled, too."""
    import torch

    torch.compiler.reset()
