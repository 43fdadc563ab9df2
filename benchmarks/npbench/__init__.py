"""
The kernels of NPBench, the numpy benchmark of ETH Zurich's SPCL (https://github.com/spcl/npbench), each
written anew from its definition.
"""
