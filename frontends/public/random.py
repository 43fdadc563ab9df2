"""`tenon.random`: random arrays as functions of a key."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false

from .frontends.random import *  # noqa: F403  (this module is `tenon.random`, a sibling of `tenon.frontends`)
from .frontends.random import __all__ as __all__
