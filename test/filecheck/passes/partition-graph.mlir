// RUN: tenon-opt -p 'propagate-sharding,partition-graph{rank=1}' --split-input-file --verify-diagnostics %s | filecheck %s

// A sum over what is split is combined; extents of this rank are numbers.
// CHECK-LABEL: func.func @sum(%x: tensor<4x3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}], [0]]>}) -> (tensor<4xf32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>})
// CHECK-NEXT:    %0 = graph.reduce add %x axes [1] : tensor<4x3xf32> -> tensor<4xf32>
// CHECK-NEXT:    %s = graph.all_reduce add %0 on @mesh axes = [0] channel = 1 : tensor<4xf32>
// CHECK-NEXT:    func.return %s : tensor<4xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @sum(%x: tensor<4x7xf32> {tenon.sharding = #shard<axisarray[[], [0]]>}) -> tensor<4xf32> {
  %s = graph.reduce add %x axes [1] : tensor<4x7xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// -----

// It is scattered where the result is split; what is narrower than f32 is rounded once.
// CHECK-LABEL: func.func @scattered(%x: tensor<4x3xf16> {tenon.sharding = #shard<axisarray{{\[\[}}], [0]]>}) -> (tensor<2xf16> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>})
// CHECK-NEXT:    %0 = graph.cast %x : tensor<4x3xf16> -> tensor<4x3xf32>
// CHECK-NEXT:    %1 = graph.reduce add %0 axes [1] : tensor<4x3xf32> -> tensor<4xf32>
// CHECK-NEXT:    %2 = graph.reduce_scatter add %1 on @mesh axes = [0] dim = 0 channel = 1 : tensor<4xf32> -> tensor<2xf32>
// CHECK-NEXT:    %s = graph.cast %2 : tensor<2xf32> -> tensor<2xf16>
// CHECK-NEXT:    func.return %s : tensor<2xf16>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @scattered(%x: tensor<4x7xf16> {tenon.sharding = #shard<axisarray[[], [0]]>}) -> (tensor<4xf16> {tenon.sharding = #shard<axisarray[[0]]>}) {
  %s = graph.reduce add %x axes [1] : tensor<4x7xf16> -> tensor<4xf16>
  func.return %s : tensor<4xf16>
}

// -----

// Slices of padded rows ask the neighbours for the rows that this rank has not, and for no others.
// CHECK-LABEL: func.func @stencil(%x: tensor<3x5xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}) -> (tensor<3x5xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>})
// CHECK-NEXT:    %x_1 = graph.slice %x offsets [0, 0] sizes [2, 5] strides [1, 1] : tensor<3x5xf32>
// CHECK-NEXT:    %x_2 = graph.slice %x offsets [2, 0] sizes [1, 5] strides [1, 1] : tensor<3x5xf32>
// CHECK-NEXT:    %x_halo = graph.collective_permute %x_2 on @mesh axes = [0] pairs = {{\[\[}}0, 1], [1, 2]] channel = 1 : tensor<1x5xf32> -> tensor<1x5xf32>
// CHECK-NEXT:    %x_3 = graph.concat %x_halo, %x_1 axis 0 : tensor<1x5xf32>, tensor<2x5xf32> -> tensor<3x5xf32>
// CHECK-NEXT:    %zero = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %x_4 = graph.slice %x offsets [1, 0] sizes [2, 5] strides [1, 1] : tensor<3x5xf32>
// CHECK-NEXT:    %x_5 = graph.slice %x offsets [0, 0] sizes [1, 5] strides [1, 1] : tensor<3x5xf32>
// CHECK-NEXT:    %x_halo_1 = graph.collective_permute %x_5 on @mesh axes = [0] pairs = {{\[\[}}1, 0], [2, 1]] channel = 2 : tensor<1x5xf32> -> tensor<1x5xf32>
// CHECK-NEXT:    %x_6 = graph.concat %x_4, %x_halo_1 axis 0 : tensor<2x5xf32>, tensor<1x5xf32> -> tensor<3x5xf32>
// CHECK-NEXT:    %y = graph.add %x_3, %x_6 : tensor<3x5xf32>
// CHECK-NEXT:    func.return %y : tensor<3x5xf32>
shard.grid @mesh(shape = 3) {axis_names = ["x"]}
func.func @stencil(%x: tensor<8x5xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<8x5xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [1, 0] high [1, 0] : tensor<8x5xf32>
  %above = graph.slice %p offsets [0, 0] sizes [8, 5] strides [1, 1] : tensor<10x5xf32>
  %below = graph.slice %p offsets [2, 0] sizes [8, 5] strides [1, 1] : tensor<10x5xf32>
  %y = graph.add %above, %below : tensor<8x5xf32>
  func.return %y : tensor<8x5xf32>
}

// -----

