// RUN: tenon-opt %s -p double-buffer-loops | filecheck %s

// Two iterations in one, the first one with a buffer of its own; the last of an odd number after the loop.
// CHECK-LABEL: func.func @odd
// CHECK-NEXT:    %0 = graph.scan %i = 10 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
// CHECK-NEXT:      %1 = graph.constant dense<2> : tensor<i64>
// CHECK-NEXT:      %2 = graph.constant dense<0> : tensor<i64>
// CHECK-NEXT:      %3 = graph.mul %i, %1 : tensor<i64>
// CHECK-NEXT:      %4 = graph.add %3, %2 : tensor<i64>
// CHECK-NEXT:      %r = graph.flip %c axes [0] : tensor<2048xf32>
// CHECK-NEXT:      %n = graph.add %c, %r {memory_mode = #graph.memory_mode<materialized, "the other buffer of a loop">} : tensor<2048xf32>
// CHECK-NEXT:      %5 = graph.constant dense<2> : tensor<i64>
// CHECK-NEXT:      %6 = graph.constant dense<1> : tensor<i64>
// CHECK-NEXT:      %7 = graph.mul %i, %5 : tensor<i64>
// CHECK-NEXT:      %8 = graph.add %7, %6 : tensor<i64>
// CHECK-NEXT:      %r_1 = graph.flip %n axes [0] : tensor<2048xf32>
// CHECK-NEXT:      %n_1 = graph.add %n, %r_1 : tensor<2048xf32>
// CHECK-NEXT:      graph.yield %n_1 : tensor<2048xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %9 = graph.constant dense<20> : tensor<i64>
// CHECK-NEXT:    %r_2 = graph.flip %0 axes [0] : tensor<2048xf32>
// CHECK-NEXT:    %n_2 = graph.add %0, %r_2 : tensor<2048xf32>
// CHECK-NEXT:    func.return %n_2 : tensor<2048xf32>
func.func @odd(%x: tensor<2048xf32>) -> tensor<2048xf32> {
  %y = graph.scan %i = 21 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
    %r = graph.flip %c axes [0] : tensor<2048xf32>
    %n = graph.add %c, %r : tensor<2048xf32>
    graph.yield %n : tensor<2048xf32>
  }
  func.return %y : tensor<2048xf32>
}

// Two values that change places, backwards.
// CHECK-LABEL: func.func @swapped
// CHECK:         graph.scan %i = 2 (%c = %x, %d = %y)
// CHECK-NEXT:      %0 = graph.constant dense<-2> : tensor<i64>
// CHECK-NEXT:      %1 = graph.constant dense<3> : tensor<i64>
// CHECK-NEXT:      %2 = graph.mul %i, %0 : tensor<i64>
// CHECK-NEXT:      %3 = graph.add %2, %1 : tensor<i64>
// CHECK:           %k = graph.cast
// CHECK:           %n = graph.mul %c, %{{.*}} : tensor<2048xf32>
// CHECK:           graph.constant dense<2> : tensor<i64>
// CHECK:           %n_1 = graph.mul %d, %{{.*}} : tensor<2048xf32>
// CHECK-NEXT:      graph.yield %n, %n_1
func.func @swapped(%x: tensor<2048xf32>, %y: tensor<2048xf32>) -> (tensor<2048xf32>, tensor<2048xf32>) {
  %r:2 = graph.scan %i = 4 reverse (%c = %x, %d = %y)
      : (tensor<2048xf32>, tensor<2048xf32>) -> (tensor<2048xf32>, tensor<2048xf32>) {
    %k = graph.cast %i : tensor<i64> -> tensor<f32>
    %b = graph.broadcast %k : tensor<f32> -> tensor<2048xf32>
    %n = graph.mul %c, %b : tensor<2048xf32>
    graph.yield %d, %n : tensor<2048xf32>, tensor<2048xf32>
  }
  func.return %r#0, %r#1 : tensor<2048xf32>, tensor<2048xf32>
}

// Not what is computed in its place, small values, one iteration, or a loop over the rows of something.
// CHECK-LABEL: func.func @kept
// CHECK:         graph.scan %i = 20 (
// CHECK:         graph.scan %j = 20 (
// CHECK:         graph.scan %k = 1 (
// CHECK:         graph.scan %l = 20 (
// CHECK:         graph.scan %m = 20 (
func.func @kept(%x: tensor<2048xf32>, %s: tensor<3xf32>, %rows: tensor<20x2048xf32>, %v: tensor<4xf32>)
    -> (tensor<2048xf32>, tensor<3xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>) {
  %a = graph.scan %i = 20 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
    %e = graph.exp %c : tensor<2048xf32>
    %n = graph.add %c, %e : tensor<2048xf32>
    graph.yield %n : tensor<2048xf32>
  }
  %b = graph.scan %j = 20 (%c = %s) : (tensor<3xf32>) -> (tensor<3xf32>) {
    %n = graph.flip %c axes [0] : tensor<3xf32>
    graph.yield %n : tensor<3xf32>
  }
  %d = graph.scan %k = 1 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
    %n = graph.flip %c axes [0] : tensor<2048xf32>
    graph.yield %n : tensor<2048xf32>
  }
  %f = graph.scan %l = 20 (%c = %x) over (%row = %rows)
      : (tensor<2048xf32>, tensor<20x2048xf32>) -> (tensor<2048xf32>) {
    %r = graph.flip %c axes [0] : tensor<2048xf32>
    %n = graph.add %r, %row : tensor<2048xf32>
    graph.yield %n : tensor<2048xf32>
  }
  %g = graph.scan %m = 20 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
    %n = graph.dynamic_update %c[%m], %v : tensor<2048xf32>[tensor<i64>], tensor<4xf32>
    graph.yield %n : tensor<2048xf32>
  }
  func.return %a, %b, %d, %f, %g
      : tensor<2048xf32>, tensor<3xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>
}

