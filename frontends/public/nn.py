"""`tenon.nn`: convolutions, pooling and what classifiers need."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false

from .frontends.nn import *  # noqa: F403  (this module is `tenon.nn`, a sibling of `tenon.frontends`)
from .frontends.nn import __all__ as __all__
