"""Products of arrays: of matrices and vectors, along named axes, in Einstein's notation."""
