// RUN: tenon-opt --mlir-print-op-generic %s | filecheck %s

// The generic form names every attribute and shows every type.
// CHECK:       "sched.kernel"() <{sym_name = "k"}> ({
// CHECK-NEXT:  ^bb0(%x: memref<8xf32>, %y: memref<8xf32>):
// CHECK-NEXT:    "sched.axis"() <{extent = 1 : i64, mapping = #sched.mapping<block(2)>}> ({
// CHECK-NEXT:    ^bb0(%i: index):
// CHECK-NEXT:      %a = "sched.alloc"() <{scope = #sched<scope local>}> : () -> memref<8xf32>
// CHECK-NEXT:      %s = "sched.reduce"() <{kind = #sched<combine addf>, extent = 8 : i64, mapping = #sched.mapping<serial>, operandSegmentSizes = array<i32: 0, 0>, fastmath = #arith.fastmath<contract>}> ({
// CHECK-NEXT:      ^bb0(%j: index):
// CHECK-NEXT:        %v = "memref.load"(%x, %j) : (memref<8xf32>, index) -> f32
// CHECK-NEXT:        "sched.yield"(%v) : (f32) -> ()
// CHECK-NEXT:      }) : () -> f32
sched.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 1 block(2) {
    %a = sched.alloc local : memref<8xf32>
    %s = sched.reduce addf %j = 8 fastmath<contract> : f32 {
      %v = memref.load %x[%j] : memref<8xf32>
      sched.yield %v : f32
    }
  }
}

// CHECK:       "sched.program"() <{sym_name = "p", function_type = (tensor<8xf32>) -> tensor<8xf32>}> ({
// CHECK-NEXT:  ^bb{{[0-9]+}}(%{{.*}}: memref<8xf32>):
// CHECK-NEXT:    %{{.*}} = "sched.buffer"() <{scope = #sched<scope global>, role = #sched<role result>, lifetime = #sched.lifetime<0, 1>, slab = #sched.slab<1, 64>}> : () -> memref<8xf32>
// CHECK-NEXT:    %{{.*}} = "sched.constant"() <{value = dense<0.000000e+00> : tensor<8xf32>}> : () -> memref<8xf32>
// CHECK-NEXT:    %t = "sched.launch"(%{{.*}}, %{{.*}}) <{kernel = @k, operandSegmentSizes = array<i32: 2, 0>}> : (memref<8xf32>, memref<8xf32>) -> !sched.token
// CHECK-NEXT:    %t_1 = "sched.transfer"(%{{.*}}, %{{.*}}, %t) : (memref<8xf32>, memref<8xf32>, !sched.token) -> !sched.token
// CHECK-NEXT:    %t_2 = "sched.sync"(%t, %t_1) : (!sched.token, !sched.token) -> !sched.token
// CHECK-NEXT:    "sched.return"(%{{.*}}, %t_2) <{operandSegmentSizes = array<i32: 1, 1>}> : (memref<8xf32>, !sched.token) -> ()
sched.program @p(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
  %y = sched.buffer global result lifetime <0, 1> slab <1, 64> : memref<8xf32>
  %c = sched.constant dense<0.0> : tensor<8xf32> : memref<8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8xf32>, memref<8xf32>
  %t_1 = sched.transfer %c to %y after(%t) : memref<8xf32>
  %t_2 = sched.sync after(%t, %t_1)
  sched.return %y after(%t_2) : memref<8xf32>
}

// The kinds of attribute stand for themselves, too.
// CHECK: }) {test.axis = #sched.mapping<thread(4) vector(8) unroll(2)>, test.combine = #sched<combine maxui>, test.level = #sched<level thread>, test.scope = #sched<scope shared>, test.role = #sched<role temporary>, test.tile = #sched<tile_shape [6, 16 in panels]>} : () -> ()
builtin.module attributes {test.axis = #sched.mapping<thread(4) vector(8) unroll(2)>, test.combine = #sched<combine maxui>, test.level = #sched<level thread>, test.scope = #sched<scope shared>, test.role = #sched<role temporary>, test.tile = #sched<tile_shape [6, 16 in panels]>} {
}
