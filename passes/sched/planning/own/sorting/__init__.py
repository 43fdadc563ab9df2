"""The kernels of sorts."""
