// RUN: tenon-opt -p 'partition-axis{kernel="shift" axis="i"}' %s | filecheck %s
// RUN: tenon-opt -p 'partition-axis{kernel="shift" axis="i" parts=16 multiple=16}' %s | filecheck %s --check-prefix PARTS
// RUN: tenon-opt -p 'partition-axis{kernel="shift" axis="i"}' --verify-semantics=2 -o /dev/null %s
// RUN: not tenon-opt -p 'partition-axis{kernel="shift" axis="i" parts=100}' %s 2>&1 | filecheck %s --check-prefix LONG
// RUN: not tenon-opt -p 'partition-axis{kernel="plain" axis="i" branch=true}' %s 2>&1 | filecheck %s --check-prefix NONE

// LONG: error: partition-axis: sched.axis %i of @shift: parts of 100, where the longest piece has 99
// NONE: error: partition-axis: sched.axis %i of @plain: nothing begins or ends along it, so there is no branch

// CHECK-LABEL: sched.kernel @shift
// CHECK:         sched.axis %i = 1 {
// CHECK:           arith.minsi
// CHECK:         sched.axis %i_1 = 99 {
// CHECK-NEXT:      %0 = arith.addi %i_1, %c1 : index
// CHECK-NEXT:      %before_1 = arith.addi %0, %cm1 : index
// CHECK-NEXT:      %v_1 = memref.load %x[%before_1] : memref<100xf32>
// PARTS-LABEL: sched.kernel @shift
// PARTS:         sched.axis %part = 6 {
// PARTS:           scf.if
// PARTS:           sched.axis %i_1 = 16 {
sched.kernel @shift(%x: memref<100xf32>, %y: memref<100xf32>) {
  %cm1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c99 = arith.constant 99 : index
  sched.axis %i = 100 {
    %before = arith.addi %i, %cm1 : index
    %raised = arith.maxsi %before, %c0 : index
    %held = arith.minsi %raised, %c99 : index
    %v = memref.load %x[%held] : memref<100xf32>
    memref.store %v, %y[%i] : memref<100xf32>
  }
}

// Another kernel stays as it is.
// CHECK-LABEL: sched.kernel @plain
// CHECK-NEXT:    sched.axis %i = 100 {
sched.kernel @plain(%x: memref<100xf32>, %y: memref<100xf32>) {
  sched.axis %i = 100 {
    %v = memref.load %x[%i] : memref<100xf32>
    memref.store %v, %y[%i] : memref<100xf32>
  }
}
