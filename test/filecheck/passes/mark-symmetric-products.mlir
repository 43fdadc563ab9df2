// RUN: tenon-opt -p mark-symmetric-products %s | filecheck %s
// RUN: tenon-opt -p 'mark-symmetric-products,infer-memory-modes,convert-graph-to-sched,tile-contractions{vector-nbytes=16}' %s | filecheck %s --check-prefix SCHED
// RUN: tenon-opt -p 'mark-symmetric-products,infer-memory-modes,convert-graph-to-sched,tile-contractions{vector-nbytes=16},convert-sched-to-low' %s | filecheck %s --check-prefix LOW
// RUN: tenon-opt -p 'mark-symmetric-products,infer-memory-modes,convert-graph-to-sched,tile-contractions{vector-nbytes=16},convert-sched-to-low' --verify-semantics=2 -o /dev/null %s

// Tiles below the diagonal are left out, elements above it are copied.
// CHECK-LABEL: func.func @transposed
// CHECK:         graph.contract %a, %a {{.*}} {symmetric} : tensor<16x40xf32>
// SCHED-LABEL: sched.kernel @transposed_0
// SCHED:         sched.reduce fma %k = 16 attributes {symmetric} : f32
// LOW-LABEL:   low.kernel @transposed_0
// LOW:           %reaches_diagonal{{.*}} = arith.cmpi slt
// LOW:           scf.if {{.*}} {
// LOW:             low.tile_fma
// LOW:             [[MIRRORED:%mirrored.*]] = memref.load
// LOW:             memref.store [[MIRRORED]]
func.func @transposed(%a: tensor<16x40xf32>) -> tensor<40x40xf32> {
  %c = graph.contract %a, %a maps [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (i, j)>] : tensor<16x40xf32>, tensor<16x40xf32> -> tensor<40x40xf32>
  func.return %c : tensor<40x40xf32>
}

// For each matrix of a batch, and with what follows the sums, if that is the same for all elements.
// CHECK-LABEL: func.func @batch
// CHECK:         graph.contract %a, %a {{.*}} {symmetric} : tensor<3x16x40xf32>
// LOW-LABEL:   low.kernel @batch_0
// LOW:           %reaches_diagonal{{.*}} = arith.cmpi slt
// LOW:             [[MIRRORED:%mirrored.*]] = memref.load
func.func @batch(%a: tensor<3x16x40xf32>, %s: tensor<f32>) -> tensor<3x40x40xf32> {
  %c = graph.contract %a, %a maps [affine_map<(b, i, j, k) -> (b, k, i)>, affine_map<(b, i, j, k) -> (b, k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>] : tensor<3x16x40xf32>, tensor<3x16x40xf32> -> tensor<3x40x40xf32>
  %t = graph.broadcast %s : tensor<f32> -> tensor<3x40x40xf32>
  %d = graph.mul %c, %t : tensor<3x40x40xf32>
  func.return %d : tensor<3x40x40xf32>
}

// What follows differs along the columns: all elements are computed.
// CHECK-LABEL: func.func @bias
// CHECK:         {symmetric}
// LOW-LABEL:   low.kernel @bias_0
// LOW-NOT:       %mirrored
func.func @bias(%a: tensor<16x40xf32>, %s: tensor<40xf32>) -> tensor<40x40xf32> {
  %c = graph.contract %a, %a maps [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : tensor<16x40xf32>, tensor<16x40xf32> -> tensor<40x40xf32>
  %t = graph.broadcast %s : tensor<40xf32> -> tensor<40x40xf32>
  %d = graph.add %c, %t : tensor<40x40xf32>
  func.return %d : tensor<40x40xf32>
}

// Products of a matrix with itself, with another one, of other combinations, and squares of elements.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     {symmetric}
func.func @others(%a: tensor<40x40xf32>, %b: tensor<40x40xf32>) -> (tensor<40x40xf32>, tensor<40x40xf32>, tensor<40x40xf32>, tensor<40xf32>) {
  %c = graph.contract %a, %a maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40x40xf32>
  %d = graph.contract %a, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40x40xf32>
  %e = graph.contract %a, %a maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>] combine sub : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40x40xf32>
  %f = graph.contract %a, %a maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>] : tensor<40x40xf32>, tensor<40x40xf32> -> tensor<40xf32>
  func.return %c, %d, %e, %f : tensor<40x40xf32>, tensor<40x40xf32>, tensor<40x40xf32>, tensor<40xf32>
}

