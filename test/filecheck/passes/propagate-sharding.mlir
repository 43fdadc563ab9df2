// RUN: tenon-opt -p 'propagate-sharding' --split-input-file --verify-diagnostics %s | filecheck %s

// What is read with what is split is split too; rows of a constant cost nothing.
// CHECK-LABEL: func.func @bias(%x: tensor<7x5xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}, %b: tensor<5xf32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>}) -> (tensor<7x5xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>})
// CHECK-NEXT:    %split = shard.sharding @mesh split_axes = {{\[\[}}0], []] : !shard.sharding
// CHECK-NEXT:    %whole = shard.sharding @mesh split_axes = {{\[\[}}]] : !shard.sharding
// CHECK-NEXT:    %x_1 = shard.shard %x to %split {tenon.reason = "annotated"} : tensor<7x5xf32>
// CHECK-NEXT:    %b_1 = shard.shard %b to %whole {tenon.reason = "whole"} : tensor<5xf32>
// CHECK-NEXT:    %rows = graph.broadcast %b_1 : tensor<5xf32> -> tensor<7x5xf32>
// CHECK-NEXT:    %rows_1 = shard.shard %rows to %split {tenon.reason = "as its operands"} : tensor<7x5xf32>
// CHECK-NEXT:    %y = graph.add %x_1, %rows_1 : tensor<7x5xf32>
// CHECK-NEXT:    %y_1 = shard.shard %y to %split {tenon.reason = "sends 0 bytes, another way 140"} : tensor<7x5xf32>
// CHECK-NEXT:    func.return %y_1 : tensor<7x5xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @bias(%x: tensor<7x5xf32> {tenon.sharding = #shard<axisarray[[0], []]>}, %b: tensor<5xf32>) -> tensor<7x5xf32> {
  %rows = graph.broadcast %b : tensor<5xf32> -> tensor<7x5xf32>
  %y = graph.add %x, %rows : tensor<7x5xf32>
  func.return %y : tensor<7x5xf32>
}

// -----

// Annotations by ops: what is said first is how a value is split, what is said next how it is read.
// CHECK-LABEL: func.func @said(%x: tensor<4x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}) -> (tensor<4x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}], [0]]>})
// CHECK-NEXT:    %split = shard.sharding @mesh split_axes = {{\[\[}}0], []] : !shard.sharding
// CHECK-NEXT:    %split_1 = shard.sharding @mesh split_axes = {{\[\[}}], [0]] : !shard.sharding
// CHECK-NEXT:    %x_1 = shard.shard %x to %split {tenon.reason = "annotated"} : tensor<4x6xf32>
// CHECK-NEXT:    %columns = shard.sharding @mesh split_axes = {{\[\[}}], [0]] : !shard.sharding
// CHECK-NEXT:    %x_columns = shard.shard %x_1 to %split_1 annotate_for_users : tensor<4x6xf32>
// CHECK-NEXT:    %y = graph.exp %x_columns : tensor<4x6xf32>
// CHECK-NEXT:    %y_1 = shard.shard %y to %split_1 {tenon.reason = "sends 0 bytes, another way 48"} : tensor<4x6xf32>
// CHECK-NEXT:    func.return %y_1 : tensor<4x6xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @said(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %rows = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
  %columns = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
  %x_rows = shard.shard %x to %rows : tensor<4x6xf32>
  %x_columns = shard.shard %x_rows to %columns annotate_for_users : tensor<4x6xf32>
  %y = graph.exp %x_columns : tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// -----