// The same of a convolution, whose window this rank reads from its own rows on.
// CHECK-LABEL: func.func @convolution(%x: tensor<3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>}, %w: tensor<3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>}) -> (tensor<3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>})
// CHECK-NEXT:    %x_1 = graph.slice %x offsets [2] sizes [1] strides [1] : tensor<3xf32>
// CHECK-NEXT:    %x_halo = graph.collective_permute %x_1 on @mesh axes = [0] pairs = {{\[\[}}0, 1], [1, 2]] channel = 1 : tensor<1xf32> -> tensor<1xf32>
// CHECK-NEXT:    %x_2 = graph.slice %x offsets [0] sizes [1] strides [1] : tensor<3xf32>
// CHECK-NEXT:    %x_halo_1 = graph.collective_permute %x_2 on @mesh axes = [0] pairs = {{\[\[}}1, 0], [2, 1]] channel = 2 : tensor<1xf32> -> tensor<1xf32>
// CHECK-NEXT:    %x_3 = graph.concat %x_halo, %x, %x_halo_1 axis 0 : tensor<1xf32>, tensor<3xf32>, tensor<1xf32> -> tensor<5xf32>
// CHECK-NEXT:    %y = graph.contract %x_3, %w maps [affine_map<(d0, d1) -> ((d0 + d1))>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>] bounds [3, 3] : tensor<5xf32>, tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:    func.return %y : tensor<3xf32>
shard.grid @mesh(shape = 3) {axis_names = ["x"]}
func.func @convolution(%x: tensor<10xf32> {tenon.sharding = #shard<axisarray[[0]]>}, %w: tensor<3xf32>) -> tensor<8xf32> {
  %y = graph.contract %x, %w maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>] bounds [8, 3] : tensor<10xf32>, tensor<3xf32> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// Splits move from one dim to another; a part of the mesh is gathered, none is sliced.
// CHECK-LABEL: func.func @reshard(%x: tensor<2x3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], [1]]>}) -> (tensor<4x2xf32> {tenon.sharding = #shard<axisarray{{\[\[}}], [1, 0]]>}, tensor<2x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}, tensor<1x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0, 1], []]>})
// CHECK-NEXT:    %x_1 = graph.all_to_all %x on @mesh axes = [0] split_dim = 1 concat_dim = 0 channel = 1 : tensor<2x3xf32> -> tensor<4x2xf32>
// CHECK-NEXT:    %x_2 = graph.all_gather %x on @mesh axes = [1] dim = 1 channel = 2 : tensor<2x3xf32> -> tensor<2x6xf32>
// CHECK-NEXT:    %x_3 = graph.all_to_all %x on @mesh axes = [1] split_dim = 0 concat_dim = 1 channel = 3 : tensor<2x3xf32> -> tensor<1x6xf32>
// CHECK-NEXT:    func.return %x_1, %x_2, %x_3 : tensor<4x2xf32>, tensor<2x6xf32>, tensor<1x6xf32>
shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
func.func @reshard(%x: tensor<4x6xf32> {tenon.sharding = #shard<axisarray[[0], [1]]>}) -> (tensor<4x6xf32> {tenon.sharding = #shard<axisarray[[], [1, 0]]>}, tensor<4x6xf32> {tenon.sharding = #shard<axisarray[[0], []]>}, tensor<4x6xf32> {tenon.sharding = #shard<axisarray[[0, 1], []]>}) {
  func.return %x, %x, %x : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// Indices, constants and random numbers are those of the whole.
// CHECK-LABEL: func.func @numbers(%k: tensor<4xui32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>}) -> (tensor<4x3xui32> {tenon.sharding = #shard<axisarray{{\[\[}}], [0]]>}, tensor<2xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>})
// CHECK-NEXT:    %0 = graph.iota axis 1 : tensor<4x3xui32>
// CHECK-NEXT:    %1 = graph.constant dense<3> : tensor<ui32>
// CHECK-NEXT:    %2 = graph.broadcast %1 : tensor<ui32> -> tensor<4x3xui32>
// CHECK-NEXT:    %i = graph.add %0, %2 : tensor<4x3xui32>
// CHECK-NEXT:    %r = graph.threefry %k, %i rounds 20 : tensor<4xui32>, tensor<4x3xui32>
// CHECK-NEXT:    %c = graph.constant dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    func.return %r, %c : tensor<4x3xui32>, tensor<2xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @numbers(%k: tensor<4xui32>) -> (tensor<4x6xui32> {tenon.sharding = #shard<axisarray[[], [0]]>}, tensor<4xf32> {tenon.sharding = #shard<axisarray[[0]]>}) {
  %i = graph.iota axis 1 : tensor<4x6xui32>
  %r = graph.threefry %k, %i rounds 20 : tensor<4xui32>, tensor<4x6xui32>
  %c = graph.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  func.return %r, %c : tensor<4x6xui32>, tensor<4xf32>
}

// -----

// Rows are gathered by whoever has them: what the others have is no part of any bit.
// CHECK-LABEL: func.func @gather(%x: tensor<2x3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}, %i: tensor<2xi64> {tenon.sharding = #shard<axisarray{{\[\[}}]]>}) -> (tensor<2x3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}], []]>})
// CHECK-NEXT:    %0 = graph.constant dense<0> : tensor<i64>
// CHECK-NEXT:    %1 = graph.broadcast %0 : tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:    %2 = graph.max %i, %1 : tensor<2xi64>
// CHECK-NEXT:    %3 = graph.constant dense<4> : tensor<i64>
// CHECK-NEXT:    %4 = graph.broadcast %3 : tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:    %5 = graph.min %2, %4 : tensor<2xi64>
// CHECK-NEXT:    %6 = graph.constant dense<3> : tensor<i64>
// CHECK-NEXT:    %7 = graph.broadcast %6 : tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:    %8 = graph.sub %5, %7 : tensor<2xi64>
// CHECK-NEXT:    %9 = graph.constant dense<0> : tensor<i64>
// CHECK-NEXT:    %10 = graph.broadcast %9 : tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:    %11 = graph.ge %8, %10 : tensor<2xi64>
// CHECK-NEXT:    %12 = graph.constant dense<2> : tensor<i64>
// CHECK-NEXT:    %13 = graph.broadcast %12 : tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:    %14 = graph.lt %8, %13 : tensor<2xi64>
// CHECK-NEXT:    %15 = graph.and %11, %14 : tensor<2xi1>
// CHECK-NEXT:    %16 = graph.gather %x[%8] axes [0] : tensor<2x3xf32>[tensor<2xi64>] -> tensor<2x3xf32>
// CHECK-NEXT:    %17 = graph.reshape %15 : tensor<2xi1> -> tensor<2x1xi1>
// CHECK-NEXT:    %18 = graph.broadcast %17 : tensor<2x1xi1> -> tensor<2x3xi1>
// CHECK-NEXT:    %19 = graph.bitcast %16 : tensor<2x3xf32> -> tensor<2x3xui32>
// CHECK-NEXT:    %20 = graph.constant dense<0> : tensor<ui32>
// CHECK-NEXT:    %21 = graph.broadcast %20 : tensor<ui32> -> tensor<2x3xui32>
// CHECK-NEXT:    %22 = graph.select %18, %19, %21 : tensor<2x3xui32>
// CHECK-NEXT:    %23 = graph.all_reduce add %22 on @mesh axes = [0] channel = 1 : tensor<2x3xui32>
// CHECK-NEXT:    %y = graph.bitcast %23 : tensor<2x3xui32> -> tensor<2x3xf32>
// CHECK-NEXT:    func.return %y : tensor<2x3xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @gather(%x: tensor<5x3xf32> {tenon.sharding = #shard<axisarray[[0], []]>}, %i: tensor<2xi64>) -> tensor<2x3xf32> {
  %y = graph.gather %x[%i] axes [0] : tensor<5x3xf32>[tensor<2xi64>] -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// -----

// Updates of other ranks' rows are out of range here, and dropped.
// CHECK-LABEL: func.func @scatter(%x: tensor<2x3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}, %i: tensor<2xi32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>}, %u: tensor<2x3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}], []]>}) -> (tensor<2x3xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>})
// CHECK-NEXT:    %0 = graph.cast %i : tensor<2xi32> -> tensor<2xi64>
// CHECK-NEXT:    %1 = graph.constant dense<3> : tensor<i64>
// CHECK-NEXT:    %2 = graph.broadcast %1 : tensor<i64> -> tensor<2xi64>
// CHECK-NEXT:    %3 = graph.sub %0, %2 : tensor<2xi64>
// CHECK-NEXT:    %y = graph.scatter set %x[%3], %u axes [0] : tensor<2x3xf32>[tensor<2xi64>], tensor<2x3xf32>
// CHECK-NEXT:    func.return %y : tensor<2x3xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @scatter(%x: tensor<5x3xf32> {tenon.sharding = #shard<axisarray[[0], []]>}, %i: tensor<2xi32>, %u: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %y = graph.scatter set %x[%i], %u axes [0] : tensor<5x3xf32>[tensor<2xi32>], tensor<2x3xf32>
  func.return %y : tensor<5x3xf32>
}

// -----

// Running sums: the sums of the parts before.
// CHECK-LABEL: func.func @running(%x: tensor<2xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>}) -> (tensor<2xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>})
// CHECK-NEXT:    %0 = graph.cumulate add %x axis 0 : tensor<2xf32>
// CHECK-NEXT:    %1 = graph.reduce add %x axes [0] keep : tensor<2xf32> -> tensor<1xf32>
// CHECK-NEXT:    %2 = graph.all_gather %1 on @mesh axes = [0] dim = 0 channel = 1 : tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:    %3 = graph.slice %2 offsets [0] sizes [1] strides [1] : tensor<3xf32>
// CHECK-NEXT:    %4 = graph.broadcast %3 : tensor<1xf32> -> tensor<2xf32>
// CHECK-NEXT:    %y = graph.add %4, %0 : tensor<2xf32>
// CHECK-NEXT:    func.return %y : tensor<2xf32>
shard.grid @mesh(shape = 3) {axis_names = ["x"]}
func.func @running(%x: tensor<7xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<7xf32> {
  %y = graph.cumulate add %x axis 0 : tensor<7xf32>
  func.return %y : tensor<7xf32>
}

// -----

// Loops and branches, inside and out.
// CHECK-LABEL: func.func @loop(%x: tensor<2x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}, %f: tensor<i1> {tenon.sharding = #shard<axisarray[]>}) -> (tensor<2x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}, tensor<3x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}], []]>})
// CHECK-NEXT:    %y, %t = graph.scan %i = 3 (%c = %x) : (tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<3x6xf32>) {
// CHECK-NEXT:    %n = graph.if %f -> (tensor<2x6xf32>) {
// CHECK-NEXT:    %e = graph.exp %c : tensor<2x6xf32>
// CHECK-NEXT:    graph.yield %e : tensor<2x6xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:    graph.yield %c : tensor<2x6xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %0 = graph.reduce max %n axes [0] : tensor<2x6xf32> -> tensor<6xf32>
// CHECK-NEXT:    %r = graph.all_reduce max %0 on @mesh axes = [0] channel = 1 : tensor<6xf32>
// CHECK-NEXT:    graph.yield %n, %r : tensor<2x6xf32>, tensor<6xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %y, %t : tensor<2x6xf32>, tensor<3x6xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @loop(%x: tensor<4x6xf32> {tenon.sharding = #shard<axisarray[[0], []]>}, %f: tensor<i1>) -> (tensor<4x6xf32>, tensor<3x6xf32>) {
  %y, %t = graph.scan %i = 3 (%c = %x) : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<3x6xf32>) {
    %n = graph.if %f -> (tensor<4x6xf32>) {
      %e = graph.exp %c : tensor<4x6xf32>
      graph.yield %e : tensor<4x6xf32>
    } else {
      graph.yield %c : tensor<4x6xf32>
    }
    %r = graph.reduce max %n axes [0] : tensor<4x6xf32> -> tensor<6xf32>
    graph.yield %n, %r : tensor<4x6xf32>, tensor<6xf32>
  }
  func.return %y, %t : tensor<4x6xf32>, tensor<3x6xf32>
}

