"""Which values get buffers and which kernel computes what; writes the kernels and the host program."""
