// RUN: tenon-opt -p widen-rows --split-input-file %s | filecheck %s
// RUN: tenon-opt -p widen-rows --verify-semantics=2 --split-input-file -o /dev/null %s
// RUN: tenon-opt -p 'widen-rows{multiplies-bytes=true}' --split-input-file %s | filecheck %s --check-prefix FOUR

// CHECK-LABEL: func.func @floats
// CHECK-NEXT:    %a_wide = graph.cast %a {memory_mode = #graph.memory_mode<materialized, "widened once, not at each use">} : tensor<8x16xbf16> -> tensor<8x16xf32>
// CHECK-NEXT:    %c = graph.contract %a_wide, %b
// CHECK-SAME:      : tensor<8x16xf32>, tensor<16x32xbf16> -> tensor<8x32xf32>
// CHECK-NEXT:    func.return %c
func.func @floats(%a: tensor<8x16xbf16>, %b: tensor<16x32xbf16>) -> tensor<8x32xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x16xbf16>, tensor<16x32xbf16> -> tensor<8x32xf32>
  func.return %c : tensor<8x32xf32>
}

// -----

// Two integers of 16 bits are multiplied and added at once.
// CHECK-LABEL: func.func @bytes
// CHECK:         %a_wide = graph.cast %a {{.*}} : tensor<8x16xui8> -> tensor<8x16xi16>
// CHECK-NEXT:    graph.contract %a_wide, %b
// CHECK-SAME:      : tensor<8x16xi16>, tensor<16x32xi8> -> tensor<8x32xi32>
func.func @bytes(%a: tensor<8x16xui8>, %b: tensor<16x32xi8>) -> tensor<8x32xi32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x16xui8>, tensor<16x32xi8> -> tensor<8x32xi32>
  func.return %c : tensor<8x32xi32>
}

// -----

// Four of them are, where the machine does that: of one with a sign by one without.
// FOUR-LABEL: func.func @quads
// FOUR-NEXT:     graph.contract %a, %b
// FOUR-NEXT:     graph.cast %c {{.*}} : tensor<8x16xi8> -> tensor<8x16xi16>
// CHECK-LABEL: func.func @quads
// CHECK:         %a_wide = graph.cast %a
func.func @quads(%a: tensor<8x16xui8>, %b: tensor<16x32xi8>, %c: tensor<8x16xi8>) -> (tensor<8x32xi32>, tensor<8x32xi32>) {
  %0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x16xui8>, tensor<16x32xi8> -> tensor<8x32xi32>
  %1 = graph.contract %c, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x16xi8>, tensor<16x32xi8> -> tensor<8x32xi32>
  func.return %0, %1 : tensor<8x32xi32>, tensor<8x32xi32>
}

// -----

// A convolution of integers has its tile already; one of floats is left alone.
// CHECK-LABEL: func.func @tiles
// CHECK:         %a_wide = graph.cast %a {{.*}} : tensor<8x16xi8> -> tensor<8x16xi16>
// CHECK-NEXT:    graph.contract %a_wide, %b {{.*}} tile [d1 = 32] : tensor<8x16xi16>
// CHECK-NEXT:    graph.contract %c, %d {{.*}} tile [d1 = 32] : tensor<8x16xbf16>
func.func @tiles(%a: tensor<8x16xi8>, %b: tensor<16x32xi8>, %c: tensor<8x16xbf16>, %d: tensor<16x32xbf16>) -> (tensor<8x32xi32>, tensor<8x32xf32>) {
  %0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d1 = 32] : tensor<8x16xi8>, tensor<16x32xi8> -> tensor<8x32xi32>
  %1 = graph.contract %c, %d maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d1 = 32] : tensor<8x16xbf16>, tensor<16x32xbf16> -> tensor<8x32xf32>
  func.return %0, %1 : tensor<8x32xi32>, tensor<8x32xf32>
}

// -----

// What is narrower than f32 is rounded once, at the end.
// CHECK-LABEL: func.func @narrow_result
// CHECK:         %[[WIDE:.*]] = graph.contract %a_wide, %b
// CHECK-SAME:      : tensor<8x16xf32>, tensor<16x32xf16> -> tensor<8x32xf32>
// CHECK-NEXT:    %c{{.*}} = graph.cast %[[WIDE]] {note} : tensor<8x32xf32> -> tensor<8x32xf16>
func.func @narrow_result(%a: tensor<8x16xf16>, %b: tensor<16x32xf16>) -> tensor<8x32xf16> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] {note} : tensor<8x16xf16>, tensor<16x32xf16> -> tensor<8x32xf16>
  func.return %c : tensor<8x32xf16>
}

// -----

// The columns come from the second operand: that of the last dim of the result.
// CHECK-LABEL: func.func @turned
// CHECK:         %b_wide = graph.cast %b
func.func @turned(%a: tensor<16x32xi8>, %b: tensor<8x16xi8>) -> tensor<8x32xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x32xi8>, tensor<8x16xi8> -> tensor<8x32xf32>
  func.return %c : tensor<8x32xf32>
}

// -----

// Wide rows, few rows, few columns, sums in other types and other combinations stay.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT:     graph.cast
func.func @left_alone(%a: tensor<8x16xf32>, %b: tensor<16x32xbf16>, %c: tensor<3x16xbf16>, %d: tensor<8x16xbf16>, %e: tensor<16x31xbf16>, %f: tensor<8x16xi8>, %g: tensor<16x32xi8>) -> (tensor<8x32xf32>, tensor<3x32xf32>, tensor<8x31xf32>, tensor<8x32xi64>, tensor<8x32xf32>) {
  %0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x16xf32>, tensor<16x32xbf16> -> tensor<8x32xf32>
  %1 = graph.contract %c, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<3x16xbf16>, tensor<16x32xbf16> -> tensor<3x32xf32>
  %2 = graph.contract %d, %e maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x16xbf16>, tensor<16x31xbf16> -> tensor<8x31xf32>
  %3 = graph.contract %f, %g maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x16xi8>, tensor<16x32xi8> -> tensor<8x32xi64>
  %4 = graph.contract %d, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] accumulate max combine add : tensor<8x16xbf16>, tensor<16x32xbf16> -> tensor<8x32xf32>
  func.return %0, %1, %2, %3, %4 : tensor<8x32xf32>, tensor<3x32xf32>, tensor<8x31xf32>, tensor<8x32xi64>, tensor<8x32xf32>
}
