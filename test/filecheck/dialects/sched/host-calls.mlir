// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// CHECK-LABEL: sched.program @calls
sched.program @calls(%x: memref<4xf32>, %c: memref<3x2xi8>) : (tensor<4xf32>, tensor<3x2xi1>) -> tensor<3x2xi1> {
  %y = sched.buffer global result : memref<3x2xi8>
  %n = sched.buffer global temporary : memref<i32>
  // CHECK: %{{.*}} = sched.callback @f(%x, %c) to(%y, %n) after() : (tensor<4xf32>, tensor<3x2xi1>) -> (tensor<3x2xi1>, tensor<i32>)
  %t0 = sched.callback @f(%x, %c) to(%y, %n) after() : (tensor<4xf32>, tensor<3x2xi1>) -> (tensor<3x2xi1>, tensor<i32>)
  // CHECK-NEXT: %{{.*}} = sched.callback @g() after(%{{.*}}) {note} : () -> ()
  %t1 = sched.callback @g() after(%t0) {note} : () -> ()
  // CHECK-NEXT: sched.for
  %t2 = sched.for %i = 3 after(%t1) {
    %row = sched.row %y[%i] : memref<3x2xi8>
    // CHECK: %{{.*}} = sched.print "{0}\0A"(%row) after() : (tensor<2xi1>) -> ()
    %t3 = sched.print "{0}\n"(%row) after() : (tensor<2xi1>) -> ()
    // CHECK-NEXT: %{{.*}} = sched.print ""() after(%{{.*}}) : () -> ()
    %t4 = sched.print "" after(%t3) : () -> ()
  }
  sched.return %y after(%t2) : memref<3x2xi8>
}

// CHECK-LABEL: sched.program @rearranged
sched.program @rearranged(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<6xf32>) {
  %y = sched.buffer global result : memref<3x2xf32>
  %z = sched.buffer global result : memref<6xf32>
  // CHECK: %{{.*}} = sched.rearrange [3, 2] strides = [1, 3] offset = 0(%x) to(%y) after() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %t = sched.rearrange [3, 2] strides = [1, 3] offset = 0(%x) to(%y) after() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: %{{.*}} = sched.rearrange [3, 2] strides = [-2, -1] offset = 5 summed(%x) to(%z) after(%{{.*}}) {note} : (tensor<2x3xf32>) -> tensor<6xf32>
  %u = sched.rearrange [3, 2] strides = [-2, -1] offset = 5 summed(%x) to(%z) after(%t) {note} : (tensor<2x3xf32>) -> tensor<6xf32>
  sched.return %y, %z after(%t, %u) : memref<3x2xf32>, memref<6xf32>
}
