// RUN: tenon-opt -p separate-preparation %s | filecheck %s
// RUN: tenon-opt -p 'separate-preparation{part="preparation"}' %s | filecheck %s --check-prefix PART
// RUN: not tenon-opt -p 'separate-preparation{part="some"}' %s 2>&1 | filecheck %s --check-prefix NONE
// NONE: error: separate-preparation: part 'some' is not one of rest, preparation, both

// What a call would copy is prepared; a view of it stays.
// CHECK-LABEL: func.func @panels(%x: tensor<64x512xf32>, %w: tensor<512x32xf32> {tenon.frozen}, %p: tensor<2x512x16xf32> {tenon.frozen})
// CHECK-NEXT:    %v = graph.permute %p [1, 0, 2] : tensor<2x512x16xf32>
// CHECK-NEXT:    func.return %v
// CHECK-LABEL: func.func @panels_preparation(%w: tensor<512x32xf32> {tenon.frozen}) -> tensor<2x512x16xf32>
// CHECK-NEXT:    %r = graph.reshape %w
// CHECK-NEXT:    %p = graph.permute %r [1, 0, 2] {memory_mode = {{.*}}}
// CHECK-NEXT:    func.return %p
// PART-NOT: func.func @panels(
// PART: func.func @panels_preparation
func.func @panels(%x: tensor<64x512xf32>, %w: tensor<512x32xf32> {tenon.frozen}) -> tensor<512x2x16xf32> {
  %r = graph.reshape %w : tensor<512x32xf32> -> tensor<512x2x16xf32>
  %p = graph.permute %r [1, 0, 2] {memory_mode = #graph.memory_mode<materialized, "in panels as wide as a tile">} : tensor<512x2x16xf32>
  %v = graph.permute %p [1, 0, 2] : tensor<2x512x16xf32>
  func.return %v : tensor<512x2x16xf32>
}

// A scale is folded into weights with what repeats it; a bias is not repeated for each row.
// CHECK-LABEL: func.func @folded(%x: tensor<64x32xf32>, %w: tensor<64x32xf32> {tenon.frozen}, %g: tensor<32xf32> {tenon.frozen},
// CHECK-SAME:  %root: tensor<32xf32> {tenon.frozen}, %scaled: tensor<64x32xf32> {tenon.frozen})
// CHECK-NEXT:    %rows = graph.broadcast %root
// CHECK-NEXT:    %y = graph.add %x, %scaled
// CHECK-NEXT:    %z = graph.add %y, %rows
// CHECK-LABEL: func.func @folded_preparation
// CHECK:         func.return %root, %scaled
func.func @folded(%x: tensor<64x32xf32>, %w: tensor<64x32xf32> {tenon.frozen}, %g: tensor<32xf32> {tenon.frozen}) -> tensor<64x32xf32> {
  %root = graph.sqrt %g : tensor<32xf32>
  %rows = graph.broadcast %root : tensor<32xf32> -> tensor<64x32xf32>
  %scaled = graph.mul %w, %rows : tensor<64x32xf32>
  %y = graph.add %x, %scaled : tensor<64x32xf32>
  %z = graph.add %y, %rows : tensor<64x32xf32>
  func.return %z : tensor<64x32xf32>
}

// Nothing is made of these: the function is as it was.
// CHECK-LABEL: func.func @as_it_is(%x: tensor<4xf32>, %w: tensor<4xf32> {tenon.frozen})
// CHECK-NOT: preparation
func.func @as_it_is(%x: tensor<4xf32>, %w: tensor<4xf32> {tenon.frozen}) -> tensor<4xf32> {
  %y = graph.add %x, %w : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
