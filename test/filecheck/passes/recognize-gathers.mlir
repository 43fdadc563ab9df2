// RUN: tenon-opt -p recognize-gathers,dce %s | filecheck %s

// A row of a table for each index: what is summed is one element.
// CHECK-LABEL: func.func @lookup
func.func @lookup(%table: tensor<10x8xf32>, %i: tensor<4xi32>) -> tensor<4x8xf32> {
  // CHECK: %{{.*}} = graph.gather %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] axes [0, 1, 2] : tensor<4x10x8xf32>[tensor<4x8xi64>, tensor<4x8xi32>, tensor<4x8xi64>] -> tensor<4x8xf32>
  // CHECK: graph.add
  // CHECK: graph.ge
  // CHECK: graph.le
  // CHECK-NOT: graph.reduce
  %n = graph.iota axis 1 : tensor<4x10x8xi32>
  %column = graph.reshape %i : tensor<4xi32> -> tensor<4x1x1xi32>
  %at = graph.broadcast %column : tensor<4x1x1xi32> -> tensor<4x10x8xi32>
  %hit = graph.eq %n, %at : tensor<4x10x8xi32>
  %rows = graph.broadcast %table : tensor<10x8xf32> -> tensor<4x10x8xf32>
  %zero = graph.constant dense<0.0> : tensor<4x10x8xf32>
  %picked = graph.select %hit, %rows, %zero : tensor<4x10x8xf32>
  %y = graph.reduce add %picked axes [1] : tensor<4x10x8xf32> -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// The other way round, through views, with booleans, and kept dims.
// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<5x4xi1>, %i: tensor<4xi8>) -> tensor<1x4xi1> {
  // CHECK: graph.gather
  // CHECK-NOT: graph.reduce
  %n = graph.iota axis 0 : tensor<5xi8>
  %column = graph.reshape %n : tensor<5xi8> -> tensor<5x1xi8>
  %all = graph.broadcast %column : tensor<5x1xi8> -> tensor<5x4xi8>
  %at = graph.broadcast %i : tensor<4xi8> -> tensor<5x4xi8>
  %hit = graph.eq %at, %all : tensor<5x4xi8>
  %false = graph.constant dense<false> : tensor<5x4xi1>
  %picked = graph.select %hit, %x, %false : tensor<5x4xi1>
  %y = graph.reduce or %picked axes [0] keep : tensor<5x4xi1> -> tensor<1x4xi1>
  func.return %y : tensor<1x4xi1>
}

// An index that differs along the axis can hit several elements.
// CHECK-LABEL: func.func @several
func.func @several(%x: tensor<5x4xf32>, %i: tensor<5x4xi64>) -> tensor<4xf32> {
  // CHECK: graph.reduce add
  %n = graph.iota axis 0 : tensor<5x4xi64>
  %hit = graph.eq %n, %i : tensor<5x4xi64>
  %zero = graph.constant dense<0.0> : tensor<5x4xf32>
  %picked = graph.select %hit, %x, %zero : tensor<5x4xf32>
  %y = graph.reduce add %picked axes [0] : tensor<5x4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// So can one that is the same everywhere, if the numbers along the axis wrap.
// CHECK-LABEL: func.func @wraps
func.func @wraps(%x: tensor<300xf32>, %i: tensor<i8>) -> tensor<f32> {
  // CHECK: graph.reduce add
  %n = graph.iota axis 0 : tensor<300xi8>
  %at = graph.broadcast %i : tensor<i8> -> tensor<300xi8>
  %hit = graph.eq %n, %at : tensor<300xi8>
  %zero = graph.constant dense<0.0> : tensor<300xf32>
  %picked = graph.select %hit, %x, %zero : tensor<300xf32>
  %y = graph.reduce add %picked axes [0] : tensor<300xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}

// A product with 0 and 1 is not a selection: 0 times inf is NaN.
// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<5xf32>, %i: tensor<i64>) -> tensor<f32> {
  // CHECK: graph.reduce add
  %n = graph.iota axis 0 : tensor<5xi64>
  %at = graph.broadcast %i : tensor<i64> -> tensor<5xi64>
  %hit = graph.eq %n, %at : tensor<5xi64>
  %one_hot = graph.cast %hit : tensor<5xi1> -> tensor<5xf32>
  %picked = graph.mul %one_hot, %x : tensor<5xf32>
  %y = graph.reduce add %picked axes [0] : tensor<5xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}

// What is not hit must be 0.
// CHECK-LABEL: func.func @filler
func.func @filler(%x: tensor<5xf32>, %i: tensor<i64>) -> tensor<f32> {
  // CHECK: graph.reduce add
  %n = graph.iota axis 0 : tensor<5xi64>
  %at = graph.broadcast %i : tensor<i64> -> tensor<5xi64>
  %hit = graph.eq %n, %at : tensor<5xi64>
  %one = graph.constant dense<1.0> : tensor<5xf32>
  %picked = graph.select %hit, %x, %one : tensor<5xf32>
  %y = graph.reduce add %picked axes [0] : tensor<5xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}
