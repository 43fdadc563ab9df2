// RUN: tenon-opt -p lay-channels-last --split-input-file %s | filecheck %s
// RUN: tenon-opt -p lay-channels-last --verify-semantics=2 --split-input-file -o /dev/null %s

// The first image and what the last convolution gives stay as they are.
// CHECK-LABEL: func.func @two
// CHECK:         %c = graph.contract %x, %w
// CHECK-SAME:      (d0, d4, (d2 + d5), (d3 + d6))>{{.*}} -> (d0, d2, d3, d1)>]
// CHECK-SAME:      -> tensor<2x8x8x16xf32>
// CHECK:         %s_1 = graph.reshape %s : tensor<16x1x1xf32> -> tensor<16xf32>
// CHECK-NEXT:    %t_1 = graph.broadcast %s_1 : tensor<16xf32> -> tensor<2x8x8x16xf32>
// CHECK-NEXT:    %a = graph.add %c, %t_1 : tensor<2x8x8x16xf32>
// CHECK-NEXT:    %r = graph.relu %a : tensor<2x8x8x16xf32>
// CHECK-NEXT:    %p = graph.pad %r, %zero low [0, 1, 1, 0] high [0, 1, 2, 0] : tensor<2x8x8x16xf32>
// CHECK-NEXT:    %q = graph.slice %p offsets [0, 0, 1, 0] sizes [2, 10, 10, 16] strides [1, 1, 1, 1]
// CHECK:         %d = graph.contract %q, %v
// CHECK-SAME:      (d0, (d2 + d5), (d3 + d6), d4)>{{.*}} -> (d0, d1, d2, d3)>]
// CHECK-SAME:      -> tensor<2x16x8x8xf32>
// CHECK-NEXT:    func.return %d
func.func @two(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %v: tensor<16x16x3x3xf32>, %s: tensor<16x1x1xf32>) -> tensor<2x16x8x8xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %t = graph.broadcast %s : tensor<16x1x1xf32> -> tensor<2x16x8x8xf32>
  %a = graph.add %c, %t : tensor<2x16x8x8xf32>
  %r = graph.relu %a : tensor<2x16x8x8xf32>
  %p = graph.pad %r, %zero low [0, 0, 1, 1] high [0, 0, 1, 2] : tensor<2x16x8x8xf32>
  %q = graph.slice %p offsets [0, 0, 0, 1] sizes [2, 16, 10, 10] strides [1, 1, 1, 1] : tensor<2x16x10x11xf32>
  %d = graph.contract %q, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 16, 3, 3] : tensor<2x16x10x10xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x8x8xf32>
  func.return %d : tensor<2x16x8x8xf32>
}

// -----

// A maximum of windows, a residual, and a mean of all places, which gives the order that it gave.
// CHECK-LABEL: func.func @residual
// CHECK:         %m = graph.contract %c
// CHECK-SAME:      accumulate max : tensor<2x8x8x16xf32> -> tensor<2x6x6x16xf32>
// CHECK:         %p = graph.pad %m
// CHECK:         %d = graph.contract %p, %v
// CHECK-SAME:      -> tensor<2x6x6x16xf32>
// CHECK-NEXT:    %e = graph.add %d, %m : tensor<2x6x6x16xf32>
// CHECK-NEXT:    %q = graph.pad %e, %zero low [0, 1, 1, 0]
// CHECK:         %sum = graph.reduce add %g axes [1, 2] : tensor<2x6x6x16xf32> -> tensor<2x16xf32>
// CHECK-NOT:     graph.permute
func.func @residual(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %v: tensor<16x16x3x3xf32>) -> tensor<2x16xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %m = graph.contract %c maps [affine_map<(n, c, y, x, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, c, y, x, i, j) -> (n, c, y, x)>] bounds [2, 16, 6, 6, 3, 3] accumulate max : tensor<2x16x8x8xf32> -> tensor<2x16x6x6xf32>
  %p = graph.pad %m, %zero low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<2x16x6x6xf32>
  %d = graph.contract %p, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 6, 6, 16, 3, 3] : tensor<2x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x6x6xf32>
  %e = graph.add %d, %m : tensor<2x16x6x6xf32>
  %q = graph.pad %e, %zero low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<2x16x6x6xf32>
  %f = graph.contract %q, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 6, 6, 16, 3, 3] : tensor<2x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x6x6xf32>
  %g = graph.add %f, %e : tensor<2x16x6x6xf32>
  %sum = graph.reduce add %g axes [2, 3] : tensor<2x16x6x6xf32> -> tensor<2x16xf32>
  func.return %sum : tensor<2x16xf32>
}

// -----

