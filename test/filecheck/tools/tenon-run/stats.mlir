// RUN: tenon-run %s --print none --stats --time 2 --timeline %t.json | filecheck %s
// RUN: filecheck %s --input-file %t.json --check-prefix TIMELINE
// RUN: not tenon-run %s --level sched --stats 2>&1 | filecheck %s --check-prefix REFERENCE

// CHECK:      run best
// CHECK-NEXT: kernels of @double on llvm, medians of 2 runs
// CHECK-NEXT: kernel launches time us share GFLOP/s GB/s
// CHECK-NEXT: @double_0 1 {{.*}} 100.0%
// CHECK-NEXT: total 1 {{.*}} 100.0%

// TIMELINE:   "process_name", "args": {"name": "host"}
// TIMELINE:   "process_name", "args": {"name": "llvm"}
// TIMELINE:   "ph": "X", "name": "canonicalize-graph", "cat": "compile"
// TIMELINE:   "ph": "X", "name": "@double_0", "cat": "kernel"

// REFERENCE:  error: --stats is not for --backend reference
func.func @double(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = graph.add %x, %x : tensor<64xf32>
  func.return %y : tensor<64xf32>
}
