// RUN: tenon-opt %s -p infer-precision,dce | filecheck %s

// CHECK-LABEL: @narrowed
// CHECK-NEXT: %d = graph.add %x, %y : tensor<4xf16>
// CHECK-NEXT: func.return %d
func.func @narrowed(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %a = graph.cast %x : tensor<4xf16> -> tensor<4xf32>
  %b = graph.cast %y : tensor<4xf16> -> tensor<4xf32>
  %c = graph.add %a, %b : tensor<4xf32>
  %d = graph.cast %c : tensor<4xf32> -> tensor<4xf16>
  func.return %d : tensor<4xf16>
}

// Two operations round twice in f16, but once in f32.
// CHECK-LABEL: @rounded_once
// CHECK: graph.mul {{.*}} : tensor<4xf32>
// CHECK: graph.add {{.*}} : tensor<4xf32>
func.func @rounded_once(%x: tensor<4xf16>) -> tensor<4xf16> {
  %a = graph.cast %x : tensor<4xf16> -> tensor<4xf32>
  %b = graph.mul %a, %a : tensor<4xf32>
  %c = graph.add %b, %a : tensor<4xf32>
  %d = graph.cast %c : tensor<4xf32> -> tensor<4xf16>
  func.return %d : tensor<4xf16>
}
