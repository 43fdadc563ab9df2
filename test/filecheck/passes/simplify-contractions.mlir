// RUN: tenon-opt -p simplify-contractions %s | filecheck %s
// RUN: tenon-opt -p simplify-contractions --verify-semantics=2 -o /dev/null %s

// A convolution with a window of 1 over images whose channels are last is a product of matrices.
// CHECK-LABEL: func.func @product
// CHECK-NEXT:    %{{.*}} = graph.permute
// CHECK-NEXT:    %x_1 = graph.reshape %x : tensor<1x8x8x16xf32> -> tensor<64x16xf32>
// CHECK-NEXT:    %w_1 = graph.reshape %w : tensor<32x16x1x1xf32> -> tensor<32x16xf32>
// CHECK-NEXT:    %{{.*}} = graph.contract %x_1, %w_1 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] bounds [64, 32, 16] : tensor<64x16xf32>, tensor<32x16xf32> -> tensor<64x32xf32>
func.func @product(%x: tensor<1x8x8x16xf32>, %w: tensor<32x16x1x1xf32>) -> tensor<1x8x8x32xf32> {
  %p = graph.permute %x [0, 3, 1, 2] : tensor<1x8x8x16xf32>
  %c = graph.contract %p, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>] bounds [1, 32, 8, 8, 16, 1, 1] : tensor<1x16x8x8xf32>, tensor<32x16x1x1xf32> -> tensor<1x32x8x8xf32>
  %y = graph.permute %c [0, 2, 3, 1] : tensor<1x32x8x8xf32>
  func.return %y : tensor<1x8x8x32xf32>
}

