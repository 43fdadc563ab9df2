// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// Infinities, NaN, and a zero that keeps its sign, in f64.
// CHECK-LABEL: func.func @f64_special
func.func @f64_special() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, -0.000000e+00]> : tensor<4xf64>
  %c0 = graph.constant dense<[0x7FF0000000000000, 0xFFF0000000000000, 0x7ff8000000000000, -0.0]> : tensor<4xf64>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf64>
  %c1 = graph.constant dense<[0.0, -0.0]> : tensor<2xf64>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<0xfff0000000000000> : tensor<1000000xf64>
  %c2 = graph.constant dense<0xFFF0000000000000> : tensor<1000000xf64>
  func.return
}

// Infinities, NaN, and a zero that keeps its sign, in f32.
// CHECK-LABEL: func.func @f32_special
func.func @f32_special() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0x7f800000, 0xff800000, 0x7fc00000, -0.000000e+00]> : tensor<4xf32>
  %c0 = graph.constant dense<[0x7F800000, 0xFF800000, 0x7fc00000, -0.0]> : tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf32>
  %c1 = graph.constant dense<[0.0, -0.0]> : tensor<2xf32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<0xff800000> : tensor<1000000xf32>
  %c2 = graph.constant dense<0xFF800000> : tensor<1000000xf32>
  func.return
}

// Infinities, NaN, and a zero that keeps its sign, in f16.
// CHECK-LABEL: func.func @f16_special
func.func @f16_special() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0x7c00, 0xfc00, 0x7e00, -0.000000e+00]> : tensor<4xf16>
  %c0 = graph.constant dense<[0x7C00, 0xFC00, 0x7e00, -0.0]> : tensor<4xf16>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf16>
  %c1 = graph.constant dense<[0.0, -0.0]> : tensor<2xf16>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<0xfc00> : tensor<1000000xf16>
  %c2 = graph.constant dense<0xFC00> : tensor<1000000xf16>
  func.return
}

// Infinities, NaN, and a zero that keeps its sign, in bf16.
// CHECK-LABEL: func.func @bf16_special
func.func @bf16_special() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0x7f80, 0xff80, 0x7fc0, -0.000000e+00]> : tensor<4xbf16>
  %c0 = graph.constant dense<[0x7F80, 0xFF80, 0x7fc0, -0.0]> : tensor<4xbf16>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0.000000e+00, -0.000000e+00]> : tensor<2xbf16>
  %c1 = graph.constant dense<[0.0, -0.0]> : tensor<2xbf16>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<0xff80> : tensor<1000000xbf16>
  %c2 = graph.constant dense<0xFF80> : tensor<1000000xbf16>
  func.return
}

// Infinities, NaN, and a zero that keeps its sign, in the floats of 8 bits; a NaN that is not the usual one is bytes.
// CHECK-LABEL: func.func @f8_special
func.func @f8_special() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0x7c, 0xfc, 0x7e, -0.000000e+00]> : tensor<4xf8E5M2>
  %c0 = graph.constant dense<[0x7C, 0xFC, 0x7e, -0.0]> : tensor<4xf8E5M2>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[4.480000e+02, -4.480000e+02, 0x7f, -0.000000e+00]> : tensor<4xf8E4M3FN>
  %c1 = graph.constant dense<[0x7E, -448.0, 0x7f, -0.0]> : tensor<4xf8E4M3FN>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0x78, 0xf8, 0x7c, 1.953120e-03]> : tensor<4xf8E4M3>
  %c2 = graph.constant dense<[0x78, 0xF8, 0x7c, 0.001953125]> : tensor<4xf8E4M3>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<"0x7FFF"> : tensor<2xf8E4M3FN>
  %c3 = graph.constant dense<[0x7F, 0xFF]> : tensor<2xf8E4M3FN>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<"0xFF"> : tensor<1000000xf8E5M2>
  %c4 = graph.constant dense<0xFF> : tensor<1000000xf8E5M2>
  func.return
}

// The limits of unsigned integers.
// CHECK-LABEL: func.func @unsigned
func.func @unsigned() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[18446744073709551615, 0]> : tensor<2xui64>
  %c0 = graph.constant dense<[18446744073709551615, 0]> : tensor<2xui64>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[4294967295, 0]> : tensor<2xui32>
  %c1 = graph.constant dense<[4294967295, 0]> : tensor<2xui32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<65535> : tensor<2xui16>
  %c2 = graph.constant dense<65535> : tensor<2xui16>
  func.return
}

// The largest, the least and the least subnormal floats.
// CHECK-LABEL: func.func @floats
func.func @floats() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0x4B800000, 3.40282347e+38, 1.401300e-45, 1.000000e-01]> : tensor<4xf32>
  %c0 = graph.constant dense<[16777216.0, 3.40282347E+38, 1.40129846E-45, 0.1]> : tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[1.7976931348623157e+308, 4.940660e-324, 1.000000e-01]> : tensor<3xf64>
  %c1 = graph.constant dense<[1.7976931348623157E+308, 4.9406564584124654E-324, 0.1]> : tensor<3xf64>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[6.550400e+04, 5.960460e-08, 9.997560e-02]> : tensor<3xf16>
  %c2 = graph.constant dense<[65504.0, 5.960464477539063e-08, 0.1]> : tensor<3xf16>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[3.389530e+38, 1.000980e-01]> : tensor<2xbf16>
  %c3 = graph.constant dense<[3.3895313892515355e+38, 0.1]> : tensor<2xbf16>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %c4 = graph.constant dense<[0x3f800000, 2.0]> : tensor<2xf32>
  func.return
}

// The ends of the ranges.
// CHECK-LABEL: func.func @integers
func.func @integers() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
  %c0 = graph.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[-2147483648, 2147483647]> : tensor<2xi32>
  %c1 = graph.constant dense<[-2147483648, 2147483647]> : tensor<2xi32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[-32768, 32767]> : tensor<2xi16>
  %c2 = graph.constant dense<[-32768, 32767]> : tensor<2xi16>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[-128, 127]> : tensor<2xi8>
  %c3 = graph.constant dense<[-128, 127]> : tensor<2xi8>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[0, 255]> : tensor<2xui8>
  %c4 = graph.constant dense<[0, 255]> : tensor<2xui8>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[true, false]> : tensor<2xi1>
  %c5 = graph.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<true> : tensor<3xi1>
  %c6 = graph.constant dense<true> : tensor<3xi1>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<-1> : tensor<2xi8>
  %c7 = graph.constant dense<255> : tensor<2xi8>
  func.return
}

// Rank 0, no elements, rank 2, and a splat of a large tensor.
// CHECK-LABEL: func.func @shapes
func.func @shapes() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<7> : tensor<i32>
  %c0 = graph.constant dense<7> : tensor<i32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<> : tensor<0x4xi32>
  %c1 = graph.constant dense<> : tensor<0x4xi32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<> : tensor<3x0xi32>
  %c2 = graph.constant dense<[]> : tensor<3x0xi32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %c3 = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<3> : tensor<1024x1024xi32>
  %c4 = graph.constant dense<3> : tensor<1024x1024xi32>
  func.return
}

// More than 100 elements are one string of hex digits, booleans excepted.
// CHECK-LABEL: func.func @long
func.func @long() {
  // CHECK-NEXT: %{{.*}} = graph.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F6061626364"> : tensor<101xi8>
  %c0 = graph.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F6061626364"> : tensor<101xi8>
  // CHECK-NEXT: %{{.*}} = graph.constant dense<[false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true]> : tensor<102xi1>
  %c1 = graph.constant dense<[false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true]> : tensor<102xi1>
  func.return
}
