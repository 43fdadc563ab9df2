// RUN: tenon-opt %s -p expand-updates,dce | filecheck %s

// Outside of loops, a choice for each element; where a box begins is moved so that it fits.
// CHECK-LABEL: func.func @choice
// CHECK-NEXT:    %0 = graph.constant dense<true> : tensor<i1>
// CHECK-NEXT:    %1 = graph.broadcast %0 : tensor<i1> -> tensor<2x3xi1>
// CHECK-NEXT:    %2 = graph.constant dense<false> : tensor<i1>
// CHECK-NEXT:    %3 = graph.pad %1, %2 low [0, 7] high [6, 0] : tensor<2x3xi1>
// CHECK-NEXT:    %4 = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %5 = graph.pad %part, %4 low [0, 7] high [6, 0] : tensor<2x3xf32>
// CHECK-NEXT:    %y = graph.select %3, %5, %x : tensor<8x10xf32>
func.func @choice(%x: tensor<8x10xf32>, %part: tensor<2x3xf32>) -> tensor<8x10xf32> {
  %low = graph.constant dense<-1> : tensor<i64>
  %high = graph.constant dense<9> : tensor<i64>
  %y = graph.dynamic_update %x[%low, %high], %part
      : tensor<8x10xf32>[tensor<i64>, tensor<i64>], tensor<2x3xf32>
  func.return %y : tensor<8x10xf32>
}

