"""The text of kernels in LLVM IR: the walk over their ops, the rule of each, and how types are written."""