// Ranks exchange in both halves, on the channel that the loop has.
// CHECK-LABEL: func.func @exchanged
// CHECK:         graph.scan %i = 2 (%c = %x)
// CHECK:           %r = graph.collective_permute %{{.*}} on @mesh axes = [0] pairs = {{.*}} channel = 1
// CHECK:           %n = graph.add %c, %m {memory_mode = #graph.memory_mode<materialized, "the other buffer of a loop">}
// CHECK:           %r_1 = graph.collective_permute %{{.*}} on @mesh axes = [0] pairs = {{.*}} channel = 1
// CHECK:           %n_1 = graph.add %n, %m_1 : tensor<2048xf32>
// CHECK-NEXT:      graph.yield %n_1
shard.grid @mesh(shape = 2)
func.func @exchanged(%x: tensor<2048xf32>) -> tensor<2048xf32> {
  %y = graph.scan %i = 4 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
    %last = graph.slice %c offsets [2047] sizes [1] strides [1] : tensor<2048xf32>
    %r = graph.collective_permute %last on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 1 : tensor<1xf32> -> tensor<1xf32>
    %rest = graph.slice %c offsets [0] sizes [2047] strides [1] : tensor<2048xf32>
    %m = graph.concat %r, %rest axis 0 : tensor<1xf32>, tensor<2047xf32> -> tensor<2048xf32>
    %n = graph.add %c, %m : tensor<2048xf32>
    graph.yield %n : tensor<2048xf32>
  }
  func.return %y : tensor<2048xf32>
}

// Sums of columns that all rows read have a kernel of their own, so that the rows are stored where they were; sums of
// rows may be computed with the row, which is stored elsewhere then.
// CHECK-LABEL: func.func @reflected
// CHECK:         graph.scan %i = 20 (
// CHECK:         graph.scan %j = 20 (
// CHECK:         graph.scan %k = 10 (
func.func @reflected(%x: tensor<64x48xf32>, %v: tensor<64x1xf32>)
    -> (tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x48xf32>) {
  %zero = graph.constant dense<0> : tensor<i64>
  %w = graph.broadcast %v : tensor<64x1xf32> -> tensor<64x48xf32>
  %a = graph.scan %i = 20 (%c = %x) : (tensor<64x48xf32>) -> (tensor<64x48xf32>) {
    %m = graph.mul %c, %w : tensor<64x48xf32>
    %s = graph.reduce add %m axes [0] : tensor<64x48xf32> -> tensor<48xf32>
    %r = graph.reshape %s : tensor<48xf32> -> tensor<1x48xf32>
    %b = graph.broadcast %r : tensor<1x48xf32> -> tensor<64x48xf32>
    %p = graph.mul %w, %b : tensor<64x48xf32>
    %n = graph.sub %c, %p : tensor<64x48xf32>
    graph.yield %n : tensor<64x48xf32>
  }
  %d = graph.scan %j = 20 (%c = %x) : (tensor<64x48xf32>) -> (tensor<64x48xf32>) {
    %f = graph.reshape %v : tensor<64x1xf32> -> tensor<64xf32>
    %s = graph.contract %f, %c maps [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>] bounds [48, 64] : tensor<64xf32>, tensor<64x48xf32> -> tensor<48xf32>
    %b = graph.broadcast %s : tensor<48xf32> -> tensor<64x48xf32>
    %n = graph.sub %c, %b : tensor<64x48xf32>
    %u = graph.dynamic_update %n[%j, %zero], %v : tensor<64x48xf32>[tensor<i64>, tensor<i64>], tensor<64x1xf32>
    graph.yield %u : tensor<64x48xf32>
  }
  %e = graph.scan %k = 20 (%c = %x) : (tensor<64x48xf32>) -> (tensor<64x48xf32>) {
    %s = graph.reduce add %c axes [1] : tensor<64x48xf32> -> tensor<64xf32>
    %r = graph.reshape %s : tensor<64xf32> -> tensor<64x1xf32>
    %b = graph.broadcast %r : tensor<64x1xf32> -> tensor<64x48xf32>
    %n = graph.sub %c, %b : tensor<64x48xf32>
    graph.yield %n : tensor<64x48xf32>
  }
  func.return %a, %d, %e : tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x48xf32>
}

// Sums of rows, as a row: all rows read them.
// CHECK-LABEL: func.func @transposed
// CHECK:         graph.scan %i = 20 (
func.func @transposed(%x: tensor<48x48xf32>) -> tensor<48x48xf32> {
  %a = graph.scan %i = 20 (%c = %x) : (tensor<48x48xf32>) -> (tensor<48x48xf32>) {
    %s = graph.reduce add %c axes [1] : tensor<48x48xf32> -> tensor<48xf32>
    %r = graph.reshape %s : tensor<48xf32> -> tensor<48x1xf32>
    %p = graph.permute %r [1, 0] : tensor<48x1xf32>
    %b = graph.broadcast %p : tensor<1x48xf32> -> tensor<48x48xf32>
    %n = graph.sub %c, %b : tensor<48x48xf32>
    graph.yield %n : tensor<48x48xf32>
  }
  func.return %a : tensor<48x48xf32>
}
