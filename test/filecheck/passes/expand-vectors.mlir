// RUN: tenon-opt -p expand-vectors --split-input-file %s | filecheck %s
// RUN: tenon-opt -p expand-vectors --verify-semantics=2 --split-input-file -o /dev/null %s

// An op for each lane, in the order of the lanes.
// CHECK-LABEL: low.kernel @double
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    [[AT:%.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:    [[V0:%.*]] = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:    [[V1:%.*]] = memref.load %x[[[AT]]] : memref<8xf32>
// CHECK-NEXT:    %[[D0:.*]] = arith.addf [[V0]], [[V0]] fastmath<contract> : f32
// CHECK-NEXT:    %[[D1:.*]] = arith.addf [[V1]], [[V1]] fastmath<contract> : f32
// CHECK-NEXT:    %[[TO:.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:    memref.store %[[D0]], %y[%i] : memref<8xf32>
// CHECK-NEXT:    memref.store %[[D1]], %y[%[[TO]]] : memref<8xf32>
// CHECK-NEXT:  }
low.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) grid [7, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = vector.load %x[%i] : memref<8xf32>, vector<2xf32>
  %d = arith.addf %v, %v fastmath<contract> : vector<2xf32>
  vector.store %d, %y[%i] : memref<8xf32>, vector<2xf32>
}

// -----

// Loops carry scalars, and a reduction combines the upper half with the lower half.
// CHECK-LABEL: low.kernel @sum
// CHECK:         [[S:%.*]], [[S1:%.*]], [[S2:%.*]], [[S3:%.*]] = scf.for %i = %c0 to %c8 step %c4
// CHECK-SAME:      iter_args([[A:%.*]] = %zero, [[A1:%.*]] = %zero, [[A2:%.*]] = %zero, [[A3:%.*]] = %zero) -> (f32, f32, f32, f32) {
// CHECK:           %[[N:.*]] = arith.addf [[A]], %{{.*}} : f32
// CHECK:           scf.yield %[[N]], %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32, f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[T:.*]] = arith.addf [[S]], [[S2]] : f32
// CHECK-NEXT:    %[[T1:.*]] = arith.addf [[S1]], [[S3]] : f32
// CHECK-NEXT:    %[[T2:.*]] = arith.addf %[[T]], %[[T1]] : f32
// CHECK-NEXT:    %[[T3:.*]] = arith.addf %one, %[[T2]] : f32
// CHECK-NEXT:    memref.store %[[T3]], %y[%c0] : memref<1xf32>
low.kernel @sum(%x: memref<8xf32>, %y: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %s = scf.for %i = %c0 to %c8 step %c4 iter_args(%a = %zero) -> (vector<4xf32>) {
    %v = vector.load %x[%i] : memref<8xf32>, vector<4xf32>
    %n = arith.addf %a, %v : vector<4xf32>
    scf.yield %n : vector<4xf32>
  }
  %t = vector.reduction <add>, %s, %one : vector<4xf32> into f32
  memref.store %t, %y[%c0] : memref<1xf32>
}

// -----

// What turns or repeats lanes leaves no op behind.
// CHECK-LABEL: low.kernel @turn
// CHECK:         memref.store %[[A:.*]], %y[%c0] : memref<4xf32>
// CHECK-NEXT:    memref.store %s, %y[%{{.*}}] : memref<4xf32>
// CHECK-NEXT:    %{{.*}} = arith.addi %c2, %c1 : index
// CHECK-NEXT:    memref.store %{{.*}}, %y[%c2] : memref<4xf32>
// CHECK-NEXT:    memref.store %s, %y[%{{.*}}] : memref<4xf32>
// CHECK-NEXT:  }
low.kernel @turn(%x: memref<2xf32>, %y: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %s = memref.load %x[%c0] : memref<2xf32>
  %a = vector.load %x[%c0] : memref<2xf32>, vector<2xf32>
  %b = vector.broadcast %s : f32 to vector<2xf32>
  %p, %q = low.transpose %a, %b : vector<2xf32>
  vector.store %p, %y[%c0] : memref<4xf32>, vector<2xf32>
  vector.store %q, %y[%c2] : memref<4xf32>, vector<2xf32>
}

// -----

// A kernel without vectors stays as it is.
// CHECK-LABEL: low.kernel @without
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    %v = memref.load %x[%i] : memref<4xf32>
// CHECK-NEXT:    memref.store %v, %y[%i] : memref<4xf32>
// CHECK-NEXT:  }
low.kernel @without(%x: memref<4xf32>, %y: memref<4xf32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<4xf32>
  memref.store %v, %y[%i] : memref<4xf32>
}

// -----

// Lanes the other way around are the same scalars in another order.
// CHECK-LABEL: low.kernel @backwards
// CHECK:         [[V0:%.*]] = memref.load %x[%c0] : memref<2xf32>
// CHECK-NEXT:    [[V1:%.*]] = memref.load
// CHECK-NOT:     low.reverse
// CHECK:         memref.store [[V1]], %y[%c0] : memref<2xf32>
// CHECK-NEXT:    memref.store [[V0]]
low.kernel @backwards(%x: memref<2xf32>, %y: memref<2xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<2xf32>, vector<2xf32>
  %r = low.reverse %v : vector<2xf32>
  vector.store %r, %y[%c0] : memref<2xf32>, vector<2xf32>
}
