// RUN: tenon-opt -p 'infer-memory-modes{figures=true}' %s | filecheck %s --check-prefixes CHECK,AVX2
// RUN: tenon-opt -p 'infer-memory-modes{figures=true vector-nbytes=16}' %s | filecheck %s --check-prefixes CHECK,SSE

// Both times are told where there was a choice.
// CHECK-LABEL: func.func @chain
// AVX2:          graph.neg {{.*}}<virtual, "computed where it is read; about 305 ns together, 507 ns apart", "inline">
// SSE:           graph.neg {{.*}}<virtual, "computed where it is read; about 510 ns together, 814 ns apart", "inline">
// CHECK-NEXT:    graph.abs {{.*}}<materialized, "returned by the function", "needed">
func.func @chain(%x : tensor<2048xf32>) -> tensor<2048xf32> {
  %v = graph.neg %x : tensor<2048xf32>
  %y = graph.abs %v : tensor<2048xf32>
  func.return %y : tensor<2048xf32>
}
