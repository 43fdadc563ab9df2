// RUN: tenon-opt %s -p hoist-loop-invariants | filecheck %s

graph.tnode @w : tensor<4xf32>

// Out of both loops; what a branch computes, and what a node holds, stays.
// CHECK-LABEL: func.func @f
// CHECK-NEXT:    %e = graph.exp %w : tensor<4xf32>
// CHECK-NEXT:    %n = graph.neg %e : tensor<4xf32>
// CHECK-NEXT:    %y = graph.scan %i = 10 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT:      %z = graph.scan %j = 3 (%d = %c) : (tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT:        %r = graph.read @w : tensor<4xf32>
// CHECK-NEXT:        %s = graph.add %d, %n : tensor<4xf32>
// CHECK-NEXT:        %b = graph.if %q -> (tensor<4xf32>) {
// CHECK-NEXT:          %l = graph.log %w : tensor<4xf32>
// CHECK-NEXT:          graph.yield %l : tensor<4xf32>
func.func @f(%w: tensor<4xf32>, %x: tensor<4xf32>, %q: tensor<i1>) -> tensor<4xf32> {
  %y = graph.scan %i = 10 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %e = graph.exp %w : tensor<4xf32>
    %z = graph.scan %j = 3 (%d = %c) : (tensor<4xf32>) -> (tensor<4xf32>) {
      %r = graph.read @w : tensor<4xf32>
      %n = graph.neg %e : tensor<4xf32>
      %s = graph.add %d, %n : tensor<4xf32>
      %b = graph.if %q -> (tensor<4xf32>) {
        %l = graph.log %w : tensor<4xf32>
        graph.yield %l : tensor<4xf32>
      } else {
        graph.yield %r : tensor<4xf32>
      }
      %t = graph.add %s, %b : tensor<4xf32>
      graph.yield %t : tensor<4xf32>
    }
    graph.yield %z : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @g
// CHECK-NEXT:    %limit = graph.exp %w : tensor<f32>
// CHECK-NEXT:    %y = graph.while (%v = %x) : (tensor<f32>) {
// CHECK-NEXT:      %c = graph.lt %v, %limit : tensor<f32>
func.func @g(%w: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %y = graph.while (%v = %x) : (tensor<f32>) {
    %limit = graph.exp %w : tensor<f32>
    %c = graph.lt %v, %limit : tensor<f32>
    graph.condition %c
  } do (%v) {
    %n = graph.add %v, %x : tensor<f32>
    graph.yield %n : tensor<f32>
  }
  func.return %y : tensor<f32>
}

// Zeros around a value from outside go with it, and stay where the loop itself reads them. What is made of indices
// alone stays.
// CHECK-LABEL: func.func @padded
// CHECK-NEXT:    %zero = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %p = graph.pad %w, %zero low [0] high [1] : tensor<4xf32>
// CHECK-NEXT:    %y = graph.scan %i = 10 (%c = %x) : (tensor<5xf32>) -> (tensor<5xf32>) {
// CHECK-NEXT:      %zero_1 = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:      %zeros = graph.broadcast %zero_1 : tensor<f32> -> tensor<5xf32>
// CHECK-NEXT:      %less = graph.lt %zeros, %zeros : tensor<5xf32>
// CHECK-NEXT:      %s = graph.add %c, %p : tensor<5xf32>
// CHECK-NEXT:      %m = graph.max %s, %zeros : tensor<5xf32>
func.func @padded(%w: tensor<4xf32>, %x: tensor<5xf32>) -> tensor<5xf32> {
  %y = graph.scan %i = 10 (%c = %x) : (tensor<5xf32>) -> (tensor<5xf32>) {
    %zero = graph.constant dense<0.000000e+00> : tensor<f32>
    %p = graph.pad %w, %zero low [0] high [1] : tensor<4xf32>
    %zeros = graph.broadcast %zero : tensor<f32> -> tensor<5xf32>
    %less = graph.lt %zeros, %zeros : tensor<5xf32>
    %s = graph.add %c, %p : tensor<5xf32>
    %m = graph.max %s, %zeros : tensor<5xf32>
    %n = graph.select %less, %m, %s : tensor<5xf32>
    graph.yield %n : tensor<5xf32>
  }
  func.return %y : tensor<5xf32>
}
