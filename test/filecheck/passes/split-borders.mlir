// RUN: tenon-opt -p split-borders %s | filecheck %s
// RUN: tenon-opt -p 'split-borders{block-elements=8}' %s | filecheck %s --check-prefix PARTS

// What is read before an array is another value: the first iteration is split off, the others clamp nothing.
// CHECK-LABEL: sched.kernel @padded
// CHECK:         sched.axis %i = 1 {
// CHECK:           arith.minsi
// CHECK:         sched.axis %i_1 = 63 {
// CHECK-NEXT:      %{{.*}} = arith.addi %i_1, %c1 : index
// CHECK-NEXT:      %below_1 = arith.addi %{{.*}}, %cm1 : index
// CHECK-NEXT:      %v_1 = memref.load %x[%below_1] : memref<63xf32>
// CHECK-NEXT:      memref.store %v_1, %y[%{{.*}}] : memref<64xf32>
// CHECK-NEXT:    }

// The only axis of a kernel is split into parts, which may be work-groups; the first one has the border.
// PARTS-LABEL: sched.kernel @padded
// PARTS:         sched.axis %part = 7 {
// PARTS-NEXT:      %{{.*}} = arith.cmpi eq, %part, %c0 : index
// PARTS-NEXT:      scf.if
// PARTS-NEXT:        sched.axis %i = 1 {
// PARTS:           sched.axis %i_1 = 9 {
// PARTS-NOT:       scf.if
// PARTS-NOT:       arith.cmpi
// PARTS-LABEL: sched.kernel @wrapped
// PARTS:         sched.axis %part = 7 {
// PARTS:           sched.axis %i = 9 {
// PARTS:           arith.cmpi eq, %part, %c6 : index
// PARTS-NEXT:      scf.if
// PARTS-NEXT:        sched.axis %i_1 = 1 {
sched.kernel @padded(%x: memref<63xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c62 = arith.constant 62 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 64 {
    %below = arith.addi %i, %cm1 : index
    %is_inside = arith.cmpi sge, %below, %c0 : index
    %raised = arith.maxsi %below, %c0 : index
    %held = arith.minsi %raised, %c62 : index
    %v = memref.load %x[%held] : memref<63xf32>
    %w = low.select %is_inside, %v, %zero : f32
    memref.store %w, %y[%i] : memref<64xf32>
  }
}

// An index that wraps around is linear on both sides; the shorter one is too short to be a vector.
// CHECK-LABEL: sched.kernel @wrapped
// CHECK:         sched.axis %i = 63 {
// CHECK:         sched.axis %i_1 = 1 {
// CHECK-NOT:     sched.axis
// CHECK-LABEL: sched.kernel @rows
sched.kernel @wrapped(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  sched.axis %i = 64 {
    %next = arith.addi %i, %c1 : index
    %at = arith.remui %next, %c64 : index
    %v = memref.load %x[%at] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
}

// Where the border is that of another axis, the innermost one stays whole.
// CHECK:         sched.axis %i = 8 {
// CHECK:           sched.axis %j = 64 {
// CHECK-NOT:     sched.axis
// CHECK-LABEL: sched.kernel @short
sched.kernel @rows(%x: memref<7x64xf32>, %y: memref<8x64xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c6 = arith.constant 6 : index
  sched.axis %i = 8 {
    %below = arith.addi %i, %cm1 : index
    %raised = arith.maxsi %below, %c0 : index
    %held = arith.minsi %raised, %c6 : index
    sched.axis %j = 64 {
      %v = memref.load %x[%held, %j] : memref<7x64xf32>
      memref.store %v, %y[%i, %j] : memref<8x64xf32>
    }
  }
}

// Four iterations are a vector at best, three of them are none.
// CHECK:         sched.axis %i = 4 {
// CHECK-NOT:     sched.axis
// CHECK-LABEL: sched.kernel @flipped
sched.kernel @short(%x: memref<3xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c2 = arith.constant 2 : index
  sched.axis %i = 4 {
    %below = arith.addi %i, %cm1 : index
    %raised = arith.maxsi %below, %c0 : index
    %held = arith.minsi %raised, %c2 : index
    %v = memref.load %x[%held] : memref<3xf32>
    memref.store %v, %y[%i] : memref<4xf32>
  }
}

// No piece has stride 1.
// CHECK:         sched.axis %i = 64 {
// CHECK-NOT:     sched.axis
sched.kernel @flipped(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c62 = arith.constant 62 : index
  sched.axis %i = 64 {
    %back = arith.muli %i, %cm1 : index
    %at = arith.addi %back, %c62 : index
    %raised = arith.maxsi %at, %c0 : index
    %held = arith.minsi %raised, %c62 : index
    %v = memref.load %x[%held] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
}

// RUN: not tenon-opt -p 'split-borders{block-elements=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// NONE: error: split-borders: block-elements 0 must be 1 or more