// A product over two dims of the mesh: it sends the fewest bytes to gather the smaller operand.
// CHECK-LABEL: func.func @product(%a: tensor<7x9xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], [1]]>}, %b: tensor<9x8xf32> {tenon.sharding = #shard<axisarray{{\[\[}}], [1]]>}) -> (tensor<7x8xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], [1]]>})
// CHECK-NEXT:    %split = shard.sharding @mesh split_axes = {{\[\[}}0], [1]] : !shard.sharding
// CHECK-NEXT:    %split_1 = shard.sharding @mesh split_axes = {{\[\[}}], [1]] : !shard.sharding
// CHECK-NEXT:    %split_2 = shard.sharding @mesh split_axes = {{\[\[}}0], []] : !shard.sharding
// CHECK-NEXT:    %a_1 = shard.shard %a to %split {tenon.reason = "annotated"} : tensor<7x9xf32>
// CHECK-NEXT:    %a_2 = shard.shard %a_1 to %split_2 annotate_for_users {tenon.reason = "as graph.contract reads it"} : tensor<7x9xf32>
// CHECK-NEXT:    %b_1 = shard.shard %b to %split_1 {tenon.reason = "annotated"} : tensor<9x8xf32>
// CHECK-NEXT:    %c = graph.contract %a_2, %b_1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] : tensor<7x9xf32>, tensor<9x8xf32> -> tensor<7x8xf32>
// CHECK-NEXT:    %c_1 = shard.shard %c to %split {tenon.reason = "sends 63 bytes, another way 128"} : tensor<7x8xf32>
// CHECK-NEXT:    func.return %c_1 : tensor<7x8xf32>
shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
func.func @product(%a: tensor<7x9xf32> {tenon.sharding = #shard<axisarray[[0], [1]]>}, %b: tensor<9x8xf32> {tenon.sharding = #shard<axisarray[[], [1]]>}) -> tensor<7x8xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<7x9xf32>, tensor<9x8xf32> -> tensor<7x8xf32>
  func.return %c : tensor<7x8xf32>
}

// -----

// What a loop carries is split alike before, inside and after it; the mesh's axis of extent 1 splits nothing.
// CHECK-LABEL: func.func @loop(%x: tensor<4x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}) -> (tensor<4x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>})
// CHECK-NEXT:    %split = shard.sharding @mesh split_axes = {{\[\[}}0], []] : !shard.sharding
// CHECK-NEXT:    %x_1 = shard.shard %x to %split {tenon.reason = "annotated"} : tensor<4x6xf32>
// CHECK-NEXT:    %y = graph.scan %i = 3 (%c = %x_1) : (tensor<4x6xf32>) -> (tensor<4x6xf32>) {
// CHECK-NEXT:    %c_1 = shard.shard %c to %split {tenon.reason = "carried"} : tensor<4x6xf32>
// CHECK-NEXT:    %e = graph.exp %c_1 : tensor<4x6xf32>
// CHECK-NEXT:    %e_1 = shard.shard %e to %split {tenon.reason = "sends 0 bytes, another way 48"} : tensor<4x6xf32>
// CHECK-NEXT:    graph.yield %e_1 : tensor<4x6xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %y_1 = shard.shard %y to %split {tenon.reason = "carried"} : tensor<4x6xf32>
// CHECK-NEXT:    func.return %y_1 : tensor<4x6xf32>
shard.grid @mesh(shape = 2x1) {axis_names = ["x", "y"]}
func.func @loop(%x: tensor<4x6xf32> {tenon.sharding = #shard<axisarray[[0], [1]]>}) -> tensor<4x6xf32> {
  %y = graph.scan %i = 3 (%c = %x) : (tensor<4x6xf32>) -> (tensor<4x6xf32>) {
    %e = graph.exp %c : tensor<4x6xf32>
    graph.yield %e : tensor<4x6xf32>
  }
  func.return %y : tensor<4x6xf32>
}

// -----

// Nothing is split where nothing is said.
// CHECK-LABEL: func.func @whole(%x: tensor<4xf32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>}) -> (tensor<4xf32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>})
// CHECK-NEXT:    %whole = shard.sharding @mesh split_axes = {{\[\[}}]] : !shard.sharding
// CHECK-NEXT:    %x_1 = shard.shard %x to %whole {tenon.reason = "whole"} : tensor<4xf32>
// CHECK-NEXT:    %y = graph.sort %x_1 axis 0 : tensor<4xf32>
// CHECK-NEXT:    %y_1 = shard.shard %y to %whole {tenon.reason = "whole"} : tensor<4xf32>
// CHECK-NEXT:    func.return %y_1 : tensor<4xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.sort %x axis 0 : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// An op that needs all of a dim.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @reshaped(%x: tensor<3x4xf32> {tenon.sharding = #shard<axisarray[[], [0]]>}) -> tensor<12xf32> {
  // expected-error @+1 {{graph.reshape: dim 1 of operand 0 is split over axes x and must be whole (allow_gather gathers it)}}
  %y = graph.reshape %x : tensor<3x4xf32> -> tensor<12xf32>
  func.return %y : tensor<12xf32>
}

// -----

// An op that has to be written out first.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @composite(%x: tensor<4xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<f32> {
  // expected-error @+1 {{graph.logsumexp: dim 0 of operand 0 is split over axes x and must be whole (decompose-composites has to run first; allow_gather gathers it)}}
  %y = graph.logsumexp %x axes [0] : tensor<4xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}

