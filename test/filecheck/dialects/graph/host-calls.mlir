// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

graph.dim @n min 1 max 8
// CHECK-LABEL: func.func @calls
func.func @calls(%x: tensor<4xf32>, %i: tensor<i32>, %d: tensor<?xi1, #graph.dims<n>>) {
  // CHECK-NEXT: %{{.*}}, %{{.*}} = graph.callback @f(%x, %i) : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i1>)
  %y, %c = graph.callback @f(%x, %i) : (tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i1>)
  // CHECK-NEXT: %{{.*}} = graph.callback @"a name"() {note = 1 : i32} : () -> tensor<4xf32>
  %z = graph.callback @"a name"() {note = 1 : i32} : () -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = graph.callback @f(%d) : (tensor<?xi1, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<2 * n>>
  %w = graph.callback @f(%d) : (tensor<?xi1, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<2 * n>>
  // CHECK-NEXT: graph.callback @f(%i) : (tensor<i32>) -> ()
  graph.callback @f(%i) : (tensor<i32>) -> ()
  // CHECK-NEXT: graph.print "{1:>{0}} {0!r}\0A\22{{.*}}\22"(%x, %i) : tensor<4xf32>, tensor<i32> {note}
  graph.print "{1:>{0}} {0!r}\n\"{{}}\""(%x, %i) : tensor<4xf32>, tensor<i32> {note}
  // CHECK-NEXT: graph.print ""
  graph.print ""
  func.return
}
