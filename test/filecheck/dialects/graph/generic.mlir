// RUN: tenon-opt --mlir-print-op-generic %s | filecheck %s

// The generic form names every attribute and shows every type.
// CHECK-LABEL: sym_name = "generic"
func.func @generic(%x: tensor<4x8xf32>) {
  // CHECK: "graph.iota"() <{axis = #graph<axis 1>}> : () -> tensor<4x8xi32>
  %iota = graph.iota axis 1 : tensor<4x8xi32>
  // CHECK-NEXT: "graph.permute"(%{{.*}}) <{permutation = #graph<ints [1, 0]>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %permute = graph.permute %x [1, 0] : tensor<4x8xf32>
  // CHECK-NEXT: "graph.reduce"(%{{.*}}) <{kind = #graph<reduce_kind add>, axes = #graph<ints [1]>, keep}> : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %sum = graph.reduce add %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK-NEXT: "graph.add"(%{{.*}}, %{{.*}}) <{fastmath = #arith.fastmath<contract>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %add = graph.add %x, %x fastmath<contract> : tensor<4x8xf32>
  // CHECK-NEXT: "graph.lt"(%{{.*}}, %{{.*}}) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %lt = graph.lt %x, %x : tensor<4x8xf32>
  func.return
}

// A mode and a tile stand for themselves, too.
// CHECK: }) {test.mode = #graph<mode virtual>, test.tile = #graph<tile [d0 = 6, d1 = 16 in panels]>} : () -> ()
builtin.module attributes {test.mode = #graph<mode virtual>, test.tile = #graph<tile [d0 = 6, d1 = 16 in panels]>} {
}
