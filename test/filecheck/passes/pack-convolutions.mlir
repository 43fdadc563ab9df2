// RUN: tenon-opt -p 'pack-convolutions{vector-nbytes=16}' %s | filecheck %s
// RUN: tenon-opt -p 'pack-convolutions{vector-nbytes=16}' --verify-semantics=2 -o /dev/null %s

// Panels of two vectors of output channels; of ten, the last panel has six that nothing reads.
// CHECK-LABEL: func.func @windows
// CHECK:         %[[P:.*]] = graph.pad %w, %{{.*}} low [0, 0, 0, 0] high [6, 0, 0, 0] : tensor<10x16x3x3xf32>
// CHECK-NEXT:    %w_packed = graph.contract %[[P]] maps [affine_map<(d0, d1, d2, d3, d4) -> (((d0 * 8) + d4), d3, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>] bounds [2, 3, 3, 16, 8] {memory_mode = #graph.memory_mode<materialized, "packed, 8 output channels side by side">} : tensor<16x16x3x3xf32> -> tensor<2x3x3x16x8xf32>
// CHECK-NEXT:    %{{.*}} = graph.contract %x, %w_packed maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> ((d0 + d4), (d1 + d5), d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>] bounds [8, 8, 2, 8, 3, 3, 16] tile [d3 = 8 in panels]
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.slice
func.func @windows(%x: tensor<10x10x16xf32>, %w: tensor<10x16x3x3xf32>) -> tensor<8x8x10xf32> {
  %c = graph.contract %x, %w maps [affine_map<(y, x, o, i, j, c) -> (y + i, x + j, c)>, affine_map<(y, x, o, i, j, c) -> (o, c, i, j)>, affine_map<(y, x, o, i, j, c) -> (y, x, o)>] bounds [8, 8, 10, 3, 3, 16] : tensor<10x10x16xf32>, tensor<10x16x3x3xf32> -> tensor<8x8x10xf32>
  func.return %c : tensor<8x8x10xf32>
}

