"""`tenon.numpy`: the Python Array API."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false

from .frontends.numpy import *  # noqa: F403  (this module is `tenon.numpy`, a sibling of `tenon.frontends`)
from .frontends.numpy import __all__ as __all__
