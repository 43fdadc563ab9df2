"""
The `graph` dialect: what to compute, as pure ops on tensors, and the tensor nodes that outlive a run.

Each module lists in its `__all__` what `graph` has of it.
"""

from ..definition import dialect_of
from ..dims.attributes import *
from .attributes import *
from .base import *
from .collectives import *
from .composite import *
from .contraction import *
from .control import *
from .cumulative import *
from .custom import *
from .dim import *
from .elementwise.elementwise import *
from .elementwise.functions import *
from .elementwise.predicates import *
from .host_call import *
from .index_map import *
from .marker import *
from .movement.indexing import *
from .movement.movement import *
from .movement.padding import *
from .movement.sorting import *
from .node import *
from .random import *
from .source import *
from .tile import *
from .types import *
from .winograd import *

GRAPH = dialect_of("graph", globals())
