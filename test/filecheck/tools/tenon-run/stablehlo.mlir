// RUN: tenon-run %s --compare | filecheck %s
// RUN: tenon-opt %s -p convert-stablehlo-to-graph,default-pipeline | filecheck %s --check-prefix LOW

// A program of StableHLO runs as it is, and goes through all passes after the one that converts it.
// CHECK: result0: float32[4, 3]
// CHECK: result0: llvm and reference: same bits
// LOW:   low.kernel
module @jit_f {
  func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    %1 = call @relu(%0) : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
  func.func private @relu(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %1 = stablehlo.maximum %x, %0 : tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}
