// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// A grid that is not there.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_reduce: there is no shard.grid @mesh}}
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>
  func.return
}

// -----

// A grid whose extents are not known.
shard.grid @mesh(shape = 2x?)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_reduce: grid @mesh has an extent that is not known or less than 1}}
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>
  func.return
}

// -----

// No axes.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_reduce: names no axes of grid @mesh}}
  %s = graph.all_reduce add %x on @mesh axes = [] channel = 1 : tensor<4xf32>
  func.return
}

// -----

// An axis that the grid has not.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_reduce: axis 1 is out of range for a grid of rank 1}}
  %s = graph.all_reduce add %x on @mesh axes = [1] channel = 1 : tensor<4xf32>
  func.return
}

// -----

// An axis given twice.
shard.grid @mesh(shape = 2x2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_reduce: axis 1 of the grid is given twice ([1, 1])}}
  %s = graph.all_reduce add %x on @mesh axes = [1, 1] channel = 1 : tensor<4xf32>
  func.return
}

// -----

// A channel below 1.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_reduce: channel 0 is less than 1}}
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 0 : tensor<4xf32>
  func.return
}

// -----

// Sums of booleans.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xi1>) {
  // expected-error @below {{graph.all_reduce add: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xi1>
  func.return
}

// -----

// Bits of floats.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.reduce_scatter and: cannot take tensor<4xf32> (element type f32, needs an integer or i1)}}
  %s = graph.reduce_scatter and %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<4xf32> -> tensor<2xf32>
  func.return
}

// -----

// An operand that is no part of the result.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_gather: the operand has extent 4 in dim 0, expected 2 or 3 (a part of 5 over 2 ranks)}}
  %s = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<4xf32> -> tensor<5xf32>
  // expected-error @below {{graph.all_gather: the operand has extent 4 in dim 0, expected 5 (a part of 10 over 2 ranks)}}
  %g = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<4xf32> -> tensor<10xf32>
  func.return
}

// -----

// A dim that the operand has not.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_gather: axis 1 is out of range for rank 1 (source tensor<4xf32>)}}
  %g = graph.all_gather %x on @mesh axes = [0] dim = 1 channel = 1 : tensor<4xf32> -> tensor<8xf32>
  func.return
}

// -----

// Another extent where nothing is gathered.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @below {{graph.all_gather: result is tensor<8x3xf32>, expected tensor<8x2xf32> (axis 1 is 3, not 2; tensor<4x2xf32> gathered along dim 0)}}
  %g = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<4x2xf32> -> tensor<8x3xf32>
  func.return
}

// -----

// Another rank.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.reduce_scatter: result is tensor<2x1xf32>, expected tensor<?xf32> (rank 2, not 1; tensor<4xf32> scattered along dim 0)}}
  %g = graph.reduce_scatter add %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<4xf32> -> tensor<2x1xf32>
  func.return
}

// -----

// A part that is another rank's.
builtin.module attributes {tenon.rank = 1 : i64} {
  shard.grid @mesh(shape = 2)
  func.func @f(%x: tensor<3xf32>) {
    // expected-error @below {{graph.reduce_scatter: the result has extent 2 in dim 0, expected 1 (a part of 3 over 2 ranks)}}
    %g = graph.reduce_scatter add %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<3xf32> -> tensor<2xf32>
    func.return
  }
}

// -----

// A rank that the grid has not.
builtin.module attributes {tenon.rank = 2 : i64} {
  shard.grid @mesh(shape = 2x1)
  func.func @f(%x: tensor<4xf32>) {
    // expected-error @below {{graph.all_reduce: the program is that of rank 2, grid @mesh has 2 x 1 ranks}}
    %g = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>
    func.return
  }
}

// -----

// Fewer elements than ranks.
shard.grid @mesh(shape = 4)
func.func @f(%x: tensor<3xf32>) {
  // expected-error @below {{graph.reduce_scatter: dim 0 has extent 3, which 4 ranks do not share}}
  %g = graph.reduce_scatter add %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<3xf32> -> tensor<1xf32>
  func.return
}

// -----

// A named dim cannot be split.
graph.dim @n min 1 max 8
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<?xf32, #graph.dims<n>>) {
  // expected-error @below {{graph.all_gather: dim 0 is split over ranks and not known when compiling}}
  %g = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<?xf32, #graph.dims<n>> -> tensor<?xf32, #graph.dims<2 * n>>
  func.return
}

// -----

// Split and put together along the same dim.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.all_to_all: axis 0 is given twice ([0, 0], source tensor<4xf32>)}}
  %g = graph.all_to_all %x on @mesh axes = [0] split_dim = 0 concat_dim = 0 channel = 1 : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