// -----

// Rows that a loop goes along.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @rows(%x: tensor<4x3xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<4x3xf32> {
  // expected-error @+1 {{graph.scan: dim 0 of operand 0 is split over axes x and must be whole (allow_gather gathers it)}}
  %y = graph.scan %i = 4 () over (%r = %x) : (tensor<4x3xf32>) -> (tensor<4x3xf32>) {
    graph.yield %r : tensor<3xf32>
  }
  func.return %y : tensor<4x3xf32>
}

// -----

// More parts than elements.
shard.grid @mesh(shape = 3) {axis_names = ["x"]}
// expected-error @+1 {{dim 0 of %x has extent 2, which 3 parts of axes x do not share}}
func.func @few(%x: tensor<2x4xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<2x4xf32> {
  func.return %x : tensor<2x4xf32>
}

// -----

// A sharding of another rank.
shard.grid @mesh(shape = 3) {axis_names = ["x"]}
// expected-error @+1 {{%x has rank 2, its sharding 1 dims}}
func.func @rank(%x: tensor<2x4xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<2x4xf32> {
  func.return %x : tensor<2x4xf32>
}

// -----

// An axis that splits two dims.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
// expected-error @+1 {{%x is split over axis x twice}}
func.func @twice(%x: tensor<2x4xf32> {tenon.sharding = #shard<axisarray[[0], [0]]>}) -> tensor<2x4xf32> {
  func.return %x : tensor<2x4xf32>
}

// -----

// An axis that the mesh has not.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
// expected-error @+1 {{%x is split over axis 1 of a mesh of rank 1}}
func.func @axis(%x: tensor<2x4xf32> {tenon.sharding = #shard<axisarray[[1], []]>}) -> tensor<2x4xf32> {
  func.return %x : tensor<2x4xf32>
}

// -----

// A dim that is known at run time.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
graph.dim @n min 1 max 64
// expected-error @+1 {{dim 0 of %x is known at run time only and cannot be split}}
func.func @named(%x: tensor<?xf32, #graph.dims<n>> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<?xf32, #graph.dims<n>> {
  func.return %x : tensor<?xf32, #graph.dims<n>>
}

// -----

// Halos are found, not said.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @halo(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{shard.sharding: halo_sizes and sharded_dims_offsets cannot be given (halos are found)}}
  %s = shard.sharding @mesh split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %y = shard.shard %x to %s : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A grid that there is not.
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @grid(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{shard.sharding: the grid is @mesh, not @other}}
  %s = shard.sharding @other split_axes = [[0]] : !shard.sharding
  %y = shard.shard %x to %s : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Two grids.
// expected-error @+1 {{shard.grid: a module has one grid, this one has @a, @b}}
shard.grid @a(shape = 2)
shard.grid @b(shape = 2)

// -----

// Names that are not one for each axis.
// expected-error @+1 {{shard.grid: axis_names of @a is ["x"], expected an array of 2 different names}}
shard.grid @a(shape = 2x2) {axis_names = ["x"]}

// -----

// An extent that is not known.
// expected-error @+1 {{shard.grid: @a has an extent that is not known or not positive ([2, -9223372036854775808])}}
shard.grid @a(shape = 2x?)
