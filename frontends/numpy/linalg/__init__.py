"""
The linear algebra of `tenon.numpy.linalg`: the standard's extension, and what numpy has besides.

Factorizations are loops of whole matrices, written when a function is traced (`algorithms/`). Nothing raises
for its values: what numpy raises `LinAlgError` for gives NaN or infinities.
"""

from __future__ import annotations

from . import chains, decompositions, least_squares, norms, systems, vectors
from .chains import *
from .decompositions import *
from .least_squares import *
from .norms import *
from .systems import *
from .vectors import *

__all__: list[str] = []
__all__ += chains.__all__
__all__ += decompositions.__all__
__all__ += least_squares.__all__
__all__ += norms.__all__
__all__ += systems.__all__
__all__ += vectors.__all__
