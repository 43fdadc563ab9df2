"""
The `sched` dialect: how, where and when. Kernels are trees of annotated axes; a program launches them.

Each module lists in its `__all__` what `sched` has of it.
"""

from ..definition import dialect_of
from .attributes import *
from .collectives import *
from .control import *
from .dim import *
from .host_call import *
from .kernel import *
from .node import *
from .origin import *
from .program import *
from .program_types import *
from .tile_shape import *

SCHED = dialect_of("sched", globals())
