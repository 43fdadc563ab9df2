// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// Ops without operands.
// CHECK-LABEL: func.func @source
func.func @source() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<1.000000e+00> : tensor<4xf32>
  %constant = graph.constant dense<1.0> : tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.iota axis 1 : tensor<4x8xi32>
  %iota = graph.iota axis 1 : tensor<4x8xi32>
  func.return
}

// One operand; the type is printed once.
// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x8xf32>, %c: tensor<4x8xi1>) {
  // CHECK-NEXT: %{{.*}} = graph.neg %x : tensor<4x8xf32>
  %neg = graph.neg %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.abs %x : tensor<4x8xf32>
  %abs = graph.abs %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.exp %x : tensor<4x8xf32>
  %exp = graph.exp %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.log %x : tensor<4x8xf32>
  %log = graph.log %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.sqrt %x : tensor<4x8xf32>
  %sqrt = graph.sqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.rsqrt %x : tensor<4x8xf32>
  %rsqrt = graph.rsqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.recip %x : tensor<4x8xf32>
  %recip = graph.recip %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.tanh %x : tensor<4x8xf32>
  %tanh = graph.tanh %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.erf %x : tensor<4x8xf32>
  %erf = graph.erf %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.sin %x : tensor<4x8xf32>
  %sin = graph.sin %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.cos %x : tensor<4x8xf32>
  %cos = graph.cos %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.expm1 %x : tensor<4x8xf32>
  %expm1 = graph.expm1 %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.exp2 %x : tensor<4x8xf32>
  %exp2 = graph.exp2 %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.log1p %x : tensor<4x8xf32>
  %log1p = graph.log1p %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.log2 %x : tensor<4x8xf32>
  %log2 = graph.log2 %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.log10 %x : tensor<4x8xf32>
  %log10 = graph.log10 %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.tan %x : tensor<4x8xf32>
  %tan = graph.tan %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.asin %x : tensor<4x8xf32>
  %asin = graph.asin %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.acos %x : tensor<4x8xf32>
  %acos = graph.acos %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.atan %x : tensor<4x8xf32>
  %atan = graph.atan %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.sinh %x : tensor<4x8xf32>
  %sinh = graph.sinh %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.cosh %x : tensor<4x8xf32>
  %cosh = graph.cosh %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.asinh %x : tensor<4x8xf32>
  %asinh = graph.asinh %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.acosh %x : tensor<4x8xf32>
  %acosh = graph.acosh %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.atanh %x : tensor<4x8xf32>
  %atanh = graph.atanh %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.floor %x : tensor<4x8xf32>
  %floor = graph.floor %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.ceil %x : tensor<4x8xf32>
  %ceil = graph.ceil %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.trunc %x : tensor<4x8xf32>
  %trunc = graph.trunc %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.round %x : tensor<4x8xf32>
  %round = graph.round %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.sign %x : tensor<4x8xf32>
  %sign = graph.sign %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.relu %x : tensor<4x8xf32>
  %relu = graph.relu %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.not %c : tensor<4x8xi1>
  %not = graph.not %c : tensor<4x8xi1>
  func.return
}

// Two operands of one type.
// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %i: tensor<4x8xi32>, %j: tensor<4x8xi32>) {
  // CHECK-NEXT: %{{.*}} = graph.add %x, %y : tensor<4x8xf32>
  %add = graph.add %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.sub %x, %y : tensor<4x8xf32>
  %sub = graph.sub %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.mul %x, %y : tensor<4x8xf32>
  %mul = graph.mul %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.div %x, %y : tensor<4x8xf32>
  %div = graph.div %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.mod %x, %y : tensor<4x8xf32>
  %mod = graph.mod %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.floordiv %x, %y : tensor<4x8xf32>
  %floordiv = graph.floordiv %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.truncdiv %i, %j : tensor<4x8xi32>
  %truncdiv = graph.truncdiv %i, %j : tensor<4x8xi32>
  // CHECK-NEXT: %{{.*}} = graph.rem %x, %y : tensor<4x8xf32>
  %rem = graph.rem %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pow %x, %y : tensor<4x8xf32>
  %pow = graph.pow %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.atan2 %x, %y : tensor<4x8xf32>
  %atan2 = graph.atan2 %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.hypot %x, %y : tensor<4x8xf32>
  %hypot = graph.hypot %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.logaddexp %x, %y : tensor<4x8xf32>
  %logaddexp = graph.logaddexp %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.copysign %x, %y : tensor<4x8xf32>
  %copysign = graph.copysign %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.nextafter %x, %y : tensor<4x8xf32>
  %nextafter = graph.nextafter %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.max %x, %y : tensor<4x8xf32>
  %max = graph.max %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.min %x, %y : tensor<4x8xf32>
  %min = graph.min %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.and %i, %j : tensor<4x8xi32>
  %and = graph.and %i, %j : tensor<4x8xi32>
  // CHECK-NEXT: %{{.*}} = graph.or %i, %j : tensor<4x8xi32>
  %or = graph.or %i, %j : tensor<4x8xi32>
  // CHECK-NEXT: %{{.*}} = graph.xor %i, %j : tensor<4x8xi32>
  %xor = graph.xor %i, %j : tensor<4x8xi32>
  // CHECK-NEXT: %{{.*}} = graph.shl %i, %j : tensor<4x8xi32>
  %shl = graph.shl %i, %j : tensor<4x8xi32>
  // CHECK-NEXT: %{{.*}} = graph.shr %i, %j : tensor<4x8xi32>
  %shr = graph.shr %i, %j : tensor<4x8xi32>
  func.return
}