// The channels of a transposed convolution are parts of four neighbouring places each.
// CHECK-LABEL: func.func @transposed
// CHECK:         %c = graph.contract %x, %w
// CHECK-SAME:      -> tensor<2x8x8x16xf32>
// CHECK-NEXT:    %e = graph.reshape %c : tensor<2x8x8x16xf32> -> tensor<2x8x8x4x2x2xf32>
// CHECK-NEXT:    %f = graph.permute %e [0, 1, 4, 2, 5, 3] : tensor<2x8x8x4x2x2xf32>
// CHECK-NEXT:    %g = graph.reshape %f : tensor<2x8x2x8x2x4xf32> -> tensor<2x16x16x4xf32>
// CHECK-NEXT:    %h = graph.concat %g, %g axis 3
// CHECK:         graph.contract %h, %u
// CHECK-SAME:      (d0, (d2 + d5), (d3 + d6), d4)>
func.func @transposed(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %u: tensor<16x8x3x3xf32>) -> tensor<2x16x14x14xf32> {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %e = graph.reshape %c : tensor<2x16x8x8xf32> -> tensor<2x4x2x2x8x8xf32>
  %f = graph.permute %e [0, 1, 4, 2, 5, 3] : tensor<2x4x2x2x8x8xf32>
  %g = graph.reshape %f : tensor<2x4x8x2x8x2xf32> -> tensor<2x4x16x16xf32>
  %h = graph.concat %g, %g axis 1 : tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32> -> tensor<2x8x16x16xf32>
  %d = graph.contract %h, %u maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 14, 14, 8, 3, 3] : tensor<2x8x16x16xf32>, tensor<16x8x3x3xf32> -> tensor<2x16x14x14xf32>
  func.return %d : tensor<2x16x14x14xf32>
}

// -----

// Each channel is convolved by itself in between: its axis is one of groups of one channel.
// CHECK-LABEL: func.func @depthwise
// CHECK:         %g = graph.reshape %c : tensor<2x8x8x16xf32> -> tensor<2x1x8x8x16xf32>
// CHECK:         %k = graph.contract %g, %u
// CHECK-SAME:      -> tensor<2x1x6x6x16xf32>
// CHECK:         %h = graph.reshape %k : tensor<2x1x6x6x16xf32> -> tensor<2x6x6x16xf32>
// CHECK:         graph.contract %h, %v
func.func @depthwise(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %v: tensor<16x16x3x3xf32>, %u: tensor<16x1x1x3x3xf32>) -> tensor<2x16x4x4xf32> {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %g = graph.reshape %c : tensor<2x16x8x8xf32> -> tensor<2x16x1x8x8xf32>
  %k = graph.contract %g, %u maps [affine_map<(n, g, o, y, x, c, i, j) -> (n, g, c, y + i, x + j)>, affine_map<(n, g, o, y, x, c, i, j) -> (g, o, c, i, j)>, affine_map<(n, g, o, y, x, c, i, j) -> (n, g, o, y, x)>] bounds [2, 16, 1, 6, 6, 1, 3, 3] : tensor<2x16x1x8x8xf32>, tensor<16x1x1x3x3xf32> -> tensor<2x16x1x6x6xf32>
  %h = graph.reshape %k : tensor<2x16x1x6x6xf32> -> tensor<2x16x6x6xf32>
  %d = graph.contract %h, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 4, 4, 16, 3, 3] : tensor<2x16x6x6xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x4x4xf32>
  func.return %d : tensor<2x16x4x4xf32>
}

// -----

// What is read in the order that it had, too, is turned back; only where that is not more than what is gained.
// CHECK-LABEL: func.func @returned
// CHECK:         %r = graph.relu %c : tensor<2x8x8x16xf32>
// CHECK-NEXT:    %[[BACK:.*]] = graph.permute %r [0, 3, 1, 2] : tensor<2x8x8x16xf32>
// CHECK:         func.return %d, %[[BACK]]
func.func @returned(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %v: tensor<16x16x3x3xf32>) -> (tensor<2x16x6x6xf32>, tensor<2x16x8x8xf32>) {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %r = graph.relu %c : tensor<2x16x8x8xf32>
  %d = graph.contract %r, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 6, 6, 16, 3, 3] : tensor<2x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x6x6xf32>
  func.return %d, %r : tensor<2x16x6x6xf32>, tensor<2x16x8x8xf32>
}

// -----

