"""What the text of a kernel and those who compile and run it must agree on."""

SCALAR_LOOPS = 'noinline "loops"="scalar"'
"""
The function attributes of a kernel without any vector: its loops are left to LLVM to vectorise, once, and not
again in what calls it.
"""

MOST_LANES = 16384
"""
The most lanes of a vector. LLVM ends the process where a node has more than 65535 operands: a constant has
one for each lane, a shuffle of two vectors those of both. An addition of 16384 lanes takes 6 s to compile.
"""

NEEDS_STRENGTH_REDUCTION = '"needs-strength-reduction"'
"""An attribute of functions with loops that have no pointers of their own to step along what they access."""