// The result of a comparison or of a test is inferred: one i1 for each element.
// CHECK-LABEL: func.func @compare
func.func @compare(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.eq %x, %y : tensor<4x8xf32>
  %eq = graph.eq %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.ne %x, %y : tensor<4x8xf32>
  %ne = graph.ne %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.lt %x, %y : tensor<4x8xf32>
  %lt = graph.lt %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.le %x, %y : tensor<4x8xf32>
  %le = graph.le %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.gt %x, %y : tensor<4x8xf32>
  %gt = graph.gt %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.ge %x, %y : tensor<4x8xf32>
  %ge = graph.ge %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.isnan %x : tensor<4x8xf32>
  %isnan = graph.isnan %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.isinf %x : tensor<4x8xf32>
  %isinf = graph.isinf %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.isfinite %x : tensor<4x8xf32>
  %isfinite = graph.isfinite %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.signbit %x : tensor<4x8xf32>
  %signbit = graph.signbit %x : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.and %{{.*}}, %{{.*}} : tensor<4x8xi1>
  %both = graph.and %eq, %ne : tensor<4x8xi1>
  func.return
}

// Three operands; the type of the condition is inferred.
// CHECK-LABEL: func.func @ternary
func.func @ternary(%c: tensor<4x8xi1>, %x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<4x8xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.select %c, %x, %y : tensor<4x8xf32>
  %select = graph.select %c, %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.fma %x, %y, %z : tensor<4x8xf32>
  %fma = graph.fma %x, %y, %z : tensor<4x8xf32>
  func.return
}

// The same bits as another element type.
// CHECK-LABEL: func.func @bitcast
func.func @bitcast(%x: tensor<4x?xf32>, %y: tensor<4x8xf8E4M3FN>) {
  // CHECK-NEXT: %{{.*}} = graph.bitcast %x : tensor<4x?xf32> -> tensor<4x?xui32>
  %bits = graph.bitcast %x : tensor<4x?xf32> -> tensor<4x?xui32>
  // CHECK-NEXT: %{{.*}} = graph.bitcast %y : tensor<4x8xf8E4M3FN> -> tensor<4x8xi8>
  %byte = graph.bitcast %y : tensor<4x8xf8E4M3FN> -> tensor<4x8xi8>
  func.return
}

// Every element type.
// CHECK-LABEL: func.func @element_types
func.func @element_types(%x: tensor<4xf8E5M2>) {
  // CHECK-NEXT: %{{.*}} = graph.cast %x : tensor<4xf8E5M2> -> tensor<4xf8E4M3FN>
  %0 = graph.cast %x : tensor<4xf8E5M2> -> tensor<4xf8E4M3FN>
  // CHECK-NEXT: %{{.*}} = graph.cast %{{.*}} : tensor<4xf8E4M3FN> -> tensor<4xf8E4M3>
  %1 = graph.cast %0 : tensor<4xf8E4M3FN> -> tensor<4xf8E4M3>
  // CHECK-NEXT: %{{.*}} = graph.cast %{{.*}} : tensor<4xf8E4M3> -> tensor<4xui64>
  %2 = graph.cast %1 : tensor<4xf8E4M3> -> tensor<4xui64>
  // CHECK-NEXT: %{{.*}} = graph.cast %{{.*}} : tensor<4xui64> -> tensor<4xui32>
  %3 = graph.cast %2 : tensor<4xui64> -> tensor<4xui32>
  // CHECK-NEXT: %{{.*}} = graph.cast %{{.*}} : tensor<4xui32> -> tensor<4xui16>
  %4 = graph.cast %3 : tensor<4xui32> -> tensor<4xui16>
  // CHECK-NEXT: %{{.*}} = graph.shr %{{.*}}, %{{.*}} : tensor<4xui16>
  %5 = graph.shr %4, %4 : tensor<4xui16>
  func.return
}

