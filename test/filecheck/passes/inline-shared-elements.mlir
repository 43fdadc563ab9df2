// RUN: tenon-opt %s -p inline-shared-elements | filecheck %s

// A mask that two reductions read is computed by both; the bound is divided once. The buffer is gone.
// CHECK-NOT:   sched.kernel @mask(
// CHECK-LABEL: sched.kernel @both_inlined(%b: memref<f32>, %x: memref<8xf32>, %r: memref<2xf32>) {
// CHECK:         %[[B:.*]] = memref.load %b[] : memref<f32>
// CHECK-NEXT:    %[[BOUND:.*]] = arith.divf %[[B]], %{{.*}} : f32
// CHECK:         sched.reduce addf %i = 8 : f32 {
// CHECK-NEXT:      %[[X:.*]] = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:      %[[IS:.*]] = arith.cmpf olt, %[[X]], %[[BOUND]] : f32
// CHECK-NEXT:      low.convert extui %[[IS]] : i1 to i8
// CHECK:         sched.reduce addf %j = 8 : f32 {
// CHECK-NEXT:      %[[Y:.*]] = memref.load %x[%j] : memref<8xf32>
// CHECK-NEXT:      arith.cmpf olt, %[[Y]], %[[BOUND]] : f32

// One that is read in another order is not.
// CHECK-LABEL: sched.kernel @back(
// CHECK-LABEL: sched.program @f
// CHECK:         %[[M:.*]] = sched.buffer global temporary : memref<8xi8>
// CHECK-NOT:     temporary
// CHECK:         sched.launch @both_inlined(%b, %x, %{{.*}})
// CHECK:         sched.launch @mask_1(%b, %x, %[[M]])
// CHECK:         sched.launch @back(%[[M]], %x, %{{.*}})
sched.kernel @mask(%b: memref<f32>, %x: memref<8xf32>, %m: memref<8xi8>) {
  %three = arith.constant 3.0 : f32
  %v = memref.load %b[] : memref<f32>
  %bound = arith.divf %v, %three : f32
  sched.axis %i = 8 {
    %a = memref.load %x[%i] : memref<8xf32>
    %is = arith.cmpf olt, %a, %bound : f32
    %bit = low.convert extui %is : i1 to i8
    memref.store %bit, %m[%i] : memref<8xi8>
  }
}
sched.kernel @mask_1(%b: memref<f32>, %x: memref<8xf32>, %m: memref<8xi8>) {
  %three = arith.constant 3.0 : f32
  %v = memref.load %b[] : memref<f32>
  %bound = arith.divf %v, %three : f32
  sched.axis %i = 8 {
    %a = memref.load %x[%i] : memref<8xf32>
    %is = arith.cmpf olt, %a, %bound : f32
    %bit = low.convert extui %is : i1 to i8
    memref.store %bit, %m[%i] : memref<8xi8>
  }
}
sched.kernel @both(%m: memref<8xi8>, %x: memref<8xf32>, %r: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %s = sched.reduce addf %i = 8 : f32 {
    %b = memref.load %m[%i] : memref<8xi8>
    %is = arith.cmpi ne, %b, %none : i8
    %a = memref.load %x[%i] : memref<8xf32>
    %v = low.select %is, %a, %zero : f32
    sched.yield %v : f32
  }
  %n = sched.reduce addf %j = 8 : f32 {
    %b = memref.load %m[%j] : memref<8xi8>
    %is = arith.cmpi ne, %b, %none : i8
    %v = low.select %is, %one, %zero : f32
    sched.yield %v : f32
  }
  memref.store %s, %r[%c0] : memref<2xf32>
  memref.store %n, %r[%c1] : memref<2xf32>
}
sched.kernel @back(%m: memref<8xi8>, %x: memref<8xf32>, %r: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %none = arith.constant 0 : i8
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %s = sched.reduce addf %i = 8 : f32 {
    %b = memref.load %m[%i] : memref<8xi8>
    %is = arith.cmpi ne, %b, %none : i8
    %a = memref.load %x[%i] : memref<8xf32>
    %v = low.select %is, %a, %zero : f32
    sched.yield %v : f32
  }
  %n = sched.reduce addf %j = 8 : f32 {
    %k = arith.subi %c7, %j : index
    %b = memref.load %m[%k] : memref<8xi8>
    %is = arith.cmpi ne, %b, %none : i8
    %v = low.select %is, %one, %zero : f32
    sched.yield %v : f32
  }
  memref.store %s, %r[%c0] : memref<2xf32>
  memref.store %n, %r[%c1] : memref<2xf32>
}
sched.program @f(%b: memref<f32>, %x: memref<8xf32>) : (tensor<f32>, tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %m = sched.buffer global temporary : memref<8xi8>
  %m1 = sched.buffer global temporary : memref<8xi8>
  %r = sched.buffer global result : memref<2xf32>
  %r1 = sched.buffer global result : memref<2xf32>
  %t = sched.launch @mask(%b, %x, %m) after() : memref<f32>, memref<8xf32>, memref<8xi8>
  %t1 = sched.launch @both(%m, %x, %r) after() : memref<8xi8>, memref<8xf32>, memref<2xf32>
  %t2 = sched.launch @mask_1(%b, %x, %m1) after() : memref<f32>, memref<8xf32>, memref<8xi8>
  %t3 = sched.launch @back(%m1, %x, %r1) after() : memref<8xi8>, memref<8xf32>, memref<2xf32>
  sched.return %r, %r1 after() : memref<2xf32>, memref<2xf32>
}
