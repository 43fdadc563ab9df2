"""`tenon.jit`."""
