"""
The functions of `tenon.numpy`: the Python Array API standard 2024.12, and what numpy has besides that
compiles.

`docs/coverage.md` lists every name of the standard, and says of those that are not here why. Each module
lists in its `__all__` what the namespace has of it.
"""

from __future__ import annotations

from ..arrays.promotion import can_cast, result_type
from . import (
    aliases,
    constants,
    creation,
    dtypes,
    elementwise,
    further,
    indexing,
    info,
    linalg,
    manipulation,
    packing,
    padding,
    predicates,
    searching,
    sets,
    slices,
    sorting,
    statistics,
    updates,
    values,
)
from .aliases import *
from .constants import *
from .creation import *
from .dtypes import *
from .elementwise import *
from .further import *
from .indexing import *
from .info import *
from .manipulation import *
from .packing import *
from .padding import *
from .predicates import *
from .products import linear_algebra
from .products.einsum import einsum
from .products.linear_algebra import *
from .searching import *
from .sets import *
from .sorting import *
from .statistics import *
from .updates import *
from .values import *

__array_api_version__ = "2024.12"

__all__ = ["__array_api_version__", "can_cast", "einsum", "linalg", "result_type"]
__all__ += aliases.__all__
__all__ += constants.__all__
__all__ += creation.__all__
__all__ += dtypes.__all__
__all__ += elementwise.__all__
__all__ += further.__all__
__all__ += indexing.__all__
__all__ += info.__all__
__all__ += linear_algebra.__all__
__all__ += manipulation.__all__
__all__ += packing.__all__
__all__ += padding.__all__
__all__ += predicates.__all__
__all__ += searching.__all__
__all__ += sets.__all__
__all__ += sorting.__all__
__all__ += statistics.__all__
__all__ += updates.__all__
__all__ += values.__all__

slices.add_rules()
