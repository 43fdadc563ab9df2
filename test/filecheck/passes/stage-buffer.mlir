// RUN: tenon-opt -p 'stage-buffer{kernel="window" axis="i" buffer="x"},stage-buffer{kernel="tail" axis="i" buffer="x"},stage-buffer{kernel="back" axis="i" buffer="x"},stage-buffer{kernel="whole" axis="i" buffer="x"}' %s | filecheck %s
// RUN: not tenon-opt -p 'stage-buffer{kernel="window" axis="i" buffer="y"}' %s 2>&1 | filecheck %s --check-prefix UNREAD
// RUN: not tenon-opt -p 'stage-buffer{kernel="window" axis="i" buffer="z"}' %s 2>&1 | filecheck %s --check-prefix NAME
// RUN: not tenon-opt -p 'stage-buffer{kernel="stored" axis="i" buffer="x"}' %s 2>&1 | filecheck %s --check-prefix STORED
// RUN: not tenon-opt -p 'stage-buffer{kernel="apart" axis="i" buffer="x"}' %s 2>&1 | filecheck %s --check-prefix APART
// RUN: not tenon-opt -p 'stage-buffer{kernel="data" axis="i" buffer="x"}' %s 2>&1 | filecheck %s --check-prefix DATA
// RUN: not tenon-opt -p 'stage-buffer{kernel="lanes" axis="i" buffer="x"}' %s 2>&1 | filecheck %s --check-prefix LANES
// RUN: not tenon-opt -p 'stage-buffer{kernel="window" axis="i" buffer="x" scope="far"}' %s 2>&1 | filecheck %s --check-prefix SCOPE
// RUN: tenon-opt -p 'stage-buffer{kernel="window" axis="i" buffer="x" scope="shared"},map-axis{kernel="window" axes="i","x_shared_at","j" mappings="block","items(2)","items(2)"},convert-sched-to-low' %s | filecheck %s --check-prefix SHARED

// SCOPE: error: stage-buffer: @window: scope 'far' is not local or shared
// SHARED-LABEL: low.kernel @window
// SHARED:         low.alloca : memref<4xf32, "shared">
// SHARED:         low.barrier
// UNREAD: error: stage-buffer: sched.axis %i of @window: %y is not read in it
// NAME: error: stage-buffer: @window has no buffer %z (its buffers: %x, %y)
// STORED: error: stage-buffer: sched.axis %i of @stored: %x is stored to in it, so that a copy would be out of date
// APART: error: stage-buffer: sched.axis %i of @apart: %x is read in dim 0 at places that are not a number apart
// DATA: error: stage-buffer: sched.axis %i of @data: how much of dim 0 of %x is read in it is not known
// LANES: error: stage-buffer: sched.axis %i of @lanes: a local buffer cannot stand in unroll(2) (hint: map afterwards)

// Two reads of neighbours have one box.
// CHECK-LABEL: sched.kernel @window
// CHECK:         sched.axis %i = 4 {
// CHECK-NEXT:      %x_local = sched.alloc local : memref<4xf32>
// CHECK-NEXT:      %[[START:.*]] = arith.muli %i, %c3 : index
// CHECK-NEXT:      sched.axis %x_local_at = 4 {
// CHECK-NEXT:        %[[AT:.*]] = arith.addi %[[START]], %x_local_at : index
// CHECK-NEXT:        %x_element = memref.load %x[%[[AT]]] : memref<13xf32>
// CHECK-NEXT:        memref.store %x_element, %x_local[%x_local_at] : memref<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      sched.axis %j = 3 {
// CHECK:             %a = memref.load %x_local[%j] : memref<4xf32>
// CHECK:             %b = memref.load %x_local[%{{.*}}] : memref<4xf32>
sched.kernel @window(%x: memref<13xf32>, %y: memref<12xf32>) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  sched.axis %i = 4 {
    sched.axis %j = 3 {
      %base = arith.muli %i, %c3 : index
      %at = arith.addi %base, %j : index
      %next = arith.addi %at, %c1 : index
      %a = memref.load %x[%at] : memref<13xf32>
      %b = memref.load %x[%next] : memref<13xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %y[%at] : memref<12xf32>
    }
  }
}