// What follows is the same for (i, j) and (j, i): a mask of the diagonal, and a sum of what rows and columns have.
// CHECK-LABEL: func.func @correlation
// CHECK:         {symmetric}
// LOW-LABEL:   low.kernel @correlation_0
// LOW:           %reaches_diagonal{{.*}} = arith.cmpi slt
// LOW:             [[MIRRORED:%mirrored.*]] = memref.load
func.func @correlation(%a: tensor<16x40xf32>) -> tensor<40x40xf32> {
  %c = graph.contract %a, %a maps [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (i, j)>] : tensor<16x40xf32>, tensor<16x40xf32> -> tensor<40x40xf32>
  %one = graph.constant dense<1.0> : tensor<40x40xf32>
  %i = graph.iota axis 0 : tensor<40x40xi64>
  %j = graph.iota axis 1 : tensor<40x40xi64>
  %d = graph.eq %i, %j : tensor<40x40xi64>
  %s = graph.select %d, %one, %c : tensor<40x40xf32>
  func.return %s : tensor<40x40xf32>
}

// CHECK-LABEL: func.func @distances
// CHECK:         {symmetric}
// LOW-LABEL:   low.kernel @distances_0
// LOW:           %reaches_diagonal{{.*}} = arith.cmpi slt
// LOW:             [[MIRRORED:%mirrored.*]] = memref.load
func.func @distances(%a: tensor<16x40xf32>, %n: tensor<40xf32>) -> tensor<40x40xf32> {
  %c = graph.contract %a, %a maps [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (i, j)>] : tensor<16x40xf32>, tensor<16x40xf32> -> tensor<40x40xf32>
  %m = graph.reshape %n : tensor<40xf32> -> tensor<40x1xf32>
  %r = graph.broadcast %m : tensor<40x1xf32> -> tensor<40x40xf32>
  %t = graph.broadcast %n : tensor<40xf32> -> tensor<40x40xf32>
  %b = graph.add %r, %t : tensor<40x40xf32>
  %d = graph.sub %b, %c : tensor<40x40xf32>
  func.return %d : tensor<40x40xf32>
}

// A mask of one side of the diagonal, and a difference, are not.
// CHECK-LABEL: func.func @triangle
// CHECK:         {symmetric}
// LOW-LABEL:   low.kernel @triangle_0
// LOW-NOT:       %mirrored
// LOW-LABEL:   low.kernel @difference_0
// LOW-NOT:       %mirrored
func.func @triangle(%a: tensor<16x40xf32>) -> tensor<40x40xf32> {
  %c = graph.contract %a, %a maps [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (i, j)>] : tensor<16x40xf32>, tensor<16x40xf32> -> tensor<40x40xf32>
  %one = graph.constant dense<1.0> : tensor<40x40xf32>
  %i = graph.iota axis 0 : tensor<40x40xi64>
  %j = graph.iota axis 1 : tensor<40x40xi64>
  %d = graph.lt %i, %j : tensor<40x40xi64>
  %s = graph.select %d, %one, %c : tensor<40x40xf32>
  func.return %s : tensor<40x40xf32>
}

func.func @difference(%a: tensor<16x40xf32>, %n: tensor<40xf32>) -> tensor<40x40xf32> {
  %c = graph.contract %a, %a maps [affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (i, j)>] : tensor<16x40xf32>, tensor<16x40xf32> -> tensor<40x40xf32>
  %m = graph.reshape %n : tensor<40xf32> -> tensor<40x1xf32>
  %r = graph.broadcast %m : tensor<40x1xf32> -> tensor<40x40xf32>
  %t = graph.broadcast %n : tensor<40xf32> -> tensor<40x40xf32>
  %b = graph.sub %r, %t : tensor<40x40xf32>
  %d = graph.sub %b, %c : tensor<40x40xf32>
  func.return %d : tensor<40x40xf32>
}
