"""What says of a contraction, or of a sum made of it, that its last two dims may be exchanged."""

SYMMETRIC = "symmetric"
"""
The attribute: elements at (i, j) and (j, i) have the same bits, so that a schedule may compute one of them
and store it twice. It is set where both operands are one value, which they may be no longer when it is read.
"""
