// RUN: tenon-opt %s -p copy-carried-parts | filecheck %s

// A row and a column of what is stored over.
// CHECK-LABEL: func.func @paths
// CHECK:         graph.gather %c[%k] axes [0] {memory_mode = #graph.memory_mode<materialized, "a part of what a loop stores over">}
// CHECK:         graph.gather %c[%k] axes [1] {memory_mode = #graph.memory_mode<materialized, "a part of what a loop stores over">}
func.func @paths(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %y = graph.scan %k = 32 (%c = %x) : (tensor<32x32xf32>) -> (tensor<32x32xf32>) {
    %row = graph.gather %c[%k] axes [0] : tensor<32x32xf32>[tensor<i64>] -> tensor<32xf32>
    %column = graph.gather %c[%k] axes [1] : tensor<32x32xf32>[tensor<i64>] -> tensor<32xf32>
    %r = graph.broadcast %row : tensor<32xf32> -> tensor<32x32xf32>
    %t = graph.reshape %column : tensor<32xf32> -> tensor<32x1xf32>
    %s = graph.broadcast %t : tensor<32x1xf32> -> tensor<32x32xf32>
    %sum = graph.add %r, %s : tensor<32x32xf32>
    %n = graph.min %c, %sum : tensor<32x32xf32>
    graph.yield %n : tensor<32x32xf32>
  }
  func.return %y : tensor<32x32xf32>
}

// Neighbours of all elements are read too, a part is large, and nothing is stored over.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     materialized
func.func @others(%x: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) {
  %y, %z, %w = graph.scan %k = 32 (%c = %x, %d = %x, %e = %x) : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) {
    %row = graph.gather %c[%k] axes [0] : tensor<32x32xf32>[tensor<i64>] -> tensor<32xf32>
    %r = graph.broadcast %row : tensor<32xf32> -> tensor<32x32xf32>
    %f = graph.flip %c axes [0] : tensor<32x32xf32>
    %s = graph.add %r, %f : tensor<32x32xf32>
    %n = graph.add %c, %s : tensor<32x32xf32>
    %half = graph.slice %d offsets [0, 0] sizes [16, 32] strides [1, 1] : tensor<32x32xf32>
    %both = graph.concat %half, %half axis 0 : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<32x32xf32>
    %m = graph.add %d, %both : tensor<32x32xf32>
    %one = graph.gather %e[%k] axes [0] : tensor<32x32xf32>[tensor<i64>] -> tensor<32xf32>
    %l = graph.broadcast %one : tensor<32xf32> -> tensor<32x32xf32>
    graph.yield %n, %m, %l : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
  }
  func.return %y, %z, %w : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
}

// So are elements that a loop with a condition swaps.
// CHECK-LABEL: func.func @swaps
// CHECK-COUNT-2:   graph.gather {{.*}} {memory_mode = #graph.memory_mode<materialized, "a part of what a loop stores over">}
func.func @swaps(%x: tensor<99xf32>, %j: tensor<i64>, %k: tensor<i64>, %more: tensor<i1>) -> tensor<99xf32> {
  %y = graph.while (%b = %x) : (tensor<99xf32>) {
    graph.condition %more
  } do (%c) {
    %a = graph.gather %c[%j] axes [0] : tensor<99xf32>[tensor<i64>] -> tensor<f32>
    %d = graph.gather %c[%k] axes [0] : tensor<99xf32>[tensor<i64>] -> tensor<f32>
    %ar = graph.reshape %a : tensor<f32> -> tensor<1xf32>
    %dr = graph.reshape %d : tensor<f32> -> tensor<1xf32>
    %e = graph.dynamic_update %c[%j], %dr : tensor<99xf32>[tensor<i64>], tensor<1xf32>
    %f = graph.dynamic_update %e[%k], %ar : tensor<99xf32>[tensor<i64>], tensor<1xf32>
    graph.yield %f : tensor<99xf32>
  }
  func.return %y : tensor<99xf32>
}

// And elements of two values that are each made of one of the other; not where only one is.
// CHECK-LABEL: func.func @crossed
// CHECK:         graph.gather %c[%k] axes [0] {memory_mode = #graph.memory_mode<materialized, "a part of what a loop stores over">}
// CHECK:         graph.gather %d[%k] axes [0] {memory_mode = #graph.memory_mode<materialized, "a part of what a loop stores over">}
// CHECK-NOT:     materialized
func.func @crossed(%x: tensor<99xf32>) -> (tensor<99xf32>, tensor<99xf32>, tensor<99xf32>) {
  %y, %z, %w = graph.scan %k = 32 (%c = %x, %d = %x, %e = %x) : (tensor<99xf32>, tensor<99xf32>, tensor<99xf32>) -> (tensor<99xf32>, tensor<99xf32>, tensor<99xf32>) {
    %of_c = graph.gather %c[%k] axes [0] : tensor<99xf32>[tensor<i64>] -> tensor<f32>
    %of_d = graph.gather %d[%k] axes [0] : tensor<99xf32>[tensor<i64>] -> tensor<f32>
    %also_c = graph.dynamic_slice %c[%k] sizes [1] : tensor<99xf32>[tensor<i64>]
    %rc = graph.reshape %of_c : tensor<f32> -> tensor<1xf32>
    %rd = graph.reshape %of_d : tensor<f32> -> tensor<1xf32>
    %p = graph.dynamic_update %c[%k], %rd : tensor<99xf32>[tensor<i64>], tensor<1xf32>
    %q = graph.dynamic_update %d[%k], %rc : tensor<99xf32>[tensor<i64>], tensor<1xf32>
    %r = graph.dynamic_update %e[%k], %also_c : tensor<99xf32>[tensor<i64>], tensor<1xf32>
    graph.yield %p, %q, %r : tensor<99xf32>, tensor<99xf32>, tensor<99xf32>
  }
  func.return %y, %z, %w : tensor<99xf32>, tensor<99xf32>, tensor<99xf32>
}
