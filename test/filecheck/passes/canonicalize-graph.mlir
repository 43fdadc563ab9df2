// RUN: tenon-opt -p canonicalize-graph %s | filecheck %s

// Constants fold with numpy's meaning: integers wrap, floor division, IEEE floats.
// CHECK-LABEL: func.func @fold
// CHECK-DAG:     graph.constant dense<-128> : tensor<3xi8>
// CHECK-DAG:     graph.constant dense<[-2, 2]> : tensor<2xi32>
// CHECK-DAG:     graph.constant dense<0x7f800000> : tensor<4xf32>
// CHECK-DAG:     graph.constant dense<6.000000e+00> : tensor<f32>
// CHECK-NOT:     graph.add
func.func @fold() -> (tensor<3xi8>, tensor<2xi32>, tensor<4xf32>, tensor<f32>) {
  %a = graph.constant dense<127> : tensor<3xi8>
  %b = graph.constant dense<1> : tensor<3xi8>
  %wrapped = graph.add %a, %b : tensor<3xi8>
  %c = graph.constant dense<[-3, 5]> : tensor<2xi32>
  %d = graph.constant dense<2> : tensor<2xi32>
  %floor = graph.div %c, %d : tensor<2xi32>
  %e = graph.constant dense<1.0> : tensor<4xf32>
  %f = graph.constant dense<0.0> : tensor<4xf32>
  %infinite = graph.div %e, %f : tensor<4xf32>
  %g = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %sum = graph.reduce add %g axes [0] : tensor<3xf32> -> tensor<f32>
  func.return %wrapped, %floor, %infinite, %sum : tensor<3xi8>, tensor<2xi32>, tensor<4xf32>, tensor<f32>
}

// Neutral operands vanish, from either side where the op commutes.
// CHECK-LABEL: func.func @neutral
// CHECK-NEXT:    func.return %x, %x, %n, %n
func.func @neutral(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  %minus_zero = graph.constant dense<-0.0> : tensor<4xf32>
  %zero = graph.constant dense<0> : tensor<4xi32>
  %ones = graph.constant dense<-1> : tensor<4xi32>
  %a = graph.mul %one, %x : tensor<4xf32>
  %b = graph.add %x, %minus_zero : tensor<4xf32>
  %c = graph.add %zero, %n : tensor<4xi32>
  %d = graph.and %n, %ones : tensor<4xi32>
  func.return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>
}

