// RUN: tenon-run %s --dump-dir %t --print none
// RUN: filecheck %s --input-file %t/00-graph.mlir --check-prefix GRAPH
// RUN: filecheck %s --input-file %t/kernels.ll --check-prefix LLVM
// RUN: filecheck %s --input-file %t/plan.txt --check-prefix PLAN

// GRAPH: graph.add %x, %x : tensor<4xf32>
// LLVM:  define void @double_0
// PLAN:       1 kernels, 1 launches, 0 bytes of constants, 0 bytes of temporaries
// PLAN:       buffers
// PLAN-NEXT:  0: argument 0, 16 bytes
// PLAN-NEXT:  1: result 0, 16 bytes
// PLAN-NEXT:  steps
// PLAN-NEXT:  @double_0(0, 1) grid
// PLAN-NEXT:  returns 1
func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
