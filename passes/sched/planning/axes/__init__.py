"""The axes of a kernel for a result: one for each dim, some of them unrolled or made several."""