// CHECK-LABEL: func.func @returned_often
// CHECK-NOT:     tensor<2x8x8x16xf32>
// CHECK:         func.return %d, %r, %n
func.func @returned_often(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %v: tensor<16x16x3x3xf32>) -> (tensor<2x16x6x6xf32>, tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %r = graph.relu %c : tensor<2x16x8x8xf32>
  %n = graph.neg %r : tensor<2x16x8x8xf32>
  %d = graph.contract %r, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 6, 6, 16, 3, 3] : tensor<2x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x6x6xf32>
  func.return %d, %r, %n : tensor<2x16x6x6xf32>, tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>
}

// -----

// One convolution gains nothing.
// CHECK-LABEL: func.func @one
// CHECK-NOT:     tensor<2x8x8x16xf32>
// CHECK:         func.return
func.func @one(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>) -> tensor<2x16x8x8xf32> {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %r = graph.relu %c : tensor<2x16x8x8xf32>
  func.return %r : tensor<2x16x8x8xf32>
}

// -----

// Where the channels are no axis any more, nothing can be last.
// CHECK-LABEL: func.func @flat
// CHECK-NOT:     tensor<2x8x8x16xf32>
// CHECK:         func.return
func.func @flat(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %u: tensor<16x4x3x3xf32>) -> tensor<2x16x14x14xf32> {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %r = graph.reshape %c : tensor<2x16x8x8xf32> -> tensor<2x1024xf32>
  %s = graph.reshape %r : tensor<2x1024xf32> -> tensor<2x4x16x16xf32>
  %d = graph.contract %s, %u maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 14, 14, 4, 3, 3] : tensor<2x4x16x16xf32>, tensor<16x4x3x3xf32> -> tensor<2x16x14x14xf32>
  func.return %d : tensor<2x16x14x14xf32>
}

// -----

// An argument of the same shape has another order: it and the sum stay as they are.
// CHECK-LABEL: func.func @argument
// CHECK-NOT:     tensor<2x8x8x16xf32>
// CHECK:         func.return
func.func @argument(%x: tensor<2x3x10x10xf32>, %w: tensor<16x3x3x3xf32>, %v: tensor<16x16x3x3xf32>, %y: tensor<2x16x8x8xf32>) -> tensor<2x16x6x6xf32> {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 3, 3, 3] : tensor<2x3x10x10xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x8x8xf32>
  %a = graph.add %c, %y : tensor<2x16x8x8xf32>
  %d = graph.contract %a, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 6, 6, 16, 3, 3] : tensor<2x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x6x6xf32>
  func.return %d : tensor<2x16x6x6xf32>
}

// -----

// An image of 128 channels is turned around while it gets its border; of 16 channels it stays.
// CHECK-LABEL: func.func @border
// CHECK:         %x_1 = graph.permute %x [0, 2, 3, 1] : tensor<2x128x8x8xf32>
// CHECK-NEXT:    %p = graph.pad %x_1, %zero low [0, 1, 1, 0] high [0, 1, 1, 0] : tensor<2x8x8x128xf32>
// CHECK-NEXT:    %g = graph.reshape %p : tensor<2x10x10x128xf32> -> tensor<2x1x10x10x128xf32>
// CHECK:         %c = graph.contract %{{.*}}, %w
// CHECK-SAME:      (d0, d1, (d3 + d6), (d4 + d7), d5)>
// CHECK-SAME:      -> tensor<2x1x16x8x8xf32>
// CHECK:         %q = graph.pad %y, %zero low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<2x16x8x8xf32>
func.func @border(%x: tensor<2x128x8x8xf32>, %y: tensor<2x16x8x8xf32>, %w: tensor<1x16x128x3x3xf32>, %v: tensor<16x16x3x3xf32>) -> (tensor<2x1x16x8x8xf32>, tensor<2x16x8x8xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<2x128x8x8xf32>
  %g = graph.reshape %p : tensor<2x128x10x10xf32> -> tensor<2x1x128x10x10xf32>
  %c = graph.contract %g, %w maps [affine_map<(n, g, o, y, x, c, i, j) -> (n, g, c, y + i, x + j)>, affine_map<(n, g, o, y, x, c, i, j) -> (g, o, c, i, j)>, affine_map<(n, g, o, y, x, c, i, j) -> (n, g, o, y, x)>] bounds [2, 1, 16, 8, 8, 128, 3, 3] : tensor<2x1x128x10x10xf32>, tensor<1x16x128x3x3xf32> -> tensor<2x1x16x8x8xf32>
  %q = graph.pad %y, %zero low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<2x16x8x8xf32>
  %d = graph.contract %q, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [2, 16, 8, 8, 16, 3, 3] : tensor<2x16x10x10xf32>, tensor<16x16x3x3xf32> -> tensor<2x16x8x8xf32>
  func.return %c, %d : tensor<2x1x16x8x8xf32>, tensor<2x16x8x8xf32>
}
