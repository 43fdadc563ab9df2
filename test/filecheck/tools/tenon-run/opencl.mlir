// REQUIRES: opencl
// RUN: tenon-run %s --backend opencl --compare --print summary --dump-dir %t | filecheck %s
// RUN: filecheck %s --input-file %t/kernels.cl --check-prefix SOURCE

// CHECK:      result0: float32[16, 8],
// CHECK-NEXT: result0: opencl and reference: same bits
// SOURCE:     __kernel
func.func @squares(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %y = graph.mul %x, %x : tensor<16x8xf32>
  func.return %y : tensor<16x8xf32>
}
