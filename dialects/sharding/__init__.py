"""
Meshes and shardings as plain data, from and to the ops and attributes of MLIR's `shard` dialect.

The ops themselves are xDSL's: `shard.grid`, `shard.sharding`, `shard.shard`.
"""

from .annotations import ARGUMENT_SHARDING as ARGUMENT_SHARDING
from .annotations import argument_shardings as argument_shardings
from .annotations import checked_sharding as checked_sharding
from .annotations import result_shardings as result_shardings
from .annotations import said_by as said_by
from .annotations import set_shardings as set_shardings
from .blocks import Interval as Interval
from .blocks import blocks as blocks
from .mesh import Mesh as Mesh
from .sharding import Sharding as Sharding
