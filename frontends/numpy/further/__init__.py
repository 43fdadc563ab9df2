"""
What numpy has beyond the Array API standard, as compositions of its functions: each is traced as one program.

Where numpy looks at values (whether bins are sorted, whether a row is all NaN), these do not, as arrays that
are traced have none: their docstrings say what they give then.
"""

from __future__ import annotations

from . import (
    applied,
    bits,
    calculus,
    counting,
    divisors,
    element_functions,
    layouts,
    nan_reductions,
    order_statistics,
    orders,
    polynomials,
    selections,
    sequences,
    value_sets,
    windows,
)
from .applied import *
from .bits import *
from .calculus import *
from .counting import *
from .divisors import *
from .element_functions import *
from .layouts import *
from .nan_reductions import *
from .order_statistics import *
from .orders import *
from .polynomials import *
from .selections import *
from .sequences import *
from .value_sets import *
from .windows import *

__all__: list[str] = []
__all__ += applied.__all__
__all__ += bits.__all__
__all__ += calculus.__all__
__all__ += counting.__all__
__all__ += divisors.__all__
__all__ += element_functions.__all__
__all__ += layouts.__all__
__all__ += nan_reductions.__all__
__all__ += order_statistics.__all__
__all__ += orders.__all__
__all__ += polynomials.__all__
__all__ += selections.__all__
__all__ += sequences.__all__
__all__ += value_sets.__all__
__all__ += windows.__all__