// Windows are folded in the order of their extents, and else in that of the weights: rows, columns, channels.
// CHECK-LABEL: func.func @windows
// CHECK:         graph.contract %x, %w maps [affine_map<(d0, d1, d2, d3, d4, d5) -> ((d0 + d3), (d1 + d4), d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d5, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>] bounds [6, 6, 32, 3, 3, 16]
func.func @windows(%x: tensor<8x8x16xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<6x6x32xf32> {
  %p = graph.permute %x [2, 0, 1] : tensor<8x8x16xf32>
  %c = graph.contract %p, %w maps [affine_map<(o, y, x, c, i, j) -> (c, y + i, x + j)>, affine_map<(o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(o, y, x, c, i, j) -> (o, y, x)>] bounds [32, 6, 6, 16, 3, 3] : tensor<16x8x8xf32>, tensor<32x16x3x3xf32> -> tensor<32x6x6xf32>
  %r = graph.relu %c : tensor<32x6x6xf32>
  %y = graph.permute %r [1, 2, 0] : tensor<32x6x6xf32>
  func.return %y : tensor<6x6x32xf32>
}

// Where two read the result, its order stays.
// CHECK-LABEL: func.func @read_twice
// CHECK-NEXT:    %{{.*}} = graph.contract %a, %b maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
func.func @read_twice(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> (tensor<4x2xf32>, tensor<2x4xf32>) {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %t = graph.permute %c [1, 0] : tensor<4x2xf32>
  func.return %c, %t : tensor<4x2xf32>, tensor<2x4xf32>
}

// Dims that are apart in one of the operands stay two.
// CHECK-LABEL: func.func @apart
// CHECK:         bounds [2, 3, 4]
// CHECK-LABEL: func.func @named
func.func @apart(%a: tensor<2x3x4xf32>, %b: tensor<3x1x4xf32>) -> tensor<2x1x3xf32> {
  %c = graph.contract %a, %b maps [affine_map<(i, o, j, k) -> (i, j, k)>, affine_map<(i, o, j, k) -> (j, o, k)>, affine_map<(i, o, j, k) -> (i, o, j)>] : tensor<2x3x4xf32>, tensor<3x1x4xf32> -> tensor<2x1x3xf32>
  func.return %c : tensor<2x1x3xf32>
}

// Named dims are merged as numbers are, and dims of 1 go.
// CHECK:         [[x:%.*]] = graph.reshape %x : tensor<?x?x4xf32, #graph.dims<n, m, 4>> -> tensor<?x4xf32, #graph.dims<m * n, 4>>
// CHECK-NEXT:    [[w:%.*]] = graph.reshape %w : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    [[c:%.*]] = graph.contract [[x]], [[w]] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>] bounds [m * n, 4]
// CHECK-NEXT:    graph.reshape [[c]] : tensor<?xf32, #graph.dims<m * n>> -> tensor<?x?x1xf32, #graph.dims<n, m, 1>>
// CHECK-LABEL: func.func @named_order
graph.dim @n min 1 max 8
graph.dim @m min 1 max 8
func.func @named(%x: tensor<?x?x4xf32, #graph.dims<n, m, 4>>, %w: tensor<1x4xf32>) -> tensor<?x?x1xf32, #graph.dims<n, m, 1>> {
  %c = graph.contract %x, %w maps [affine_map<(i, j, o, k) -> (i, j, k)>, affine_map<(i, j, o, k) -> (o, k)>, affine_map<(i, j, o, k) -> (i, j, o)>] : tensor<?x?x4xf32, #graph.dims<n, m, 4>>, tensor<1x4xf32> -> tensor<?x?x1xf32, #graph.dims<n, m, 1>>
  func.return %c : tensor<?x?x1xf32, #graph.dims<n, m, 1>>
}

// They have the order in which the result is stored.
// CHECK:         graph.contract %p, %v {{.*}} bounds [n, m, 2, 3, m] : {{.*}} -> tensor<?x?x2x3xf32, #graph.dims<n, m, 2, 3>>
// CHECK-LABEL: func.func @windows_of_named
func.func @named_order(%p: tensor<?x2x?x?xf32, #graph.dims<n, 2, m, m>>, %v: tensor<?x2x?x3xf32, #graph.dims<n, 2, m, 3>>) -> tensor<?x?x1x2x3xf32, #graph.dims<n, m, 1, 2, 3>> {
  %c = graph.contract %p, %v maps [affine_map<(n, h, q, d, k) -> (n, h, q, k)>, affine_map<(n, h, q, d, k) -> (n, h, k, d)>, affine_map<(n, h, q, d, k) -> (n, h, q, d)>] : tensor<?x2x?x?xf32, #graph.dims<n, 2, m, m>>, tensor<?x2x?x3xf32, #graph.dims<n, 2, m, 3>> -> tensor<?x2x?x3xf32, #graph.dims<n, 2, m, 3>>
  %r = graph.reshape %c : tensor<?x2x?x3xf32, #graph.dims<n, 2, m, 3>> -> tensor<?x2x?x1x3xf32, #graph.dims<n, 2, m, 1, 3>>
  %y = graph.permute %r [0, 2, 3, 1, 4] : tensor<?x2x?x1x3xf32, #graph.dims<n, 2, m, 1, 3>>
  func.return %y : tensor<?x?x1x2x3xf32, #graph.dims<n, m, 1, 2, 3>>
}

// A window over rows of a named length stays: its factor would be no number.
// CHECK:         graph.contract %x maps [affine_map<(d0, d1, d2) -> ((d0 + d1), d2)>, affine_map<(d0, d1, d2) -> (d0)>] bounds [n, 3, m]
// CHECK-LABEL: func.func @nameless
func.func @windows_of_named(%x: tensor<?x?xf32, #graph.dims<n + 2, m>>) -> tensor<?xf32, #graph.dims<n>> {
  %c = graph.contract %x maps [affine_map<(y, i, j) -> (y + i, j)>, affine_map<(y, i, j) -> (y)>] bounds [n, 3, m] : tensor<?x?xf32, #graph.dims<n + 2, m>> -> tensor<?xf32, #graph.dims<n>>
  func.return %c : tensor<?xf32, #graph.dims<n>>
}

// An extent without a name leaves all as it is.
// CHECK:         graph.contract %a, %b maps [affine_map<(d0, d1, d2) -> (d0, d2)>
func.func @nameless(%a: tensor<?x4xf32>, %b: tensor<1x4xf32>) -> tensor<?x1xf32> {
  %c = graph.contract %a, %b maps [affine_map<(i, o, k) -> (i, k)>, affine_map<(i, o, k) -> (o, k)>, affine_map<(i, o, k) -> (i, o)>] : tensor<?x4xf32>, tensor<1x4xf32> -> tensor<?x1xf32>
  func.return %c : tensor<?x1xf32>
}

// A window over few channels, which lie side by side: columns and channels are one dim, longer than rows.
// CHECK-LABEL: func.func @few_channels
// CHECK:         graph.contract %{{.*}}, %{{.*}} maps [affine_map<(d0, d1, d2, d3, d4) -> (((d0 * 2) + d3), ((d1 * 6) + d4))>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>] bounds [4, 4, 8, 7, 21]
func.func @few_channels(%x: tensor<13x13x3xf32>, %w: tensor<7x7x3x8xf32>) -> tensor<4x4x8xf32> {
  %c = graph.contract %x, %w maps [affine_map<(y, x, o, c, i, j) -> (y * 2 + i, x * 2 + j, c)>, affine_map<(y, x, o, c, i, j) -> (i, j, c, o)>, affine_map<(y, x, o, c, i, j) -> (y, x, o)>] bounds [4, 4, 8, 3, 7, 7] : tensor<13x13x3xf32>, tensor<7x7x3x8xf32> -> tensor<4x4x8xf32>
  func.return %c : tensor<4x4x8xf32>
}

// One window, that does not reach the end: what it reads is cut out, as a dim by itself is all of an axis.
// CHECK-LABEL: func.func @one_window
// CHECK:         [[part:%.*]] = graph.slice %{{.*}} offsets [0] sizes [2] strides [1] : tensor<3xf32>
// CHECK-NEXT:    graph.contract [[part]] maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] bounds [2]
func.func @one_window(%x: tensor<1x3xf32>) -> tensor<1x1xf32> {
  %c = graph.contract %x maps [affine_map<(n, y, i) -> (n, y * 2 + i)>, affine_map<(n, y, i) -> (n, y)>] bounds [1, 1, 2] accumulate max : tensor<1x3xf32> -> tensor<1x1xf32>
  func.return %c : tensor<1x1xf32>
}