// To another element type.
// CHECK-LABEL: func.func @cast
func.func @cast(%x: tensor<4x8xf32>, %c: tensor<4x8xi1>) {
  // CHECK-NEXT: %{{.*}} = graph.cast %x : tensor<4x8xf32> -> tensor<4x8xi8>
  %cast = graph.cast %x : tensor<4x8xf32> -> tensor<4x8xi8>
  // CHECK-NEXT: %{{.*}} = graph.cast %c : tensor<4x8xi1> -> tensor<4x8xbf16>
  %bool = graph.cast %c : tensor<4x8xi1> -> tensor<4x8xbf16>
  func.return
}

// Float ops may carry fastmath flags.
// CHECK-LABEL: func.func @fastmath
func.func @fastmath(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8x2xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.exp %x fastmath<fast> : tensor<4x8xf32>
  %exp = graph.exp %x fastmath<fast> : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.add %x, %y fastmath<nnan,contract> : tensor<4x8xf32>
  %add = graph.add %x, %y fastmath<nnan,contract> : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.fma %x, %x, %y fastmath<none> : tensor<4x8xf32>
  %fma = graph.fma %x, %x, %y fastmath<none> : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce add %x axes [1] keep fastmath<reassoc> : tensor<4x8xf32> -> tensor<4x1xf32>
  %sum = graph.reduce add %x axes [1] keep fastmath<reassoc> : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK-NEXT: %{{.*}} = graph.contract %x, %w maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] fastmath<contract> : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %product = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] fastmath<contract> : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// Elements at other indices; result types that follow from the attributes are inferred.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x8xf32>, %v: tensor<f32>, %z: tensor<2x8xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  %reshape = graph.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK-NEXT: %{{.*}} = graph.permute %x [1, 0] : tensor<4x8xf32>
  %permute = graph.permute %x [1, 0] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.permute %{{.*}} [1, 0] : tensor<8x4xf32>
  %again = graph.permute %permute [1, 0] : tensor<8x4xf32>
  // CHECK-NEXT: %{{.*}} = graph.broadcast %x : tensor<4x8xf32> -> tensor<2x4x8xf32>
  %broadcast = graph.broadcast %x : tensor<4x8xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad %x, %v low [0, 1] high [0, 2] : tensor<4x8xf32>
  %pad = graph.pad %x, %v low [0, 1] high [0, 2] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.neg %{{.*}} : tensor<4x11xf32>
  %padded = graph.neg %pad : tensor<4x11xf32>
  // CHECK-NEXT: %{{.*}} = graph.slice %x offsets [0, 1] sizes [4, 3] strides [1, 2] : tensor<4x8xf32>
  %slice = graph.slice %x offsets [0, 1] sizes [4, 3] strides [1, 2] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.neg %{{.*}} : tensor<4x3xf32>
  %sliced = graph.neg %slice : tensor<4x3xf32>
  // CHECK-NEXT: %{{.*}} = graph.flip %x axes [0, 1] : tensor<4x8xf32>
  %flip = graph.flip %x axes [0, 1] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.concat %x, %z axis 0 : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<6x8xf32>
  %concat = graph.concat %x, %z axis 0 : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<6x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.concat %x axis 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  %one = graph.concat %x axis 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}

