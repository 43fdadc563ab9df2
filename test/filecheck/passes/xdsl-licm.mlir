// RUN: tenon-opt -p licm %s | filecheck %s

// What does not depend on a loop moves out of it: arithmetic, selects, conversions. Loads stay: a store may change them.
// CHECK-LABEL: low.kernel @invariant
// CHECK:         %d = arith.addf %a, %a : f32
// CHECK-NEXT:    %c = arith.cmpf olt, %d, %a : f32
// CHECK-NEXT:    %s = low.select %c, %a, %d : f32
// CHECK-NEXT:    %n = low.convert fptosi %s : f32 to i32
// CHECK-NEXT:    %f = low.convert sitofp %n : i32 to f32
// CHECK-NEXT:    scf.for %j = %zero to %end step %one {
// CHECK-NEXT:      %v = memref.load %x[%zero] : memref<8xf32>
// CHECK-NEXT:      %r = arith.addf %v, %f : f32
// CHECK-NEXT:      memref.store %r, %x[%j] : memref<8xf32>
low.kernel @invariant(%x: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 8 : index
  %a = memref.load %x[%one] : memref<8xf32>
  scf.for %j = %zero to %end step %one {
    %d = arith.addf %a, %a : f32
    %c = arith.cmpf olt, %d, %a : f32
    %s = low.select %c, %a, %d : f32
    %n = low.convert fptosi %s : f32 to i32
    %f = low.convert sitofp %n : i32 to f32
    %v = memref.load %x[%zero] : memref<8xf32>
    %r = arith.addf %v, %f : f32
    memref.store %r, %x[%j] : memref<8xf32>
  }
}

// What uses the index or a carried value stays; a barrier stays.
// CHECK-LABEL: low.kernel @variant
// CHECK:         scf.for %j = %zero to %end step %one iter_args(%s = %a) -> (f32) {
// CHECK-NEXT:      low.barrier
// CHECK-NEXT:      %d = arith.addf %s, %a : f32
// CHECK-NEXT:      %k = arith.addi %j, %one : index
low.kernel @variant(%x: memref<9xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 8 : index
  %a = memref.load %x[%one] : memref<9xf32>
  %total = scf.for %j = %zero to %end step %one iter_args(%s = %a) -> (f32) {
    low.barrier
    %d = arith.addf %s, %a : f32
    %k = arith.addi %j, %one : index
    memref.store %d, %x[%k] : memref<9xf32>
    scf.yield %d : f32
  }
}

// Out of two loops at once.
// CHECK-LABEL: low.kernel @nested
// CHECK:         %d = arith.mulf %a, %a : f32
// CHECK-NEXT:    scf.for
low.kernel @nested(%x: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 8 : index
  %a = memref.load %x[%one] : memref<8xf32>
  scf.for %i = %zero to %end step %one {
    scf.for %j = %zero to %end step %one {
      %d = arith.mulf %a, %a : f32
      memref.store %d, %x[%j] : memref<8xf32>
    }
  }
}