// -----

// What is printed is printed by rank 0.
// CHECK-LABEL: func.func @printed(%x: tensor<4xf32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>}) -> (tensor<4xf32> {tenon.sharding = #shard<axisarray{{\[\[}}]]>})
// CHECK-NEXT:    func.return %x : tensor<4xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @printed(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.print "x {0}"(%x) : tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// -----

// A sort along a dim that is split, of three elements here and two there: both have three for the merge, of which the
// last one comes behind all.
// CHECK-LABEL: func.func @sorted(%x: tensor<2xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>}) -> (tensor<2xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>})
// CHECK-NEXT:    %0 = graph.constant dense<0x7fc00000> : tensor<f32>
// CHECK-NEXT:    %1 = graph.broadcast %0 : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT:    %2 = graph.concat %x, %1 axis 0 : tensor<2xf32>, tensor<1xf32> -> tensor<3xf32>
// CHECK-NEXT:    %3 = graph.sort %2 axis 0 : tensor<3xf32>
// CHECK-NEXT:    %4 = graph.collective_permute %3 on @mesh axes = [0] pairs = {{\[\[}}0, 1], [1, 0]] channel = 1 : tensor<3xf32> -> tensor<3xf32>
// CHECK-NEXT:    %5 = graph.concat %4, %3 axis 0 : tensor<3xf32>, tensor<3xf32> -> tensor<6xf32>
// CHECK-NEXT:    %6 = graph.sort %5 axis 0 : tensor<6xf32>
// CHECK-NEXT:    %7 = graph.slice %6 offsets [3] sizes [3] strides [1] : tensor<6xf32>
// CHECK-NEXT:    %y = graph.slice %7 offsets [0] sizes [2] strides [1] : tensor<3xf32>
// CHECK-NEXT:    func.return %y : tensor<2xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @sorted(%x: tensor<5xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<5xf32> {
  %y = graph.sort %x axis 0 : tensor<5xf32>
  func.return %y : tensor<5xf32>
}