// Reduced dims go, or stay under `keep`.
// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<4x8xf32>, %c: tensor<4x8xi1>) {
  // CHECK-NEXT: %{{.*}} = graph.reduce add %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %add = graph.reduce add %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce mul %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %mul = graph.reduce mul %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce max %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %max = graph.reduce max %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce min %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %min = graph.reduce min %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce and %c axes [0, 1] : tensor<4x8xi1> -> tensor<i1>
  %and = graph.reduce and %c axes [0, 1] : tensor<4x8xi1> -> tensor<i1>
  // CHECK-NEXT: %{{.*}} = graph.reduce or %c axes [0, 1] : tensor<4x8xi1> -> tensor<i1>
  %or = graph.reduce or %c axes [0, 1] : tensor<4x8xi1> -> tensor<i1>
  // CHECK-NEXT: %{{.*}} = graph.reduce add %x axes [0] keep : tensor<4x8xf32> -> tensor<1x8xf32>
  %keep = graph.reduce add %x axes [0] keep : tensor<4x8xf32> -> tensor<1x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce add %x axes [] : tensor<4x8xf32> -> tensor<4x8xf32>
  %none = graph.reduce add %x axes [] : tensor<4x8xf32> -> tensor<4x8xf32>
  func.return
}

// Padding between the elements, and with elements of the source.
// CHECK-LABEL: func.func @pads
func.func @pads(%x: tensor<4x8xf32>, %v: tensor<f32>, %s: tensor<f32>) {
  // CHECK-NEXT: %{{.*}} = graph.pad %x, %v low [0, 1] high [0, 2] interior [1, 2] : tensor<4x8xf32>
  %a = graph.pad %x, %v low [0, 1] high [0, 2] interior [1, 2] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad %x, %v low [0, 1] high [0, 2] : tensor<4x8xf32>
  %b = graph.pad %x, %v low [0, 1] high [0, 2] interior [0, 0] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad %x, %v low [0, 0] high [0, 0] {a = 1 : i32} : tensor<4x8xf32>
  %c = graph.pad %x, %v low [0, 0] high [0, 0] {a = 1 : i32} : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad_with edge %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  %d = graph.pad_with edge %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad_with reflect %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  %e = graph.pad_with reflect %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad_with symmetric %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  %f = graph.pad_with symmetric %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad_with wrap %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  %g = graph.pad_with wrap %x low [1, 0] high [0, 20] : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad_with wrap %s low [] high [] : tensor<f32>
  %h = graph.pad_with wrap %s low [] high [] : tensor<f32>
  func.return
}

// What decompose-composites writes out.
// CHECK-LABEL: func.func @composites
func.func @composites(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.arg_reduce max %x axis 1 : tensor<4x8xf32> -> tensor<4xi64>
  %i = graph.arg_reduce max %x axis 1 : tensor<4x8xf32> -> tensor<4xi64>
  // CHECK-NEXT: %{{.*}} = graph.arg_reduce min %x axis 0 keep : tensor<4x8xf32> -> tensor<1x8xi64>
  %j = graph.arg_reduce min %x axis 0 keep : tensor<4x8xf32> -> tensor<1x8xi64>
  // CHECK-NEXT: %{{.*}} = graph.logsumexp %x axes [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %y = graph.logsumexp %x axes [0, 1] : tensor<4x8xf32> -> tensor<f32>
  // CHECK-NEXT: %{{.*}} = graph.logsumexp %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  %z = graph.logsumexp %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  func.return
}

