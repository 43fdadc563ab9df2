// RUN: tenon-run %s --print all | filecheck %s
// RUN: tenon-run %s --backend opencl --symbol i=1 --random-seed 7 --compare --print none | filecheck %s --check-prefix COMPARE
// RUN: not tenon-run %s --symbol k=1 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not tenon-run %s --symbol i=3 2>&1 | filecheck %s --check-prefix OUTSIDE
// RUN: not tenon-run %s --symbol i=one 2>&1 | filecheck %s --check-prefix NUMBER

// Nodes that the run changed are printed after the results; initial values are used, the rest is random.
// CHECK:      result0: int32[2], 0 to 2
// CHECK-NEXT: [0 2]
// CHECK-NEXT: @count: int32[], 8 to 8
// CHECK-NEXT: 8
// CHECK-NEXT: @rows: int32[2, 2]

// COMPARE:      result0: opencl and reference: same bits
// COMPARE-NEXT: @count: opencl and reference: same bits
// COMPARE-NEXT: @rows: opencl and reference: same bits

// UNKNOWN: tenon-run: error: step: there is no symbol 'k' (symbols: i)
// OUTSIDE: tenon-run: error: step: symbol 'i' is 3, expected 0 to 1
// NUMBER: argument --symbol: expected NAME=VALUE with an integer, found 'i=one'

graph.tnode @count : tensor<i32> = dense<7>
graph.tnode @fixed : tensor<2xi32> mode hosted(constant) = dense<[0, 2]>
graph.tnode @rows : tensor<2x2xi32>
func.func @step(%i: index) -> tensor<2xi32> {
  %one = graph.constant dense<1> : tensor<i32>
  graph.write add @count, %one : tensor<i32>
  %fixed = graph.read @fixed : tensor<2xi32>
  graph.write add @rows[%i], %fixed : tensor<2xi32>
  func.return %fixed : tensor<2xi32>
}
