// RUN: tenon-opt -p 'distribute-axis{kernel="rows" axis="i" at="k"},distribute-axis{kernel="rows" axis="i_a" at="k" after=true},distribute-axis{kernel="again" axis="i" at="k"}' %s | filecheck %s
// RUN: not tenon-opt -p 'distribute-axis{kernel="rows" axis="k" at="k"}' %s 2>&1 | filecheck %s --check-prefix KIND
// RUN: not tenon-opt -p 'distribute-axis{kernel="nested" axis="i" at="k"}' %s 2>&1 | filecheck %s --check-prefix NESTED
// RUN: not tenon-opt -p 'distribute-axis{kernel="nested" axis="i" at="j"}' %s 2>&1 | filecheck %s --check-prefix NOTHING
// RUN: not tenon-opt -p 'distribute-axis{kernel="mapped" axis="i" at="k"}' %s 2>&1 | filecheck %s --check-prefix MAPPED
// RUN: not tenon-opt -p 'distribute-axis{kernel="carried" axis="i" at="k"}' %s 2>&1 | filecheck %s --check-prefix CARRIED
// RUN: not tenon-opt -p 'distribute-axis{kernel="shared" axis="i" at="k"}' %s 2>&1 | filecheck %s --check-prefix SHARED
// RUN: not tenon-opt -p 'distribute-axis{kernel="counted" axis="i" at="k"}' %s 2>&1 | filecheck %s --check-prefix INDEX
// RUN: not tenon-opt -p 'distribute-axis{kernel="same" axis="i" at="k"}' %s 2>&1 | filecheck %s --check-prefix SAME

// KIND: error: distribute-axis: sched.reduce %k of @rows: it is no axis, whose iterations may run in any order
// NESTED: error: distribute-axis: sched.axis %k of @nested: it does not stand right inside of %i
// NOTHING: error: distribute-axis: sched.axis %j of @nested: nothing is done before it in %i
// MAPPED: error: distribute-axis: sched.axis %i of @mapped: it is mapped to block, expected a serial one (distribute before mapping)
// CARRIED: error: distribute-axis: sched.axis %i of @carried: one iteration of %i may read an element of %y that another one stores
// SHARED: error: distribute-axis: sched.alloc %row of @shared: only a local buffer can have elements for each iteration
// INDEX: error: distribute-axis: scf.for %l of @counted: its index can be neither kept nor computed again
// SAME: error: distribute-axis: sched.axis %i of @same: two iterations of %i may store the same element of %y

// A local buffer gets a dim more, a scalar a buffer, and an index is computed again.
// CHECK-LABEL: sched.kernel @rows
// CHECK:         %row = sched.alloc local : memref<4x6xf32>
// CHECK-NEXT:    %w_kept = sched.alloc local : memref<4xf32>
// CHECK-NEXT:    sched.axis %i = 4 {
// CHECK-NEXT:      %base = arith.addi %i, %i : index
// CHECK-NEXT:      %w = memref.load %x[%i, %base] : memref<4x8xf32>
// CHECK-NEXT:      memref.store %w, %w_kept[%i] : memref<4xf32>
// CHECK:             memref.store %{{.*}}, %row[%i, %j] : memref<4x6xf32>
// CHECK:         %s_kept = sched.alloc local : memref<4xf32>
// CHECK-NEXT:    sched.axis %i_a = 4 {
// CHECK:           %s = sched.reduce addf %k = 6 : f32 {
// CHECK-NEXT:        memref.load %row[%i_a, %k] : memref<4x6xf32>
// CHECK:           memref.store %s, %s_kept[%i_a] : memref<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.axis %i_a_a = 4 {
// CHECK-NEXT:      %[[BASE:.*]] = arith.addi %i_a_a, %i_a_a : index
// CHECK:           %s_1 = memref.load %s_kept[%i_a_a] : memref<4xf32>
// CHECK:           memref.store %{{.*}}, %y[%i_a_a, %[[BASE]]] : memref<4x8xf32>
sched.kernel @rows(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  sched.axis %i = 4 {
    %base = arith.addi %i, %i : index
    %row = sched.alloc local : memref<6xf32>
    %w = memref.load %x[%i, %base] : memref<4x8xf32>
    sched.axis %j = 6 {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      memref.store %v, %row[%j] : memref<6xf32>
    }
    %s = sched.reduce addf %k = 6 : f32 {
      %v = memref.load %row[%k] : memref<6xf32>
      sched.yield %v : f32
    }
    %t = arith.addf %s, %w : f32
    memref.store %t, %y[%i, %base] : memref<4x8xf32>
  }
}

// A condition is computed again, of what is kept.
// CHECK-LABEL: sched.kernel @again
// CHECK:         sched.axis %i_a = 4 {
// CHECK-NEXT:      %v_1 = memref.load %v_kept[%i_a] : memref<4xf32>
// CHECK-NEXT:      %c_1 = arith.cmpf olt, %v_1, %zero : f32
sched.kernel @again(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    %v = memref.load %x[%i] : memref<4xf32>
    %c = arith.cmpf olt, %v, %zero : f32
    sched.axis %j = 1 {
      memref.store %v, %y[%i] : memref<4xf32>
    }
    sched.axis %k = 1 {
      %r = low.select %c, %zero, %v : f32
      memref.store %r, %y[%i] : memref<4xf32>
    }
  }
}

sched.kernel @nested(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    sched.axis %j = 1 {
      sched.axis %k = 1 {
        memref.store %zero, %y[%i] : memref<4xf32>
      }
    }
  }
}

sched.kernel @mapped(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 block {
    memref.store %zero, %y[%i] : memref<4xf32>
    sched.axis %k = 1 {
      memref.store %zero, %y[%i] : memref<4xf32>
    }
  }
}

sched.kernel @carried(%x: memref<4xf32>, %y: memref<5xf32>) {
  %one = arith.constant 1 : index
  sched.axis %i = 4 {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<5xf32>
    sched.axis %k = 1 {
      %next = arith.addi %i, %one : index
      %w = memref.load %y[%next] : memref<5xf32>
      memref.store %w, %x[%i] : memref<4xf32>
    }
  }
}

sched.kernel @shared(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    %row = sched.alloc shared : memref<4xf32>
    memref.store %zero, %row[%i] : memref<4xf32>
    sched.axis %k = 1 {
      %v = memref.load %row[%i] : memref<4xf32>
      memref.store %v, %y[%i] : memref<4xf32>
    }
  }
}

sched.kernel @counted(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  sched.axis %i = 4 {
    %n = scf.for %l = %c0 to %i step %c1 iter_args(%m = %c0) -> (index) {
      scf.yield %l : index
    }
    sched.axis %k = 1 {
      memref.store %zero, %y[%n] : memref<4xf32>
    }
  }
}

sched.kernel @same(%y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  sched.axis %i = 4 {
    memref.store %zero, %y[%c0] : memref<4xf32>
    sched.axis %k = 1 {
      memref.store %zero, %y[%c0] : memref<4xf32>
    }
  }
}
