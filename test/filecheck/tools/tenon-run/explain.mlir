// RUN: tenon-run %s --explain --print none | filecheck %s
// RUN: tenon-run %s --explain --print none --backend reference | filecheck %s

// What the compiler did is told before the program runs.
// CHECK:      @double: 2 operations in 1 kernel
// CHECK:      kernel @double_0 computes %z: 64xf32
// CHECK-NEXT:   %y  add  64xf32  virtual       inline  computed where it is read; about {{.*}} ns together, {{.*}} ns apart  explain.mlir:11
// CHECK-NEXT:   %z  exp  64xf32  materialized  needed  returned by the function {{ *}}explain.mlir:12
// CHECK:      @double_0(%x) -> %z
func.func @double(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = graph.add %x, %x : tensor<64xf32>
  %z = graph.exp %y : tensor<64xf32>
  func.return %z : tensor<64xf32>
}
