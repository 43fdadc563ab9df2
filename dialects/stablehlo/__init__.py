"""
The dialects `stablehlo`, `chlo` and `sdy`: programs of jax and others, as text has them.

They say what is written; what it means is what `convert-stablehlo-to-graph` makes of it. Each module lists in
its `__all__` what `stablehlo` has of it.
"""

from ..definition import dialect_of
from . import chlo, sdy
from .attributes import *
from .base import *
from .calls import *
from .collective import *
from .constant import *
from .contraction import *
from .control import *
from .elementwise import *
from .indexing import *
from .movement import *
from .reduction import *

STABLEHLO = dialect_of("stablehlo", globals())

CHLO = dialect_of("chlo", vars(chlo))

SDY = dialect_of("sdy", vars(sdy))
