// REQUIRES: opencl
// RUN: tenon-run %S/../../../../examples/histogram.mlir --backend opencl --compare --print summary --dump-dir %t | filecheck %s
// RUN: filecheck %s --input-file %t/kernels.cl --check-prefix SOURCE

// CHECK:  result0: opencl and reference: same bits
// SOURCE: atomic_add(counts + at, 1);
