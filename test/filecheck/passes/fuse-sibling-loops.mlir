// RUN: tenon-opt -p fuse-sibling-loops %s | filecheck %s
// RUN: tenon-opt -p fuse-sibling-loops %s | tenon-opt | filecheck %s
// RUN: tenon-opt -p fuse-sibling-loops -t llvm-ir %s -o /dev/null

// Two reductions of one buffer are one loop, which loads each element once. What the later one needs moves up, and
// what follows from the results stays where it is. A load that fetches ahead goes on doing so.
// CHECK-LABEL: low.kernel @siblings
// CHECK:         [[BACK:%[^ ]+]] = arith.addi %at, %c8 : index
// CHECK-NEXT:    %s, %m = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero, %b = %zero) -> (f32, f32) {
// CHECK-NEXT:      %p = arith.addi %at, %i : index
// CHECK-NEXT:      %x = memref.load %v[%p] {tenon.prefetch = 8 : index} : memref<32xf32>
// CHECK-NEXT:      %t = arith.addf %a, %x : f32
// CHECK-NEXT:      %r = arith.addi [[BACK]], %i : index
// CHECK-NEXT:      %z = memref.load %v[%r] : memref<32xf32>
// CHECK-NEXT:      %d = arith.subf %x, %z : f32
// CHECK-NEXT:      %u = arith.maximumf %b, %d : f32
// CHECK-NEXT:      scf.yield %t, %u : f32, f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %h = arith.mulf %s, %s : f32
low.kernel @siblings(%v: memref<32xf32>, %o: memref<2xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %at = low.block_id x
  %zero = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero) -> (f32) {
    %p = arith.addi %at, %i : index
    %x = memref.load %v[%p] : memref<32xf32>
    %t = arith.addf %a, %x : f32
    scf.yield %t : f32
  }
  %h = arith.mulf %s, %s : f32
  %back = arith.addi %at, %c8 : index
  %m = scf.for %j = %c0 to %c8 step %c1 iter_args(%b = %zero) -> (f32) {
    %q = arith.addi %at, %j : index
    %y = memref.load %v[%q] {tenon.prefetch = 8 : index} : memref<32xf32>
    %r = arith.addi %back, %j : index
    %z = memref.load %v[%r] : memref<32xf32>
    %d = arith.subf %y, %z : f32
    %u = arith.maximumf %b, %d : f32
    scf.yield %u : f32
  }
  memref.store %h, %o[%c0] : memref<2xf32>
  memref.store %m, %o[%c1] : memref<2xf32>
}

// Loops in loops, with the vectors of each.
// CHECK-LABEL: low.kernel @nested
// CHECK:         %s, %m = scf.for %i = %c0 to %c8 step %c4 iter_args(%a = %zero, %b = %zero) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-NEXT:      %t, %u = scf.for %k = %c0 to %c8 step %c4 iter_args(%d = %a, %e = %b) -> (vector<4xi32>, vector<4xi32>) {
// CHECK-COUNT-1:     vector.load
// CHECK-NOT:         vector.load
// CHECK:             scf.yield %f, %g : vector<4xi32>, vector<4xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield %t, %u : vector<4xi32>, vector<4xi32>
low.kernel @nested(%v: memref<32xi32>, %o: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0> : vector<4xi32>
  %s = scf.for %i = %c0 to %c8 step %c4 iter_args(%a = %zero) -> (vector<4xi32>) {
    %t = scf.for %k = %c0 to %c8 step %c4 iter_args(%d = %a) -> (vector<4xi32>) {
      %x = vector.load %v[%k] : memref<32xi32>, vector<4xi32>
      %f = arith.addi %d, %x : vector<4xi32>
      scf.yield %f : vector<4xi32>
    }
    scf.yield %t : vector<4xi32>
  }
  %m = scf.for %j = %c0 to %c8 step %c4 iter_args(%b = %zero) -> (vector<4xi32>) {
    %u = scf.for %l = %c0 to %c8 step %c4 iter_args(%e = %b) -> (vector<4xi32>) {
      %y = vector.load %v[%l] : memref<32xi32>, vector<4xi32>
      %g = arith.maxsi %e, %y : vector<4xi32>
      scf.yield %g : vector<4xi32>
    }
    scf.yield %u : vector<4xi32>
  }
  vector.store %s, %o[%c0] : memref<8xi32>, vector<4xi32>
  vector.store %m, %o[%c4] : memref<8xi32>, vector<4xi32>
}
