"""What the attributes of a function say of its arguments."""

DONATED = "tenon.donated"
"""The attribute of a function's argument whose memory the function may have: its caller needs it no more."""

FROZEN = "tenon.frozen"
"""The attribute of a function's argument that has the same elements at each call."""
