// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | filecheck %s

sched.kernel @f(%x: memref<8xf32>, %n: memref<i64>, %y: memref<8xf32>) {
}
sched.kernel @c(%x: memref<8xf32>, %y: memref<i8>) {
}

// CHECK-LABEL: sched.program @loops
sched.program @loops(%x: memref<10x8xf32>, %z: memref<8xf32>) : (tensor<10x8xf32>, tensor<8xf32>) -> tensor<10x8xf32> {
  %y = sched.buffer global result : memref<10x8xf32>
  %n = sched.buffer global temporary : memref<i64>
  %more = sched.buffer global temporary : memref<i8>
  // CHECK:      %t = sched.for %i = 10 counter %n after() {
  // CHECK-NEXT:   %row = sched.row %x[%i] : memref<10x8xf32>
  // CHECK-NEXT:   %out = sched.row %y[%i] : memref<10x8xf32>
  // CHECK-NEXT:   %u = sched.launch @f(%row, %n, %out) after() : memref<8xf32>, memref<i64>, memref<8xf32>
  // CHECK-NEXT:   %v = sched.transfer %row to %out after(%u) : memref<8xf32>
  // CHECK-NEXT: }
  %t = sched.for %i = 10 counter %n after() {
    %row = sched.row %x[%i] : memref<10x8xf32>
    %out = sched.row %y[%i] : memref<10x8xf32>
    %u = sched.launch @f(%row, %n, %out) after() : memref<8xf32>, memref<i64>, memref<8xf32>
    %v = sched.transfer %row to %out after(%u) : memref<8xf32>
  }
  // CHECK-NEXT: %third = sched.row %x[2] : memref<10x8xf32>
  // CHECK-NEXT: %one = sched.row %third[7] {k = 1 : i32} : memref<8xf32>
  %third = sched.row %x[2] : memref<10x8xf32>
  %one = sched.row %third[7] {k = 1 : i32} : memref<8xf32>
  // CHECK-NEXT: %t1 = sched.while %more after(%t) {
  // CHECK-NEXT:   %w = sched.launch @c(%z, %more) after() : memref<8xf32>, memref<i8>
  // CHECK-NEXT: } do {
  // CHECK-NEXT:   %a = sched.if %more after() {
  // CHECK-NEXT:     %b = sched.for %j = 3 reverse after() analysis<flops 1, read_nbytes 2, written_nbytes 3, registers 4, shared_nbytes 5, occupancy 6, estimated_ns 7> attributes {k = 1 : i32} {
  // CHECK-NEXT:     }
  // CHECK-NEXT:   } else {
  // CHECK-NEXT:     %d = sched.sync after()
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  %t1 = sched.while %more after(%t) {
    %w = sched.launch @c(%z, %more) after() : memref<8xf32>, memref<i8>
  } do {
    %a = sched.if %more after() {
      %b = sched.for %j = 3 reverse after() analysis<flops 1, read_nbytes 2, written_nbytes 3, registers 4, shared_nbytes 5, occupancy 6, estimated_ns 7> attributes {k = 1 : i32} {
      }
    } else {
      %d = sched.sync after()
    }
  }
  sched.return %y after(%t1) : memref<10x8xf32>
}
