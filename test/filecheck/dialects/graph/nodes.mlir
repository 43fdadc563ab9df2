// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// Declarations: with and without a mode, an initial value, attributes.
// CHECK: graph.tnode @plain : tensor<4xf32>
graph.tnode @plain : tensor<4xf32>
// CHECK-NEXT: graph.tnode @rows : tensor<100x4xf32> mode hosted
graph.tnode @rows : tensor<100x4xf32> mode hosted
// CHECK-NEXT: graph.tnode @table : tensor<3x100x4xf32> mode hosted(changed_on_devices(per_stream))
graph.tnode @table : tensor<3x100x4xf32> mode hosted(changed_on_devices(per_stream))
// CHECK-NEXT: graph.tnode @bias : tensor<2xi32> mode on_device(shared_cross_streams) = dense<[1, 2]>
graph.tnode @bias : tensor<2xi32> mode on_device(shared_cross_streams) = dense<[1, 2]>
// CHECK-NEXT: graph.tnode @flag : tensor<i1> = dense<true> {note = "set"}
graph.tnode @flag : tensor<i1> = dense<true> {note = "set"}
// CHECK-NEXT: graph.tnode @temporary : tensor<4xf32> mode local
graph.tnode @temporary : tensor<4xf32> mode local
// CHECK-NEXT: graph.tnode @computed : tensor<4xf32> mode virtual
graph.tnode @computed : tensor<4xf32> mode virtual
// CHECK-NEXT: graph.tnode @"odd name" : tensor<0xbf16> mode never_virtual
graph.tnode @"odd name" : tensor<0xbf16> mode never_virtual
// CHECK-NEXT: graph.tnode @fixed : tensor<4xf32> mode hosted(constant) = dense<0.000000e+00>
graph.tnode @fixed : tensor<4xf32> mode hosted(constant) = dense<0.0>

// CHECK-LABEL: func.func @accesses(%i: index, %j: index) {
func.func @accesses(%i: index, %j: index) {
  // CHECK-NEXT: %x = graph.read @plain : tensor<4xf32>
  %x = graph.read @plain : tensor<4xf32>
  // CHECK-NEXT: %row = graph.read @rows[%i] : tensor<4xf32>
  %row = graph.read @rows[%i] : tensor<4xf32>
  // CHECK-NEXT: %cell = graph.read @table[%j, %i] : tensor<4xf32>
  %cell = graph.read @table[%j, %i] : tensor<4xf32>
  // CHECK-NEXT: %element = graph.read @table[%j, %i, %j] : tensor<f32>
  %element = graph.read @table[%j, %i, %j] : tensor<f32>
  // CHECK-NEXT: %merged = graph.merge @plain : tensor<4xf32>
  %merged = graph.merge @plain : tensor<4xf32>
  // CHECK-NEXT: graph.write @temporary, %x : tensor<4xf32>
  graph.write @temporary, %x : tensor<4xf32>
  // CHECK-NEXT: %y = graph.read @temporary : tensor<4xf32>
  %y = graph.read @temporary : tensor<4xf32>
  // CHECK-NEXT: graph.write add @plain, %merged : tensor<4xf32>
  graph.write add @plain, %merged : tensor<4xf32>
  // CHECK-NEXT: graph.write @rows[%j], %y {note = "part"} : tensor<4xf32>
  graph.write @rows[%j], %y {note = "part"} : tensor<4xf32>
  // CHECK-NEXT: graph.write add @table[%i, %i, %i], %element : tensor<f32>
  graph.write add @table[%i, %i, %i], %element : tensor<f32>
  // CHECK-NEXT: graph.write @computed, %row : tensor<4xf32>
  graph.write @computed, %row : tensor<4xf32>
  func.return
}

// A mode as an attribute of its own.
// CHECK: func.func private @noted() -> () attributes {mode = #graph.node_mode<hosted(volatile)>}
func.func private @noted() attributes {mode = #graph.node_mode<hosted(volatile)>}