// Nothing, and all of it.
// CHECK-LABEL: func.func @edges
// CHECK-NEXT:    %r = graph.add %x, %all : tensor<8xf32>
func.func @edges(%x: tensor<8xf32>, %none: tensor<0xf32>, %all: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = graph.constant dense<0> : tensor<i64>
  %a = graph.dynamic_update %x[%c0], %none : tensor<8xf32>[tensor<i64>], tensor<0xf32>
  %b = graph.dynamic_update %x[%c0], %all : tensor<8xf32>[tensor<i64>], tensor<8xf32>
  %r = graph.add %a, %b : tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// Not at places that are computed, nor of named extents.
// CHECK-LABEL: func.func @computed
// CHECK:         %y = graph.dynamic_update
func.func @computed(%x: tensor<8xf32>, %i: tensor<i64>, %part: tensor<2xf32>) -> tensor<8xf32> {
  %y = graph.dynamic_update %x[%i], %part : tensor<8xf32>[tensor<i64>], tensor<2xf32>
  func.return %y : tensor<8xf32>
}

graph.dim @n min 2 max 100

// CHECK-LABEL: func.func @named
// CHECK:         %y = graph.dynamic_update
func.func @named(%x: tensor<?xf32, #graph.dims<n>>, %part: tensor<2xf32>) -> tensor<?xf32, #graph.dims<n>> {
  %c0 = graph.constant dense<0> : tensor<i64>
  %y = graph.dynamic_update %x[%c0], %part : tensor<?xf32, #graph.dims<n>>[tensor<i64>], tensor<2xf32>
  func.return %y : tensor<?xf32, #graph.dims<n>>
}

// In a loop, an update stays that can be done in place: of a few elements, or of what is not made of the source.
// What is made of most of the source does not, nor an update of what the loop does not change.
// CHECK-LABEL: func.func @loops
// CHECK:         graph.scan
// CHECK:           graph.dynamic_update %a
// CHECK:           graph.dynamic_update %b
// CHECK:           graph.select %{{.*}}, %{{.*}}, %c : tensor<8xf32>
// CHECK:           graph.select %{{.*}}, %{{.*}}, %x : tensor<8xf32>
func.func @loops(%x: tensor<8xf32>, %v: tensor<7xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %c0 = graph.constant dense<0> : tensor<i64>
  %r:4 = graph.scan %i = 10 (%a = %x, %b = %x, %c = %x, %d = %x)
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %few = graph.slice %a offsets [2] sizes [4] strides [1] : tensor<8xf32>
    %a_1 = graph.dynamic_update %a[%c0], %few : tensor<8xf32>[tensor<i64>], tensor<4xf32>
    %w = graph.slice %d offsets [0] sizes [7] strides [1] : tensor<8xf32>
    %b_1 = graph.dynamic_update %b[%c0], %w : tensor<8xf32>[tensor<i64>], tensor<7xf32>
    %most = graph.slice %c offsets [1] sizes [7] strides [1] : tensor<8xf32>
    %c_1 = graph.dynamic_update %c[%c0], %most : tensor<8xf32>[tensor<i64>], tensor<7xf32>
    %d_1 = graph.dynamic_update %x[%c0], %few : tensor<8xf32>[tensor<i64>], tensor<4xf32>
    graph.yield %a_1, %b_1, %c_1, %d_1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.return %r#0, %r#1, %r#2, %r#3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// One stays too that reads of the source what it stores over, or what another update made of it.
// CHECK-LABEL: func.func @same_places
// CHECK:         graph.scan
// CHECK:           graph.dynamic_update %a
// CHECK:           graph.dynamic_update %b
// CHECK:           graph.dynamic_update %c
// CHECK:           graph.select %{{.*}}, %{{.*}}, %d : tensor<8xf32>
// CHECK:           graph.select %{{.*}}, %{{.*}}, %e : tensor<8xf32>
func.func @same_places(%x: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %c1 = graph.constant dense<1> : tensor<i64>
  %r:5 = graph.scan %i = 10 (%a = %x, %b = %x, %c = %x, %d = %x, %e = %x)
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
      -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %here = graph.slice %a offsets [1] sizes [7] strides [1] : tensor<8xf32>
    %more = graph.slice %c offsets [0] sizes [7] strides [1] : tensor<8xf32>
    %sum = graph.add %here, %more : tensor<7xf32>
    %a_1 = graph.dynamic_update %a[%c1], %sum : tensor<8xf32>[tensor<i64>], tensor<7xf32>
    %beside = graph.slice %c offsets [1] sizes [7] strides [1] : tensor<8xf32>
    %b_1 = graph.dynamic_update %b[%c1], %beside : tensor<8xf32>[tensor<i64>], tensor<7xf32>
    %updated = graph.slice %b_1 offsets [0] sizes [7] strides [1] : tensor<8xf32>
    %c_1 = graph.dynamic_update %c[%c1], %updated : tensor<8xf32>[tensor<i64>], tensor<7xf32>
    %before = graph.slice %d offsets [0] sizes [7] strides [1] : tensor<8xf32>
    %d_1 = graph.dynamic_update %d[%c1], %before : tensor<8xf32>[tensor<i64>], tensor<7xf32>
    %there = graph.slice %e offsets [1] sizes [7] strides [1] : tensor<8xf32>
    %back = graph.flip %there axes [0] : tensor<7xf32>
    %e_1 = graph.dynamic_update %e[%c1], %back : tensor<8xf32>[tensor<i64>], tensor<7xf32>
    graph.yield %a_1, %b_1, %c_1, %d_1, %e_1
        : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.return %r#0, %r#1, %r#2, %r#3, %r#4
      : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Steps lie between the elements of the box: the last of them is moved into the source, not what would follow.
// CHECK-LABEL: func.func @steps
// CHECK:         graph.pad %{{.*}}, %{{.*}} low [3, 1] high [0, 0] interior [1, 2] : tensor<3x3xi1>
// CHECK:         graph.pad %part, %{{.*}} low [3, 1] high [0, 0] interior [1, 2] : tensor<3x3xf32>
// CHECK:         graph.select
func.func @steps(%x: tensor<8x8xf32>, %part: tensor<3x3xf32>) -> tensor<8x8xf32> {
  %c1 = graph.constant dense<1> : tensor<i64>
  %c9 = graph.constant dense<9> : tensor<i64>
  %y = graph.dynamic_update %x[%c9, %c1], %part strides [2, 3]
      : tensor<8x8xf32>[tensor<i64>, tensor<i64>], tensor<3x3xf32>
  func.return %y : tensor<8x8xf32>
}
