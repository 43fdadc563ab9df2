// RUN: tenon-run %s --entry ramp | filecheck %s
// RUN: tenon-run %s --entry ramp --backend reference | filecheck %s
// RUN: tenon-run %s --entry ramp --level sched | filecheck %s
// RUN: tenon-run %s --entry ramp --level low --compare | filecheck %s --check-prefix COMPARED
// RUN: not tenon-run %s 2>&1 | filecheck %s --check-prefix SEVERAL
// RUN: not tenon-run %s --entry rampe 2>&1 | filecheck %s --check-prefix UNKNOWN

// CHECK:      result0: int32[2, 3], 0 to 12
// CHECK-NEXT: {{\[\[}} 0  1  4]
// CHECK-NEXT:  [ 0  6 12]]
// COMPARED:   result0: reference and reference: same bits
func.func @ramp() -> tensor<2x3xi32> {
  %j = graph.iota axis 1 : tensor<2x3xi32>
  %c = graph.constant dense<[[0, 1, 2], [0, 6, 6]]> : tensor<2x3xi32>
  %y = graph.mul %j, %c : tensor<2x3xi32>
  func.return %y : tensor<2x3xi32>
}

// SEVERAL: levels.mlir: error: the module has 2 functions (@ramp, @same); say which one to run
// UNKNOWN: levels.mlir: error: there is no function @rampe (functions: @ramp, @same), did you mean @ramp?
func.func @same(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