// A box that reaches beyond the buffer is copied as far as that goes.
// CHECK-LABEL: sched.kernel @tail
// CHECK:         %x_local = sched.alloc local : memref<8xf32>
// CHECK:         %[[LEFT:.*]] = arith.subi %c10, %{{.*}} : index
// CHECK-NEXT:    sched.axis %x_local_at = 8 count %[[LEFT]] {
sched.kernel @tail(%x: memref<10xf32>, %y: memref<10xf32>) {
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  sched.axis %i = 2 {
    %base = arith.muli %i, %c8 : index
    %left = arith.subi %c10, %base : index
    sched.axis %j = 8 count %left {
      %at = arith.addi %base, %j : index
      %a = memref.load %x[%at] : memref<10xf32>
      memref.store %a, %y[%at] : memref<10xf32>
    }
  }
}

// One that may begin before it is read from its first element on.
// CHECK-LABEL: sched.kernel @back
// CHECK:         sched.axis %x_local_at = 4 {
// CHECK:           arith.maxsi
sched.kernel @back(%x: memref<10xf32>, %y: memref<7x4xf32>) {
  %c2 = arith.constant 2 : index
  sched.axis %i = 7 {
    %count = arith.addi %i, %c2 : index
    sched.axis %j = 4 {
      %ahead = arith.addi %i, %j : index
      %at = arith.subi %ahead, %c2 : index
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %in = arith.cmpi sge, %at, %zero : index
      scf.if %in {
        %a = memref.load %x[%at] : memref<10xf32>
        memref.store %a, %y[%i, %j] : memref<7x4xf32>
      }
    }
  }
}

// One that is all of a dim begins at its first element.
// CHECK-LABEL: sched.kernel @whole
// CHECK:         %x_local = sched.alloc local : memref<1x6xf32>
// CHECK:         sched.axis %x_local_at = 1 {
// CHECK-NEXT:      sched.axis %x_local_at_a = 6 {
// CHECK:             memref.load %x[%{{.*}}, %x_local_at_a]
sched.kernel @whole(%x: memref<4x6xf32>, %y: memref<4x6xf32>) {
  %c5 = arith.constant 5 : index
  sched.axis %i = 4 {
    sched.axis %j = 6 {
      %back = arith.subi %c5, %j : index
      %a = memref.load %x[%i, %back] : memref<4x6xf32>
      memref.store %a, %y[%i, %j] : memref<4x6xf32>
    }
  }
}

sched.kernel @stored(%x: memref<4xf32>) {
  sched.axis %i = 4 {
    %a = memref.load %x[%i] : memref<4xf32>
    memref.store %a, %x[%i] : memref<4xf32>
  }
}

sched.kernel @apart(%x: memref<16xf32>, %y: memref<4xf32>) {
  sched.axis %i = 4 {
    %twice = arith.addi %i, %i : index
    %a = memref.load %x[%i] : memref<16xf32>
    %b = memref.load %x[%twice] : memref<16xf32>
    %s = arith.addf %a, %b : f32
    memref.store %s, %y[%i] : memref<4xf32>
  }
}

sched.kernel @data(%x: memref<16xf32>, %p: memref<4xi64>, %y: memref<4xf32>) {
  sched.axis %i = 4 {
    %n = memref.load %p[%i] : memref<4xi64>
    %at = arith.index_cast %n : i64 to index
    %a = memref.load %x[%at] : memref<16xf32>
    memref.store %a, %y[%i] : memref<4xf32>
  }
}

sched.kernel @lanes(%x: memref<4xf32>, %y: memref<4xf32>) {
  sched.axis %i = 4 unroll(2) {
    %a = memref.load %x[%i] : memref<4xf32>
    memref.store %a, %y[%i] : memref<4xf32>
  }
}
