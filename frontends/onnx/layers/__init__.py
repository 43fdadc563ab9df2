"""What layers of networks are, a file for each family; importing the room registers them."""

from . import (
    activations,
    convolutions,
    detection,
    normalisation,
    older,
    pools,
    recurrent,
    resizing,
    sampling,
    signals,
)

__all__ = [
    "activations",
    "convolutions",
    "detection",
    "normalisation",
    "older",
    "pools",
    "recurrent",
    "resizing",
    "sampling",
    "signals",
]
