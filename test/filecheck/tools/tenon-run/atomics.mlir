// RUN: tenon-run %S/../../../../examples/histogram.mlir | filecheck %s
// RUN: tenon-run %S/../../../../examples/histogram.mlir --backend reference | filecheck %s
// RUN: tenon-run %S/../../../../examples/histogram.mlir -p low-pipeline --compare --print summary | filecheck %s --check-prefix COMPARED

// A file with kernels of low and their program is compiled as it is; updates of all work-items count.
// CHECK:      result0: int32[5], {{[0-9]+}} to {{[0-9]+}}
// CHECK-NEXT: {{\[[1-9][0-9]+ [1-9][0-9]+ [1-9][0-9]+ [1-9][0-9]+ [1-9][0-9]+\]}}
// COMPARED:   result0: llvm and reference: same bits
