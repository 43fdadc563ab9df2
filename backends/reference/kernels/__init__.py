"""Kernels of `sched` and `low` in numpy: scalars, memory, and what no device checks."""
