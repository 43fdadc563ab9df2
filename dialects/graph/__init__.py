"""
The `graph` dialect: what to compute, as pure ops on tensors, and the tensor nodes that outlive a run.

Each module lists in its `__all__` what `graph` has of it.
"""

from ..definition import dialect_of
from ..dims.attributes import *
from .attributes import *
from .base import *
from .composite import *
from .contraction import *
from .control import *
from .cumulative import *
from .custom import *
from .dim import *
from .elementwise import *
from .functions import *
from .host_call import *
from .index_map import *
from .indexing import *
from .marker import *
from .movement import *
from .node import *
from .padding import *
from .predicates import *
from .random import *
from .sorting import *
from .source import *
from .types import *

GRAPH = dialect_of("graph", globals())
