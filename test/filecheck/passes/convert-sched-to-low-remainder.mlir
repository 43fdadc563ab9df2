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

// Iterations that may run twice end with a vector that overlaps the one before: at 0, 8 and 15.
// CHECK-LABEL: low.kernel @elementwise
// CHECK-DAG: %c15 = arith.constant 15 : index
// CHECK-DAG: %c16 = arith.constant 16 : index
// CHECK: scf.for %i = %c0 to %c16 step %c8
// CHECK: vector.load %x[%{{.*}}] : memref<23xf32>, vector<8xf32>
// CHECK: vector.load %x[%c15] : memref<23xf32>, vector<8xf32>
// CHECK-NOT: memref.load
sched.kernel @elementwise(%x: memref<23xf32>, %y: memref<23xf32>) {
  sched.axis %i = 23 vector(8) {
    %v = memref.load %x[%i] : memref<23xf32>
    memref.store %v, %y[%i] : memref<23xf32>
  }
}

// After steps of several vectors single ones follow: 16, then 8, then the last 8 of 30.
// CHECK-LABEL: low.kernel @unrolled
// CHECK: vector.load %x[%c0] : memref<30xf32>, vector<8xf32>
// CHECK: vector.load %x[%c8] : memref<30xf32>, vector<8xf32>
// CHECK: vector.load %x[%c16] : memref<30xf32>, vector<8xf32>
// CHECK: vector.load %x[%c22] : memref<30xf32>, vector<8xf32>
// CHECK-NOT: memref.load
sched.kernel @unrolled(%x: memref<30xf32>, %y: memref<30xf32>) {
  sched.axis %i = 30 vector(8) unroll(2) {
    %v = memref.load %x[%i] : memref<30xf32>
    memref.store %v, %y[%i] : memref<30xf32>
  }
}

// One element takes no longer than a vector.
// CHECK-LABEL: low.kernel @one_left
// CHECK: vector.load %x[%c0] : memref<9xf32>, vector<8xf32>
// CHECK: memref.load %x[%c8] : memref<9xf32>
// CHECK-NOT: vector.load
sched.kernel @one_left(%x: memref<9xf32>, %y: memref<9xf32>) {
  sched.axis %i = 9 vector(8) {
    %v = memref.load %x[%i] : memref<9xf32>
    memref.store %v, %y[%i] : memref<9xf32>
  }
}

// What is written where it was read runs once.
// CHECK-LABEL: low.kernel @in_place
// CHECK: vector.load %y[%{{.*}}] : memref<23xf32>, vector<8xf32>
// CHECK-NOT: vector.load
// CHECK: memref.load %y[%{{.*}}] : memref<23xf32>
sched.kernel @in_place(%x: memref<23xf32>, %y: memref<23xf32>) {
  sched.axis %i = 23 vector(8) {
    %v = memref.load %y[%i] : memref<23xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %y[%i] : memref<23xf32>
  }
}

// No vector fits into seven iterations.
// CHECK-LABEL: low.kernel @short
// CHECK-NOT: vector
sched.kernel @short(%x: memref<7xf32>, %y: memref<7xf32>) {
  sched.axis %i = 7 vector(8) {
    %v = memref.load %x[%i] : memref<7xf32>
    memref.store %v, %y[%i] : memref<7xf32>
  }
}