// Batched matmul, a dot product, an outer product, and a result of a wider type.
// CHECK-LABEL: func.func @contract
func.func @contract(%a: tensor<3x4x8xf16>, %b: tensor<3x8x2xf16>, %u: tensor<8xi8>, %v: tensor<8xi8>, %w: tensor<3xi8>) {
  // CHECK-NEXT: %{{.*}} = graph.contract %a, %b maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : tensor<3x4x8xf16>, tensor<3x8x2xf16> -> tensor<3x4x2xf32>
  %batched = graph.contract %a, %b maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] : tensor<3x4x8xf16>, tensor<3x8x2xf16> -> tensor<3x4x2xf32>
  // CHECK-NEXT: %{{.*}} = graph.contract %a, %b maps [{{.*}}] tile [d1 = 4, d2 = 2 in panels] fastmath<contract> : tensor<3x4x8xf16>, tensor<3x8x2xf16> -> tensor<3x4x2xf32>
  %tiled = graph.contract %a, %b maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] tile [d1 = 4, d2 = 2 in panels] fastmath<contract> : tensor<3x4x8xf16>, tensor<3x8x2xf16> -> tensor<3x4x2xf32>
  // CHECK-NEXT: %{{.*}} = graph.contract %a, %b maps [{{.*}}] tile [d2 = 1] : tensor<3x4x8xf16>, tensor<3x8x2xf16> -> tensor<3x4x2xf32>
  %columns = graph.contract %a, %b maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] tile [d2 = 1] : tensor<3x4x8xf16>, tensor<3x8x2xf16> -> tensor<3x4x2xf32>
  // CHECK-NEXT: %{{.*}} = graph.contract %u, %v maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] : tensor<8xi8>, tensor<8xi8> -> tensor<i32>
  %dot = graph.contract %u, %v maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] : tensor<8xi8>, tensor<8xi8> -> tensor<i32>
  // CHECK-NEXT: %{{.*}} = graph.contract %u, %v maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] : tensor<8xi8>, tensor<8xi8> -> tensor<8x8xi8>
  %outer = graph.contract %u, %v maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>] : tensor<8xi8>, tensor<8xi8> -> tensor<8x8xi8>
  // CHECK-NEXT: %{{.*}} = graph.contract %u maps [affine_map<(d0, d1) -> (((d0 * 2) + d1))>, affine_map<(d0, d1) -> (d0)>] bounds [3, 3] accumulate max : tensor<8xi8> -> tensor<3xi8>
  %pooled = graph.contract %u maps [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (i)>] bounds [3, 3] accumulate max : tensor<8xi8> -> tensor<3xi8>
  // CHECK-NEXT: %{{.*}} = graph.contract %u, %w maps [affine_map<(d0, d1) -> (((d0 + (d1 * -2)) + 4))>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>] accumulate min combine add : tensor<8xi8>, tensor<3xi8> -> tensor<4xi8>
  %tropical = graph.contract %u, %w maps [affine_map<(i, k) -> (i - k * 2 + 4)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>] accumulate min combine add : tensor<8xi8>, tensor<3xi8> -> tensor<4xi8>
  // CHECK-NEXT: %{{.*}} = graph.contract %u, %v maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] : tensor<8xi8>, tensor<8xi8> -> tensor<i32>
  %explicit = graph.contract %u, %v maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] accumulate add combine mul : tensor<8xi8>, tensor<8xi8> -> tensor<i32>
  func.return
}

// Scalars, zero-size tensors and extents of 1.
// CHECK-LABEL: func.func @edges
func.func @edges(%s: tensor<f32>, %e: tensor<0x8xf32>, %v: tensor<f32>) {
  // CHECK-NEXT: %{{.*}} = graph.neg %s : tensor<f32>
  %scalar = graph.neg %s : tensor<f32>
  // CHECK-NEXT: %{{.*}} = graph.permute %s [] : tensor<f32>
  %same = graph.permute %s [] : tensor<f32>
  // CHECK-NEXT: %{{.*}} = graph.broadcast %s : tensor<f32> -> tensor<1x0xf32>
  %full = graph.broadcast %s : tensor<f32> -> tensor<1x0xf32>
  // CHECK-NEXT: %{{.*}} = graph.reshape %e : tensor<0x8xf32> -> tensor<3x0xf32>
  %flat = graph.reshape %e : tensor<0x8xf32> -> tensor<3x0xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce add %e axes [0] : tensor<0x8xf32> -> tensor<8xf32>
  %zero = graph.reduce add %e axes [0] : tensor<0x8xf32> -> tensor<8xf32>
  // CHECK-NEXT: %{{.*}} = graph.slice %e offsets [0, 8] sizes [0, 0] strides [1, 1] : tensor<0x8xf32>
  %slice = graph.slice %e offsets [0, 8] sizes [0, 0] strides [1, 1] : tensor<0x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad %e, %v low [1, 0] high [0, 0] : tensor<0x8xf32>
  %pad = graph.pad %e, %v low [1, 0] high [0, 0] : tensor<0x8xf32>
  func.return
}

// Where a value lives, and why, is an attribute of any op.
// CHECK-LABEL: func.func @memory_mode
func.func @memory_mode(%x: tensor<4xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.exp %x {memory_mode = #graph.memory_mode<virtual, "read once">} : tensor<4xf32>
  %y = graph.exp %x {memory_mode = #graph.memory_mode<virtual, "read once">} : tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.exp %x {memory_mode = #graph.memory_mode<local, "\22quoted\22">} : tensor<4xf32>
  %z = graph.exp %x {memory_mode = #graph.memory_mode<local, "\22quoted\22">} : tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.constant {memory_mode = #graph.memory_mode<materialized, "caf\C3\A9">} dense<true> : tensor<4xi1>
  %w = graph.constant {memory_mode = #graph.memory_mode<materialized, "café">} dense<true> : tensor<4xi1>
  func.return
}
