"""What runs programs, as files of LLVM IR: their steps, the thread pool, and calls on numpy arrays."""
