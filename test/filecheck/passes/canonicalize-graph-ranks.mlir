// RUN: tenon-opt -p canonicalize-graph --split-input-file %s | filecheck %s

// In the program of a rank its place on the grid is a number: rank 4 of 2x3 lies at [1, 1].
// CHECK-LABEL: func.func @place
// CHECK-NEXT:    %row = graph.constant dense<1> : tensor<i32>
// CHECK-NEXT:    %column = graph.constant dense<1> : tensor<i32>
// CHECK-NEXT:    func.return %row, %column
builtin.module attributes {tenon.rank = 4 : i64} {
  shard.grid @mesh(shape = 2x3)
  func.func @place() -> (tensor<i32>, tensor<i32>) {
    %row = graph.axis_index on @mesh axis = 0 : tensor<i32>
    %column = graph.axis_index on @mesh axis = 1 : tensor<i32>
    func.return %row, %column : tensor<i32>, tensor<i32>
  }
}

// -----

// Elsewhere it stays.
// CHECK-LABEL: func.func @all
// CHECK-NEXT:    %row = graph.axis_index on @mesh axis = 0
builtin.module {
  shard.grid @mesh(shape = 2x3)
  func.func @all() -> tensor<i32> {
    %row = graph.axis_index on @mesh axis = 0 : tensor<i32>
    func.return %row : tensor<i32>
  }
}
