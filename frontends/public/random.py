"""`tenon.random`: random arrays as functions of a key."""

from .frontends.random import *  # noqa: F403  (this module is `tenon.random`, a sibling of `tenon.frontends`)
from .frontends.random import __all__ as __all__
