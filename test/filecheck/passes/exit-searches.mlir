// RUN: tenon-opt -p exit-searches %s | filecheck %s

// The first index at which a row has a number: iterations only compare, until one of both vectors has it, and
// then the body runs once for what was found. A loop that counts what it finds goes on.
// CHECK-LABEL: low.kernel @first
// CHECK:         %j = scf.while (%j_1 = %c0) : (index) -> index {
// CHECK-NEXT:      %k = arith.addi %j_1, %c4 : index
// CHECK-NEXT:      %v = vector.load %x[%j_1] : memref<24xf32>, vector<4xf32>
// CHECK-NEXT:      %w = vector.load %x[%k] : memref<24xf32>, vector<4xf32>
// CHECK-NEXT:      %is_v = arith.cmpf oeq, %v, %wanted : vector<4xf32>
// CHECK-NEXT:      %is_w = arith.cmpf oeq, %w, %wanted : vector<4xf32>
// CHECK-NEXT:      %[[EITHER:.*]] = arith.ori %is_v, %is_w : vector<4xi1>
// CHECK-NEXT:      %[[HIT:.*]] = vector.reduction <or>, %[[EITHER]] : vector<4xi1> into i1
// CHECK-NEXT:      %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:      %[[MISS:.*]] = arith.xori %[[HIT]], %[[TRUE]] : i1
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %j_1, %c8 : index
// CHECK-NEXT:      %[[INSIDE:.*]] = arith.cmpi slt, %[[NEXT]], %c24 : index
// CHECK-NEXT:      %[[GOES_ON:.*]] = arith.andi %[[MISS]], %[[INSIDE]] : i1
// CHECK-NEXT:      scf.condition(%[[GOES_ON]]) %j_1 : index
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%j_2: index):
// CHECK-NEXT:      %[[MOVED:.*]] = arith.addi %j_2, %c8 : index
// CHECK-NEXT:      scf.yield %[[MOVED]] : index
// CHECK-NEXT:    }
// CHECK-NEXT:    %k_1 = arith.addi %j, %c4 : index
// CHECK:         %m = arith.minsi %none, %p : vector<4xi32>
// CHECK-NEXT:    %n = arith.minsi %none, %q : vector<4xi32>
// CHECK-NEXT:    %first = arith.minsi %m, %n : vector<4xi32>
// CHECK-NOT:     scf.for
low.kernel @first(%x: memref<24xf32>, %found: memref<1xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %none = arith.constant dense<2147483647> : vector<4xi32>
  %steps = arith.constant dense<[0, 1, 2, 3]> : vector<4xi32>
  %wanted = arith.constant dense<3.0> : vector<4xf32>
  %f, %g = scf.for %j = %c0 to %c24 step %c8
      iter_args(%a = %none, %b = %none) -> (vector<4xi32>, vector<4xi32>) {
    %k = arith.addi %j, %c4 : index
    %v = vector.load %x[%j] : memref<24xf32>, vector<4xf32>
    %w = vector.load %x[%k] : memref<24xf32>, vector<4xf32>
    %is_v = arith.cmpf oeq, %v, %wanted : vector<4xf32>
    %is_w = arith.cmpf oeq, %w, %wanted : vector<4xf32>
    %i = arith.index_cast %j : index to i32
    %at = vector.broadcast %i : i32 to vector<4xi32>
    %low = arith.addi %at, %steps : vector<4xi32>
    %l = arith.index_cast %k : index to i32
    %next = vector.broadcast %l : i32 to vector<4xi32>
    %high = arith.addi %next, %steps : vector<4xi32>
    %p = low.select %is_v, %low, %none : vector<4xi32>
    %q = low.select %is_w, %high, %none : vector<4xi32>
    %m = arith.minsi %a, %p : vector<4xi32>
    %n = arith.minsi %b, %q : vector<4xi32>
    scf.yield %m, %n : vector<4xi32>, vector<4xi32>
  }
  %first = arith.minsi %f, %g : vector<4xi32>
  %least = vector.reduction <minsi>, %first : vector<4xi32> into i32
  memref.store %least, %found[%c0] : memref<1xi32>
}

// CHECK-LABEL: low.kernel @count
// CHECK-NOT:     scf.while
// CHECK:         scf.for
low.kernel @count(%x: memref<24xf32>, %found: memref<4xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant dense<0> : vector<4xi32>
  %one = arith.constant dense<1> : vector<4xi32>
  %wanted = arith.constant dense<3.0> : vector<4xf32>
  %n = scf.for %j = %c0 to %c24 step %c4 iter_args(%a = %zero) -> (vector<4xi32>) {
    %v = vector.load %x[%j] : memref<24xf32>, vector<4xf32>
    %is_v = arith.cmpf oeq, %v, %wanted : vector<4xf32>
    %p = low.select %is_v, %one, %zero : vector<4xi32>
    %m = arith.addi %a, %p : vector<4xi32>
    scf.yield %m : vector<4xi32>
  }
  vector.store %n, %found[%c0] : memref<4xi32>, vector<4xi32>
}
