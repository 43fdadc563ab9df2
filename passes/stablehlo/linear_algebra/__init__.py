"""Systems of equations and decompositions of matrices, as loops over whole matrices in batches."""
