"""
How much memory a kernel keeps to itself, on the stack of the thread that runs it.

A backend gives a kernel `PRIVATE_NBYTES_LIMIT` bytes, and refuses one that needs more. Who plans such memory
takes a share of it that is told here.
"""

from __future__ import annotations

from ...dialects.buffer_size import PRIVATE_NBYTES_LIMIT

# By design: the first-level data cache of most processors. Softmax of rows of 48 KB takes 76 us with a local
# buffer of a row, 69 us in the result's memory (`python -m benchmarks.thresholds`).
LOCAL_NBYTES_LIMIT = 32 << 10
"""The most bytes of the local buffers that a kernel is planned with."""

BLOCKS_NBYTES_LIMIT = PRIVATE_NBYTES_LIMIT - LOCAL_NBYTES_LIMIT
"""The most bytes of the blocks that the stages of a kernel hand on: what its other values leave."""

STRIPS_NBYTES_LIMIT = PRIVATE_NBYTES_LIMIT // 2
"""The most bytes of the local buffers of a strip of columns: what is left holds a value for each column."""

IMAGE_NBYTES_LIMIT = 96 << 10
"""The most bytes of the rows of an image that a kernel stages: a quarter of a second cache of 384 KiB."""
