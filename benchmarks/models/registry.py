"""All models of the benchmark."""

from __future__ import annotations

from . import gpt2, lstm, minilm, resnet18, unet
from .model import Model

MODELS: dict[str, Model] = {
    module.MODEL.name: module.MODEL for module in (minilm, resnet18, gpt2, lstm, unet)
}
"""By name."""
