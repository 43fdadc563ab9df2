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
// CHECK-LABEL: sched.kernel @windows
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

// Windows that lie inside run without clamps: rows by a branch, what is around the innermost axis in pieces.
// CHECK:         sched.axis %y = 30 {
// CHECK-NEXT:      %{{.*}} = arith.cmpi sge, %y, %c1 : index
// CHECK-NEXT:      %{{.*}} = arith.cmpi slt, %y, %c29 : index
// CHECK-NEXT:      %is_inside = arith.andi
// CHECK-NEXT:      scf.if %is_inside {
// CHECK-NEXT:        sched.axis %x = 1 {
// CHECK:               arith.minsi
// CHECK:             sched.axis %x_1 = 28 {
// CHECK-NOT:           arith.minsi
// CHECK-NOT:           low.select
// CHECK:               sched.axis %c_1 = 16 {
// CHECK-NOT:           arith.minsi
// CHECK-NOT:           low.select
// CHECK:             sched.axis %x_2 = 1 {
// CHECK:               arith.minsi
// CHECK:           } else {
// CHECK-NEXT:        sched.axis %x_3 = 30 {
// CHECK:               low.select
// CHECK-NOT:         sched.axis %x
// CHECK-LABEL: sched.kernel @columns
sched.kernel @windows(%in: memref<30x30x16xf32>, %w: memref<3x3x16xf32>, %out: memref<30x30x16xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c29 = arith.constant 29 : index
  %c30 = arith.constant 30 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %y = 30 {
    sched.axis %x = 30 {
      sched.axis %c = 16 {
        %s = sched.reduce fma %i = 3 : f32 {
          %y_i = arith.addi %y, %i : index
          %at_y = arith.addi %y_i, %cm1 : index
          %row = sched.reduce fma %j = 3 : f32 {
            %x_j = arith.addi %x, %j : index
            %at_x = arith.addi %x_j, %cm1 : index
            %after_y = arith.cmpi sge, %at_y, %c0 : index
            %before_y = arith.cmpi slt, %at_y, %c30 : index
            %in_y = arith.andi %after_y, %before_y : i1
            %after_x = arith.cmpi sge, %at_x, %c0 : index
            %before_x = arith.cmpi slt, %at_x, %c30 : index
            %in_x = arith.andi %after_x, %before_x : i1
            %inside = arith.andi %in_y, %in_x : i1
            %raised_y = arith.maxsi %at_y, %c0 : index
            %held_y = arith.minsi %raised_y, %c29 : index
            %raised_x = arith.maxsi %at_x, %c0 : index
            %held_x = arith.minsi %raised_x, %c29 : index
            %v = memref.load %in[%held_y, %held_x, %c] : memref<30x30x16xf32>
            %padded = low.select %inside, %v, %zero : f32
            %weight = memref.load %w[%i, %j, %c] : memref<3x3x16xf32>
            sched.yield %padded, %weight : f32
          }
          sched.yield %row : f32
        }
        memref.store %s, %out[%y, %x, %c] : memref<30x30x16xf32>
      }
    }
  }
}

// The only axis around the innermost one is split into parts, as many rows each as are unrolled or more.
// CHECK:         sched.axis %part = 3 {
// CHECK:           scf.if
// CHECK-NEXT:        sched.axis %x = 1 {
// CHECK:           sched.axis %x_1 = 8 {
// CHECK-NOT:         low.select
// CHECK:           scf.if
// CHECK-NEXT:        sched.axis %x_2 = 4 {
// CHECK:             sched.axis %x_3 = 1 {
// CHECK-LABEL: sched.kernel @flipped
sched.kernel @columns(%in: memref<30x1024xf32>, %w: memref<3x1024xf32>, %out: memref<30x1024xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c29 = arith.constant 29 : index
  %c30 = arith.constant 30 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %x = 30 {
    sched.axis %c = 1024 {
      %s = sched.reduce fma %j = 3 : f32 {
        %x_j = arith.addi %x, %j : index
        %at = arith.addi %x_j, %cm1 : index
        %after = arith.cmpi sge, %at, %c0 : index
        %before = arith.cmpi slt, %at, %c30 : index
        %inside = arith.andi %after, %before : i1
        %raised = arith.maxsi %at, %c0 : index
        %held = arith.minsi %raised, %c29 : index
        %v = memref.load %in[%held, %c] : memref<30x1024xf32>
        %padded = low.select %inside, %v, %zero : f32
        %weight = memref.load %w[%j, %c] : memref<3x1024xf32>
        sched.yield %padded, %weight : f32
      }
      memref.store %s, %out[%x, %c] : memref<30x1024xf32>
    }
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

// What is loaded has its neighbours along the axis around: that one is split, whose middle is transposed then.
// CHECK-LABEL: sched.kernel @turned
// CHECK:         sched.axis %i = 1 {
// CHECK-NEXT:      sched.axis %j = 60 {
// CHECK-NEXT:        memref.store %zero, %y[%i, %j] : memref<16x60xf32>
// CHECK:         sched.axis %i_1 = 14 {
// CHECK-NOT:       low.select
// CHECK:           memref.load %x[%j_1, %{{.*}}] : memref<60x14xf32>
// CHECK:         sched.axis %i_2 = 1 {
// CHECK-NOT:       memref.load
// CHECK-LABEL: sched.kernel @turned_twice
sched.kernel @turned(%x: memref<60x14xf32>, %y: memref<16x60xf32>) {
  %cm1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c13 = arith.constant 13 : index
  %c14 = arith.constant 14 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 16 {
    %below = arith.addi %i, %cm1 : index
    %is_after = arith.cmpi sge, %below, %c0 : index
    %is_before = arith.cmpi slt, %below, %c14 : index
    %is_inside = arith.andi %is_after, %is_before : i1
    %raised = arith.maxsi %below, %c0 : index
    %held = arith.minsi %raised, %c13 : index
    sched.axis %j = 60 {
      %v = memref.load %x[%j, %held] : memref<60x14xf32>
      %w = low.select %is_inside, %v, %zero : f32
      memref.store %w, %y[%i, %j] : memref<16x60xf32>
    }
  }
}

// The last dim of what is loaded is indexed by two axes: nothing is split.
// CHECK:         sched.axis %i = 16 {
// CHECK:           sched.axis %k = 3 {
// CHECK:             sched.axis %j = 60 {
// CHECK-NOT:     sched.axis
sched.kernel @turned_twice(%x: memref<60x14xf32>, %y: memref<16x3x60xf32>) {
  %c0 = arith.constant 0 : index
  %c13 = arith.constant 13 : index
  sched.axis %i = 16 {
    sched.axis %k = 3 {
      %sum = arith.addi %i, %k : index
      %raised = arith.maxsi %sum, %c0 : index
      %held = arith.minsi %raised, %c13 : index
      sched.axis %j = 60 {
        %v = memref.load %x[%j, %held] : memref<60x14xf32>
        memref.store %v, %y[%i, %k, %j] : memref<16x3x60xf32>
      }
    }
  }
}
