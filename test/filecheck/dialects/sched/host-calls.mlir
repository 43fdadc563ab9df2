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
