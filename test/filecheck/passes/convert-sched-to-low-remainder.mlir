// RUN: tenon-opt -p convert-sched-to-low %s | filecheck %s

// What fills no whole step of an axis around reductions runs in fewer lanes: 16 + 4 + 2 + 1 of 23.
// CHECK-LABEL: low.kernel @around_reductions
// CHECK: vector.load %x[%{{.*}}] : memref<230xf32>, vector<8xf32>
// CHECK: vector.load %x[%{{.*}}] : memref<230xf32>, vector<4xf32>
// CHECK: vector.load %x[%{{.*}}] : memref<230xf32>, vector<2xf32>
// CHECK: memref.load %x[%{{.*}}] : memref<230xf32>
sched.kernel @around_reductions(%x: memref<10x23xf32>, %y: memref<23xf32>) {
  sched.axis %i = 23 vector(8) {
    %s = sched.reduce addf %j = 10 : f32 {
      %v = memref.load %x[%j, %i] : memref<10x23xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<23xf32>
  }
}

// Any other axis is not worth the code.
// CHECK-LABEL: low.kernel @elementwise
// CHECK: vector.load %x[%{{.*}}] : memref<23xf32>, vector<8xf32>
// CHECK-NOT: vector<4xf32>
// CHECK: memref.load %x[%{{.*}}] : memref<23xf32>
sched.kernel @elementwise(%x: memref<23xf32>, %y: memref<23xf32>) {
  sched.axis %i = 23 vector(8) {
    %v = memref.load %x[%i] : memref<23xf32>
    memref.store %v, %y[%i] : memref<23xf32>
  }
}