// What would change a bit stays: -0.0 + 0.0 is 0.0, and NaN * 0.0 is NaN, and NaN - NaN is NaN.
// CHECK-LABEL: func.func @kept
// CHECK:         %a = graph.add %x, %{{.*}} : tensor<4xf32>
// CHECK-NEXT:    %b = graph.mul %x, %{{.*}} : tensor<4xf32>
// CHECK-NEXT:    %c = graph.sub %x, %x : tensor<4xf32>
func.func @kept(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %a = graph.add %x, %zero : tensor<4xf32>
  %b = graph.mul %x, %zero : tensor<4xf32>
  %c = graph.sub %x, %x : tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Inverses and repetitions.
// CHECK-LABEL: func.func @inverses
// CHECK-NEXT:    %r = graph.relu %x : tensor<4xf32>
// CHECK-NEXT:    func.return %x, %b, %r, %x
func.func @inverses(%x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) {
  %n = graph.neg %x : tensor<4xf32>
  %nn = graph.neg %n : tensor<4xf32>
  %m = graph.not %b : tensor<4xi1>
  %mm = graph.not %m : tensor<4xi1>
  %r = graph.relu %x : tensor<4xf32>
  %rr = graph.relu %r : tensor<4xf32>
  %s = graph.select %b, %x, %x : tensor<4xf32>
  func.return %nn, %mm, %rr, %s : tensor<4xf32>, tensor<4xi1>, tensor<4xf32>, tensor<4xf32>
}

// A cast there and back goes only if the type between holds every value.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %n = graph.cast %x : tensor<4xf32> -> tensor<4xf16>
// CHECK-NEXT:    %m = graph.cast %n : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT:    func.return %m, %h
func.func @casts(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %n = graph.cast %x : tensor<4xf32> -> tensor<4xf16>
  %m = graph.cast %n : tensor<4xf16> -> tensor<4xf32>
  %w = graph.cast %h : tensor<4xf16> -> tensor<4xf64>
  %b = graph.cast %w : tensor<4xf64> -> tensor<4xf16>
  func.return %m, %b : tensor<4xf32>, tensor<4xf16>
}

// A view of a view is one view.
// CHECK-LABEL: func.func @views
// CHECK-NEXT:    %s2 = graph.slice %x offsets [1, 2] sizes [1, 2] strides [1, 4] : tensor<4x8xf32>
// CHECK-NEXT:    %b2 = graph.broadcast %v : tensor<8xf32> -> tensor<2x4x8xf32>
// CHECK-NEXT:    func.return %x, %s2, %x, %b2, %x
func.func @views(%x: tensor<4x8xf32>, %v: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<1x2xf32>, tensor<4x8xf32>, tensor<2x4x8xf32>, tensor<4x8xf32>) {
  %p = graph.permute %x [1, 0] : tensor<4x8xf32>
  %q = graph.permute %p [1, 0] : tensor<8x4xf32>
  %s1 = graph.slice %x offsets [0, 2] sizes [4, 3] strides [1, 2] : tensor<4x8xf32>
  %s2 = graph.slice %s1 offsets [1, 0] sizes [1, 2] strides [1, 2] : tensor<4x3xf32>
  %f1 = graph.flip %x axes [0, 1] : tensor<4x8xf32>
  %f2 = graph.flip %f1 axes [1] : tensor<4x8xf32>
  %f3 = graph.flip %f2 axes [0] : tensor<4x8xf32>
  %b1 = graph.broadcast %v : tensor<8xf32> -> tensor<4x8xf32>
  %b2 = graph.broadcast %b1 : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %r1 = graph.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  %r2 = graph.reshape %r1 : tensor<32xf32> -> tensor<4x8xf32>
  func.return %q, %s2, %f3, %b2, %r2 : tensor<4x8xf32>, tensor<1x2xf32>, tensor<4x8xf32>, tensor<2x4x8xf32>, tensor<4x8xf32>
}

// A sum starts from 0.0: of -0.0 alone it is 0.0, where flags do not say that no one looks.
// CHECK-LABEL: func.func @sums_of_one
// CHECK-NEXT:    %s = graph.reshape %x : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %s_1 = graph.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT:    %s_2 = graph.add %s, %s_1 : tensor<4xf32>
// CHECK-NEXT:    %f = graph.reshape %x : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %i = graph.reshape %n : tensor<1x4xi32> -> tensor<4xi32>
// CHECK-NEXT:    func.return %s_2, %f, %i
func.func @sums_of_one(%x: tensor<1x4xf32>, %n: tensor<1x4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %s = graph.reduce add %x axes [0] : tensor<1x4xf32> -> tensor<4xf32>
  %f = graph.reduce add %x axes [0] fastmath<nsz> : tensor<1x4xf32> -> tensor<4xf32>
  %i = graph.reduce add %n axes [0] : tensor<1x4xi32> -> tensor<4xi32>
  func.return %s, %f, %i : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// Edges: no padding, one input, an axis of extent 1, a scalar; of no elements there is no value to look at.
// CHECK-LABEL: func.func @edges
// CHECK-NEXT:    %r = graph.reshape %x : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %none = graph.constant dense<> : tensor<0xf32>
// CHECK-NEXT:    %z = graph.mul %e, %none : tensor<0xf32>
// CHECK-NEXT:    func.return %x, %x, %r, %s, %z
func.func @edges(%x: tensor<1x4xf32>, %s: tensor<f32>, %e: tensor<0xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<4xf32>, tensor<f32>, tensor<0xf32>) {
  %p = graph.pad %x, %s low [0, 0] high [0, 0] : tensor<1x4xf32>
  %c = graph.concat %x axis 0 : tensor<1x4xf32> -> tensor<1x4xf32>
  %r = graph.reduce max %x axes [0] : tensor<1x4xf32> -> tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %m = graph.mul %s, %one : tensor<f32>
  %none = graph.constant dense<1.0> : tensor<0xf32>
  %z = graph.mul %e, %none : tensor<0xf32>
  func.return %p, %c, %r, %m, %z : tensor<1x4xf32>, tensor<1x4xf32>, tensor<4xf32>, tensor<f32>, tensor<0xf32>
}

// A view of a splat is one only as long as a constant may be that large.
// CHECK-LABEL: func.func @large
// CHECK-NEXT:    %one = graph.constant
// CHECK-NEXT:    %many = graph.broadcast %one
// CHECK-NEXT:    func.return %many
func.func @large() -> tensor<4611686018427387904xi8> {
  %one = graph.constant dense<1> : tensor<i8>
  %many = graph.broadcast %one : tensor<i8> -> tensor<4611686018427387904xi8>
  func.return %many : tensor<4611686018427387904xi8>
}
