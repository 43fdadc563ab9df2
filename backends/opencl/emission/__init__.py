"""The text of kernels in OpenCL C: the walk over their ops, the rules, and how types are written."""
