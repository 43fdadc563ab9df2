// RUN: tenon-opt -p expand-math %s | filecheck %s
// RUN: tenon-opt -p expand-math %s | tenon-opt | filecheck %s

// The argument is clamped, n is rounded by a large constant, the product with 2^n is one op. No fast-math appears.
// CHECK-LABEL: low.kernel @scalar
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant -1.760000e+02 : f32
// CHECK-NEXT:    %[[HIGH:.*]] = arith.constant 8.900000e+01 : f32
// CHECK-NEXT:    %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-NEXT:    %[[ROUNDER:.*]] = arith.constant 0x4B4000FE : f32
// CHECK:         %[[A:.*]] = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:    %[[BELOW:.*]] = arith.cmpf olt, %[[A]], %[[LOW]] : f32
// CHECK-NEXT:    %[[C:.*]] = low.select %[[BELOW]], %[[LOW]], %[[A]] : f32
// CHECK-NEXT:    %[[ABOVE:.*]] = arith.cmpf olt, %[[HIGH]], %[[C]] : f32
// CHECK-NEXT:    %[[D:.*]] = low.select %[[ABOVE]], %[[HIGH]], %[[C]] : f32
// CHECK-NEXT:    %[[ROUNDED:.*]] = math.fma %[[D]], %[[LOG2E]], %[[ROUNDER]] : f32
// CHECK-NEXT:    %[[N:.*]] = arith.subf %[[ROUNDED]], %[[ROUNDER]] : f32
// CHECK-NOT:     math.exp
// CHECK:         %e = low.ldexp %{{.*}}, %[[N]] : f32
// CHECK-NEXT:    memref.store %e, %y[%i] : memref<8xf32>
low.kernel @scalar(%x: memref<8xf32>, %y: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %a = memref.load %x[%i] : memref<8xf32>
  %e = math.exp %a : f32
  memref.store %e, %y[%i] : memref<8xf32>
}

// Of an argument that is not positive, e^r 2^-24 times 2^(n + 24) is one product: no clamp above is needed.
// CHECK-LABEL: low.kernel @not_positive
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant -1.040000e+02 : f32
// CHECK:         %[[A:.*]] = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:    %[[BELOW:.*]] = arith.cmpf olt, %[[A]], %[[LOW]] : f32
// CHECK-NEXT:    %[[C:.*]] = low.select %[[BELOW]], %[[LOW]], %[[A]] : f32
// CHECK-NEXT:    %[[ROUNDED:.*]] = math.fma %[[C]], %{{.*}}, %{{.*}} : f32
// CHECK-NOT:     low.ldexp
// CHECK:         %e = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:    memref.store %e, %y[%i] : memref<8xf32>
low.kernel @not_positive(%x: memref<8xf32>, %y: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %a = memref.load %x[%i] : memref<8xf32>
  %e = math.exp %a {tenon.not_positive} : f32
  memref.store %e, %y[%i] : memref<8xf32>
}

// Vectors have constants of vectors; multiply-adds are fused, and flags are not taken over.
// CHECK-LABEL: low.kernel @vector
// CHECK-NEXT:    %{{.*}} = arith.constant dense<-2.000000e+01> : vector<4xf64>
// CHECK:         %{{.*}} = math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<4xf64>
// CHECK-NEXT:    %{{.*}} = arith.bitcast %{{.*}} : vector<4xf64> to vector<4xi64>
// CHECK-NOT:     nnan
// CHECK:         %t = arith.divf %{{.*}}, %{{.*}} : vector<4xf64>
// CHECK-NEXT:    vector.store %t, %y[%i] : memref<8xf64>, vector<4xf64>
low.kernel @vector(%x: memref<8xf64>, %y: memref<8xf64>) grid [2, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %a = vector.load %x[%i] : memref<8xf64>, vector<4xf64>
  %t = math.tanh %a fastmath<nnan,contract> : vector<4xf64>
  vector.store %t, %y[%i] : memref<8xf64>, vector<4xf64>
}

// In a loop: the ops stay in the loop, the constants go to the front of the kernel.
// CHECK-LABEL: low.kernel @in_a_loop
// CHECK:         %{{.*}} = arith.constant 0x7f800000 : f32
// CHECK:         scf.for %j
// CHECK-NEXT:      %a = memref.load %x[%j] : memref<8xf32>
// CHECK-NOT:       arith.constant
// CHECK:           %r = low.select
// CHECK-NEXT:      memref.store %r, %y[%j] : memref<8xf32>
// CHECK-NEXT:    }
low.kernel @in_a_loop(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %j = %c0 to %c8 step %c1 {
    %a = memref.load %x[%j] : memref<8xf32>
    %r = math.log %a : f32
    memref.store %r, %y[%j] : memref<8xf32>
  }
}

// What every target computes exactly is left alone.
// CHECK-LABEL: low.kernel @exact
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    %a = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:    %s = math.sqrt %a : f32
// CHECK-NEXT:    %f = math.floor %s : f32
// CHECK-NEXT:    memref.store %f, %y[%i] : memref<8xf32>
// CHECK-NEXT:  }
low.kernel @exact(%x: memref<8xf32>, %y: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %a = memref.load %x[%i] : memref<8xf32>
  %s = math.sqrt %a : f32
  %f = math.floor %s : f32
  memref.store %f, %y[%i] : memref<8xf32>
}
