"""What `make test-frameworks` installs is what the tests here were written for."""

import torch


def test_torch_computes_on_the_processor():
    assert torch.arange(4).sum().item() == 6