// A result that is no part.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @below {{graph.all_to_all: the result has extent 4 in dim 0, expected 2 (a part of 4 over 2 ranks)}}
  %g = graph.all_to_all %x on @mesh axes = [0] split_dim = 0 concat_dim = 1 channel = 1 : tensor<4x2xf32> -> tensor<4x4xf32>
  func.return
}

// -----

// Another element type.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.collective_permute: cannot send tensor<4xf32> as tensor<4xi32> (element type i32, not f32)}}
  %g = graph.collective_permute %x on @mesh axes = [0] pairs = [] channel = 1 : tensor<4xf32> -> tensor<4xi32>
  func.return
}

// -----

// A member that there is not.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.collective_permute: target 2 is none of 2 members}}
  %g = graph.collective_permute %x on @mesh axes = [0] pairs = [[0, 2]] channel = 1 : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

// A member that sends twice.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.collective_permute: member 0 is a source twice}}
  %g = graph.collective_permute %x on @mesh axes = [0] pairs = [[0, 1], [0, 0]] channel = 1 : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

// A member that sends itself another shape.
builtin.module attributes {tenon.rank = 0 : i64} {
  shard.grid @mesh(shape = 2)
  func.func @f(%x: tensor<4xf32>) {
    // expected-error @below {{graph.collective_permute: sends itself tensor<4xf32>, gets tensor<3xf32>}}
    %g = graph.collective_permute %x on @mesh axes = [0] pairs = [[0, 0]] channel = 1 : tensor<4xf32> -> tensor<3xf32>
    func.return
  }
}

// -----

// An index on an axis that the grid has not.
shard.grid @mesh(shape = 2)
func.func @f() {
  // expected-error @below {{graph.axis_index: axis 1 is out of range for a grid of rank 1}}
  %i = graph.axis_index on @mesh axis = 1 : tensor<i32>
  func.return
}

// -----

// An index of another type.
shard.grid @mesh(shape = 2)
func.func @f() {
  // expected-error @below {{graph.axis_index: result is tensor<i64>, expected tensor<i32>}}
  %i = graph.axis_index on @mesh axis = 0 : tensor<i64>
  func.return
}

// -----

// A part of another shape.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{graph.manual_computation: operand 0 is tensor<4x8xf32> in the region, expected tensor<2x8xf32>}}
  %s = graph.manual_computation on @mesh(%x) split [[[0], []]] to [[[0], []]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: tensor<4x8xf32>):
    graph.yield %p : tensor<4x8xf32>
  }
  func.return
}

// -----

// A dim that does not divide.
shard.grid @mesh(shape = 3)
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{graph.manual_computation: dim 1 of operand 0 is 8, which 3 ranks do not share evenly}}
  %s = graph.manual_computation on @mesh(%x) split [[[], [0]]] to [[[], [0]]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: tensor<4x2xf32>):
    graph.yield %p : tensor<4x2xf32>
  }
  func.return
}

// -----

// A result that is split in another rank.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{graph.manual_computation: result 0 is tensor<4x8xf32>, split in 1 dims}}
  %s = graph.manual_computation on @mesh(%x) split [[[0], []]] to [[[0]]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: tensor<2x8xf32>):
    graph.yield %p : tensor<2x8xf32>
  }
  func.return
}

// -----

// An axis that the grid has not.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{graph.manual_computation: axis 1 is out of range for a grid of rank 1}}
  %s = graph.manual_computation on @mesh(%x) split [[[1], []]] to [[[0], []]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: tensor<2x8xf32>):
    graph.yield %p : tensor<2x8xf32>
  }
  func.return
}

// -----

// More splits than results.
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{graph.manual_computation: 1 results, the region has 1, and 2 are split}}
  %s = graph.manual_computation on @mesh(%x) split [[[0], []]] to [[[0], []], [[]]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: tensor<2x8xf32>):
    graph.yield %p : tensor<2x8xf32>
  }
  func.return
}

// -----

// A node.
graph.tnode @n : tensor<4xf32>
shard.grid @mesh(shape = 2)
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{graph.manual_computation: graph.read cannot stand in it}}
  %s = graph.manual_computation on @mesh(%x) split [[[0], []]] to [[[0], []]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%p: tensor<2x8xf32>):
    %n = graph.read @n : tensor<4xf32>
    graph.yield %p : tensor<2x8xf32>
  }
  func.return
}

// -----

// In the program of one rank.
module attributes {tenon.rank = 0 : i64} {
  shard.grid @mesh(shape = 2)
  func.func @f(%x: tensor<4x8xf32>) {
    // expected-error @below {{graph.manual_computation: the program is that of one rank already}}
    %s = graph.manual_computation on @mesh(%x) split [[[0], []]] to [[[0], []]] : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%p: tensor<2x8xf32>):
      graph.yield %p : tensor<2x8xf32>
    }
    func.return
  }
}