// Where few use a weight, the weights stay as they are.
// CHECK-LABEL: func.func @few
// CHECK-NOT:     {{packed|tile}}
// CHECK-LABEL: func.func @blocks
func.func @few(%x: tensor<64x3x5xf32>, %w: tensor<32x64x3x3xf32>) -> tensor<32x1x3xf32> {
  %c = graph.contract %x, %w maps [affine_map<(o, y, x, c, i, j) -> (c, y + i, x + j)>, affine_map<(o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(o, y, x, c, i, j) -> (o, y, x)>] bounds [32, 1, 3, 64, 3, 3] : tensor<64x3x5xf32>, tensor<32x64x3x3xf32> -> tensor<32x1x3xf32>
  func.return %c : tensor<32x1x3xf32>
}

// Many input channels that are apart in the image are read 32 at a time, by all of the window.
// CHECK:         %w_packed = graph.contract %w maps [affine_map<(d0, d1, d2, d3, d4, d5) -> (((d0 * 8) + d5), ((d1 * 32) + d4), d2, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>] bounds [4, 2, 3, 3, 32, 8]
// CHECK-NEXT:    graph.contract %x, %w_packed maps [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (((d4 * 32) + d7), (d2 + d5), (d3 + d6))>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d4, d5, d6, d7, d1)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3)>] bounds [4, 8, 4, 8, 2, 3, 3, 32] tile [d1 = 8 in panels]
// CHECK-LABEL: func.func @named(
func.func @blocks(%x: tensor<64x6x10xf32>, %w: tensor<32x64x3x3xf32>) -> tensor<32x4x8xf32> {
  %c = graph.contract %x, %w maps [affine_map<(o, y, x, i, j, c) -> (c, y + i, x + j)>, affine_map<(o, y, x, i, j, c) -> (o, c, i, j)>, affine_map<(o, y, x, i, j, c) -> (o, y, x)>] bounds [32, 4, 8, 3, 3, 64] : tensor<64x6x10xf32>, tensor<32x64x3x3xf32> -> tensor<32x4x8xf32>
  func.return %c : tensor<32x4x8xf32>
}

// Named dims of the image count as the greatest that they may be: one of three at most is used too little.
// CHECK:         graph.contract %x, %w_packed maps {{.*}} bounds [n, h - 2, 2, 8, 3, 3, 16] tile [d3 = 8 in panels]
// CHECK-NEXT:    graph.reshape {{.*}} -> tensor<?x?x16xf32, #graph.dims<n, h - 2, 16>>
// CHECK-LABEL: func.func @few_named
// CHECK-NOT:     packed
// CHECK-LABEL: func.func @named_channels
// CHECK-NOT:     packed
// CHECK-LABEL: func.func @product
graph.dim @n min 1 max 3
graph.dim @h min 3 max 64
func.func @named(%x: tensor<?x?x3x16xf32, #graph.dims<n, h, 3, 16>>, %w: tensor<16x16x3x3xf32>) -> tensor<?x?x16xf32, #graph.dims<n, h - 2, 16>> {
  %c = graph.contract %x, %w maps [affine_map<(n, o, y, i, j, c) -> (n, y + i, j, c)>, affine_map<(n, o, y, i, j, c) -> (o, c, i, j)>, affine_map<(n, o, y, i, j, c) -> (n, y, o)>] bounds [n, 16, h - 2, 3, 3, 16] : tensor<?x?x3x16xf32, #graph.dims<n, h, 3, 16>>, tensor<16x16x3x3xf32> -> tensor<?x?x16xf32, #graph.dims<n, h - 2, 16>>
  func.return %c : tensor<?x?x16xf32, #graph.dims<n, h - 2, 16>>
}
func.func @few_named(%x: tensor<?x3x3x64xf32, #graph.dims<n, 3, 3, 64>>, %w: tensor<32x64x3x3xf32>) -> tensor<?x1x32xf32, #graph.dims<n, 1, 32>> {
  %c = graph.contract %x, %w maps [affine_map<(n, y, o, i, j, c) -> (n, y + i, j, c)>, affine_map<(n, y, o, i, j, c) -> (o, c, i, j)>, affine_map<(n, y, o, i, j, c) -> (n, y, o)>] bounds [n, 1, 32, 3, 3, 64] : tensor<?x3x3x64xf32, #graph.dims<n, 3, 3, 64>>, tensor<32x64x3x3xf32> -> tensor<?x1x32xf32, #graph.dims<n, 1, 32>>
  func.return %c : tensor<?x1x32xf32, #graph.dims<n, 1, 32>>
}
func.func @named_channels(%x: tensor<10x10x16xf32>, %w: tensor<?x16x3x3xf32, #graph.dims<h, 16, 3, 3>>) -> tensor<8x8x?xf32, #graph.dims<8, 8, h>> {
  %c = graph.contract %x, %w maps [affine_map<(y, x, o, i, j, c) -> (y + i, x + j, c)>, affine_map<(y, x, o, i, j, c) -> (o, c, i, j)>, affine_map<(y, x, o, i, j, c) -> (y, x, o)>] bounds [8, 8, h, 3, 3, 16] : tensor<10x10x16xf32>, tensor<?x16x3x3xf32, #graph.dims<h, 16, 3, 3>> -> tensor<8x8x?xf32, #graph.dims<8, 8, h>>
  func.return %c : tensor<8x8x?xf32, #graph.dims<8, 8, h>>
}

// A product of matrices is no convolution.
// CHECK-NOT:     packed
func.func @product(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}

// Bytes that are added up in 32 bits, with zeros behind the last channel.
// CHECK-LABEL: func.func @bytes
// CHECK:         graph.pad %w, %{{.*}} low [0, 0, 0, 0] high [6, 0, 0, 0] : tensor<10x16x3x3xi8>
// CHECK:         %w_packed = graph.contract {{.*}} -> tensor<2x3x3x16x8xi8>
// CHECK:         graph.contract %x, %w_packed {{.*}} tile [d3 = 8 in panels] : tensor<10x10x16xui8>, tensor<2x3x3x16x8xi8> -> tensor<8x8x2x8xi32>
func.func @bytes(%x: tensor<10x10x16xui8>, %w: tensor<10x16x3x3xi8>) -> tensor<8x8x10xi32> {
  %c = graph.contract %x, %w maps [affine_map<(y, x, o, i, j, c) -> (y + i, x + j, c)>, affine_map<(y, x, o, i, j, c) -> (o, c, i, j)>, affine_map<(y, x, o, i, j, c) -> (y, x, o)>] bounds [8, 8, 10, 3, 3, 16] : tensor<10x10x16xui8>, tensor<10x16x3x3xi8> -> tensor<8x8x10xi32>
  func.return %c : tensor<8x8x10xi32>
}

// No tile adds up in 16 bits.
// CHECK-LABEL: func.func @short_sums
// CHECK-NOT:     packed
func.func @short_sums(%x: tensor<10x10x16xi16>, %w: tensor<10x16x3x3xi16>) -> tensor<8x8x10xi16> {
  %c = graph.contract %x, %w maps [affine_map<(y, x, o, i, j, c) -> (y + i, x + j, c)>, affine_map<(y, x, o, i, j, c) -> (o, c, i, j)>, affine_map<(y, x, o, i, j, c) -> (y, x, o)>] bounds [8, 8, 10, 3, 3, 16] : tensor<10x10x16xi16>, tensor<10x16x3x3xi16> -> tensor<8x8x10xi16>
  func.return %c : tensor<8x8x10xi16>
}

// Images may have extents that are not numbers; weights may not.
// CHECK-LABEL: func.func @named_images
// CHECK:         %w_packed = graph.contract %w
// CHECK-NEXT:    graph.contract %x, %w_packed {{.*}} bounds [m, 8, 8, 2, 8, 3, 3, 16] tile [d4 = 8 in panels]
// CHECK-SAME:      -> tensor<?x8x8x2x8xf32, #graph.dims<m, 8, 8, 2, 8>>
// CHECK-NEXT:    graph.reshape {{.*}} -> tensor<?x8x8x16xf32, #graph.dims<m, 8, 8, 16>>
// CHECK-LABEL: func.func @named_weights
// CHECK-NOT:     {{packed|tile}}
graph.dim @m min 1 max 4
func.func @named_images(%x: tensor<?x10x10x16xf32, #graph.dims<m, 10, 10, 16>>, %w: tensor<16x16x3x3xf32>) -> tensor<?x8x8x16xf32, #graph.dims<m, 8, 8, 16>> {
  %c = graph.contract %x, %w maps [affine_map<(b, y, x, o, i, j, c) -> (b, y + i, x + j, c)>, affine_map<(b, y, x, o, i, j, c) -> (o, c, i, j)>, affine_map<(b, y, x, o, i, j, c) -> (b, y, x, o)>] bounds [m, 8, 8, 16, 3, 3, 16] : tensor<?x10x10x16xf32, #graph.dims<m, 10, 10, 16>>, tensor<16x16x3x3xf32> -> tensor<?x8x8x16xf32, #graph.dims<m, 8, 8, 16>>
  func.return %c : tensor<?x8x8x16xf32, #graph.dims<m, 8, 8, 16>>
}
func.func @named_weights(%x: tensor<10x10x?xf32, #graph.dims<10, 10, m>>, %w: tensor<64x?x3x3xf32, #graph.dims<64, m, 3, 3>>) -> tensor<8x8x64xf32> {
  %c = graph.contract %x, %w maps [affine_map<(y, x, o, i, j, c) -> (y + i, x + j, c)>, affine_map<(y, x, o, i, j, c) -> (o, c, i, j)>, affine_map<(y, x, o, i, j, c) -> (y, x, o)>] bounds [8, 8, 64, 3, 3, m] : tensor<10x10x?xf32, #graph.dims<10, 10, m>>, tensor<64x?x3x3xf32, #graph.dims<64, m, 3, 3>> -> tensor<8x8x64xf32>
  func.return %c : tensor<8x8x64xf32>
}

// Channels of 16x16 places are 1 KiB apart: a first cache of 32 KiB holds lines of 24 of them, not of 32. An image
// with a border gets one more column, which nothing reads. One of 48 KiB holds 32, and 18x18 places are no such
// distance apart.
// RUN: tenon-opt -p 'pack-convolutions{vector-nbytes=16 l1-nbytes=32768}' %s | filecheck %s --check-prefix SPREAD
// RUN: tenon-opt -p 'pack-convolutions{vector-nbytes=16 l1-nbytes=32768}' --verify-semantics=2 -o /dev/null %s
// RUN: tenon-opt -p 'pack-convolutions{vector-nbytes=16 l1-nbytes=49152}' %s | filecheck %s --check-prefix HELD
// CHECK-LABEL: func.func @apart
// SPREAD-LABEL: func.func @apart
// SPREAD:         %[[I:p.*]] = graph.pad %x, %zero low [0, 1, 1] high [0, 1, 2] : tensor<32x14x14xf32>
// SPREAD:         graph.contract %[[I]], %w_packed {{.*}} : tensor<32x16x17xf32>, tensor<2x3x3x32x8xf32>
// SPREAD-LABEL: func.func @not_apart
// SPREAD:         graph.pad %x, %zero low [0, 1, 1] high [0, 1, 1] : tensor<32x16x16xf32>
// SPREAD-LABEL: func.func @read_twice
// SPREAD:         graph.pad %x, %zero low [0, 1, 1] high [0, 1, 1] : tensor<32x14x14xf32>
// SPREAD-NOT:     graph.pad
// HELD-LABEL:   func.func @apart
// HELD:           graph.pad %x, %zero low [0, 1, 1] high [0, 1, 1]
func.func @apart(%x: tensor<32x14x14xf32>, %w: tensor<16x32x3x3xf32>) -> tensor<16x14x14xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [0, 1, 1] high [0, 1, 1] : tensor<32x14x14xf32>
  %c = graph.contract %p, %w maps [affine_map<(o, y, x, i, j, c) -> (c, y + i, x + j)>, affine_map<(o, y, x, i, j, c) -> (o, c, i, j)>, affine_map<(o, y, x, i, j, c) -> (o, y, x)>] bounds [16, 14, 14, 3, 3, 32] : tensor<32x16x16xf32>, tensor<16x32x3x3xf32> -> tensor<16x14x14xf32>
  func.return %c : tensor<16x14x14xf32>
}
func.func @not_apart(%x: tensor<32x16x16xf32>, %w: tensor<16x32x3x3xf32>) -> tensor<16x16x16xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [0, 1, 1] high [0, 1, 1] : tensor<32x16x16xf32>
  %c = graph.contract %p, %w maps [affine_map<(o, y, x, i, j, c) -> (c, y + i, x + j)>, affine_map<(o, y, x, i, j, c) -> (o, c, i, j)>, affine_map<(o, y, x, i, j, c) -> (o, y, x)>] bounds [16, 16, 16, 3, 3, 32] : tensor<32x18x18xf32>, tensor<16x32x3x3xf32> -> tensor<16x16x16xf32>
  func.return %c : tensor<16x16x16xf32>
}

// What something else reads too would be two images.
func.func @read_twice(%x: tensor<32x14x14xf32>, %w: tensor<16x32x3x3xf32>) -> (tensor<16x14x14xf32>, tensor<32x16x16xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [0, 1, 1] high [0, 1, 1] : tensor<32x14x14xf32>
  %c = graph.contract %p, %w maps [affine_map<(o, y, x, i, j, c) -> (c, y + i, x + j)>, affine_map<(o, y, x, i, j, c) -> (o, c, i, j)>, affine_map<(o, y, x, i, j, c) -> (o, y, x)>] bounds [16, 14, 14, 3, 3, 32] : tensor<32x16x16xf32>, tensor<16x32x3x3xf32> -> tensor<16x14x14xf32>
  func.return %c, %p : tensor<16x14x14xf32>, tensor<32x16x16xf32>
}

// RUN: not tenon-opt -p 'pack-convolutions{vector-nbytes=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// NONE: error: pack-convolutions: vector-nbytes 0 and l1-nbytes 49152 must be 1 or more
