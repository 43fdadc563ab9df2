// RUN: tenon-opt %s -p narrow-loops | filecheck %s

// The elements before an index: held within the extent. What is left over of 32 partial results goes on.
// CHECK-LABEL: sched.kernel @before
// CHECK:         %[[AT:.*]] = arith.index_cast %n : i64 to index
// CHECK:         %[[RAISED:.*]] = arith.maxsi %[[AT]], %c0
// CHECK:         %[[END:.*]] = arith.minsi %[[RAISED]], %c100
// CHECK:         %rest = arith.remui %{{.*}}, %c32
// CHECK:         %[[WHOLE:.*]] = arith.subi %{{.*}}, %rest
// CHECK:         %[[SUM:.*]] = sched.reduce addf %k = 100 count %[[WHOLE]] : f64 {
// CHECK-NEXT:      %v = memref.load %x[%k]
// CHECK-NEXT:      sched.yield %v
// CHECK:         sched.reduce addf %k_1 = 31 count %rest init(%[[SUM]]) : f64 {
// CHECK-NEXT:      arith.addi %k_1, %[[WHOLE]]
sched.kernel @before(%x: memref<100xf64>, %m: memref<i64>, %y: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %s = sched.reduce addf %k = 100 : f64 {
    %n = memref.load %m[] : memref<i64>
    %at = arith.index_cast %k : index to i64
    %c = arith.cmpi slt, %at, %n : i64
    %v = memref.load %x[%k] : memref<100xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w : f64
  }
  memref.store %s, %y[] : memref<f64>
}

// After one index and up to another, where something holds that does not change in the loop.
// CHECK-LABEL: sched.kernel @between
// CHECK:         sched.axis %i = 7 {
// CHECK:           %holds = arith.cmpi ne, %i, %n : index
// CHECK:           %count = arith.subi
// CHECK:           %count_1 = low.select %holds, %count, %c0 : index
// CHECK:           sched.reduce fma %k = 4 count %count_1 : f64 {
// CHECK-NEXT:        %k_1 = arith.addi %k, %{{.*}} : index
// CHECK-NEXT:        memref.load %x[%i, %k_1]
// CHECK-NOT:         low.select
sched.kernel @between(%x: memref<7x4xf64>, %m: memref<i64>, %y: memref<7xf64>) {
  %zero = arith.constant 0.0 : f64
  %l = memref.load %m[] : memref<i64>
  %n = arith.index_cast %l : i64 to index
  sched.axis %i = 7 {
    %holds = arith.cmpi ne, %i, %n : index
    %s = sched.reduce fma %k = 4 : f64 {
      %late = arith.cmpi slt, %n, %k : index
      %early = arith.cmpi sle, %k, %i : index
      %both = arith.andi %late, %early : i1
      %all = arith.andi %holds, %both : i1
      %v = memref.load %x[%i, %k] : memref<7x4xf64>
      %w = low.select %all, %v, %zero : f64
      %u = low.select %all, %v, %zero : f64
      sched.yield %w, %u : f64
    }
    memref.store %s, %y[%i] : memref<7xf64>
  }
}

// What stores back what it loaded.
// CHECK-LABEL: sched.kernel @stored
// CHECK:         sched.axis %i = 100 count %{{.*}} {
// CHECK-NEXT:      %old = memref.load
// CHECK-NEXT:      %new = arith.addf
// CHECK-NEXT:      memref.store %new
sched.kernel @stored(%x: memref<100xf64>, %m: memref<i64>) {
  %n = memref.load %m[] : memref<i64>
  sched.axis %i = 100 {
    %at = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %at, %n : i64
    %old = memref.load %x[%i] : memref<100xf64>
    %new = arith.addf %old, %old : f64
    %w = low.select %c, %new, %old : f64
    memref.store %w, %x[%i] : memref<100xf64>
  }
}

// Left alone: one side of a product is masked, others count too, the type has no room for all indices, the
// bound changes in the loop, and what is stored was not there.
// CHECK-LABEL: sched.kernel @others
// CHECK-NOT:     count
sched.kernel @others(%x: memref<300xf64>, %b: memref<300xi64>, %m: memref<i64>, %y: memref<4xf64>, %z: memref<300xf64>) {
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = memref.load %m[] : memref<i64>
  %few = arith.trunci %n : i64 to i8
  %s = sched.reduce fma %k = 300 : f64 {
    %at = arith.index_cast %k : index to i64
    %c = arith.cmpi slt, %at, %n : i64
    %v = memref.load %x[%k] : memref<300xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w, %v : f64
  }
  memref.store %s, %y[%c0] : memref<4xf64>
  %t = sched.reduce addf %k = 300 : f64 {
    %at = arith.index_cast %k : index to i64
    %c = arith.cmpi slt, %at, %n : i64
    %v = memref.load %x[%k] : memref<300xf64>
    %w = low.select %c, %v, %one : f64
    sched.yield %w : f64
  }
  memref.store %t, %y[%c1] : memref<4xf64>
  %u = sched.reduce addf %k = 300 : f64 {
    %at = arith.index_cast %k : index to i8
    %c = arith.cmpi slt, %at, %few : i8
    %v = memref.load %x[%k] : memref<300xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w : f64
  }
  memref.store %u, %y[%c2] : memref<4xf64>
  %p = sched.reduce addf %k = 300 : f64 {
    %at = arith.index_cast %k : index to i64
    %last = memref.load %b[%k] : memref<300xi64>
    %c = arith.cmpi slt, %at, %last : i64
    %v = memref.load %x[%k] : memref<300xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w : f64
  }
  memref.store %p, %y[%c3] : memref<4xf64>
  sched.axis %i = 300 {
    %at = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %at, %n : i64
    %v = memref.load %x[%i] : memref<300xf64>
    %w = low.select %c, %v, %zero : f64
    memref.store %w, %z[%i] : memref<300xf64>
  }
}

// A read backwards from an end that is at most the extent: its index stays within without being moved there.
// CHECK-LABEL: sched.kernel @backwards
// CHECK:         %[[START:.*]] = arith.addi %cm1{{.*}}, %{{.*}} : index
// CHECK:         sched.reduce addf %k = 9 count %{{.*}} : f64 {
// CHECK-NEXT:      %[[PLACE:.*]] = arith.subi %[[START]], %k : index
// CHECK-NEXT:      memref.load %x[%[[PLACE]]]
// CHECK-NEXT:      sched.yield
sched.kernel @backwards(%x: memref<9xf64>, %m: memref<i64>, %y: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : i64
  %c9 = arith.constant 9 : i64
  %n = memref.load %m[] : memref<i64>
  %end = arith.minsi %n, %c9 : i64
  %last = arith.subi %end, %c1 : i64
  %s = sched.reduce addf %k = 9 : f64 {
    %at = arith.index_cast %k : index to i64
    %c = arith.cmpi slt, %at, %end : i64
    %back = arith.subi %last, %at : i64
    %place = arith.index_cast %back : i64 to index
    %raised = arith.maxsi %place, %c0 : index
    %held = arith.minsi %raised, %c8 : index
    %v = memref.load %x[%held] : memref<9xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w : f64
  }
  memref.store %s, %y[] : memref<f64>
}

// One that begins beyond the end is moved.
// CHECK-LABEL: sched.kernel @too_far
// CHECK:         sched.reduce addf
// CHECK:           arith.maxsi
// CHECK:           arith.minsi
// CHECK:           sched.yield
sched.kernel @too_far(%x: memref<9xf64>, %m: memref<i64>, %y: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : i64
  %c9 = arith.constant 9 : i64
  %n = memref.load %m[] : memref<i64>
  %end = arith.minsi %n, %c9 : i64
  %last = arith.addi %end, %c1 : i64
  %s = sched.reduce addf %k = 9 : f64 {
    %at = arith.index_cast %k : index to i64
    %c = arith.cmpi slt, %at, %end : i64
    %back = arith.subi %last, %at : i64
    %place = arith.index_cast %back : i64 to index
    %raised = arith.maxsi %place, %c0 : index
    %held = arith.minsi %raised, %c8 : index
    %v = memref.load %x[%held] : memref<9xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w : f64
  }
  memref.store %s, %y[] : memref<f64>
}

// What is stored in the mask is read without moving its index, in a loop of its own.
// CHECK-LABEL: sched.kernel @parts
// CHECK:         sched.axis %i = 9 count %{{.*}} {
// CHECK-NEXT:      %[[BACK:.*]] = arith.subi %{{.*}}, %i : index
// CHECK-NEXT:      memref.load %x[%[[BACK]]]
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.axis %i_1 = 9 count %{{.*}} {
// CHECK-NEXT:      %[[LATER:.*]] = arith.addi %i_1, %{{.*}} : index
// CHECK-NEXT:      memref.load %y[%[[LATER]]]
// CHECK-NEXT:      memref.store
sched.kernel @parts(%x: memref<9xf64>, %m: memref<i64>, %y: memref<9xf64>, %z: memref<9xf64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : i64
  %c9 = arith.constant 9 : i64
  %n = memref.load %m[] : memref<i64>
  %end = arith.minsi %n, %c9 : i64
  %last = arith.subi %end, %c1 : i64
  sched.axis %i = 9 {
    %at = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %at, %end : i64
    %back = arith.subi %last, %at : i64
    %place = arith.index_cast %back : i64 to index
    %raised = arith.maxsi %place, %c0 : index
    %held = arith.minsi %raised, %c8 : index
    %v = memref.load %x[%held] : memref<9xf64>
    %w = memref.load %y[%i] : memref<9xf64>
    %s = low.select %c, %v, %w : f64
    memref.store %s, %z[%i] : memref<9xf64>
  }
}

// An end that wraps around lets all elements count where %n is the least integer: indices are moved into range.
// CHECK-LABEL: sched.kernel @wraps
// CHECK:         sched.reduce addf
// CHECK:           arith.maxsi
// CHECK:           arith.minsi
// CHECK:           sched.yield
sched.kernel @wraps(%x: memref<9xf64>, %m: memref<i64>, %y: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : i64
  %c9 = arith.constant 9 : i64
  %n = memref.load %m[] : memref<i64>
  %least = arith.minsi %n, %c9 : i64
  %end = arith.subi %least, %c1 : i64
  %last = arith.subi %end, %c1 : i64
  %s = sched.reduce addf %k = 9 : f64 {
    %at = arith.index_cast %k : index to i64
    %c = arith.cmpi slt, %at, %end : i64
    %back = arith.subi %last, %at : i64
    %place = arith.index_cast %back : i64 to index
    %raised = arith.maxsi %place, %c0 : index
    %held = arith.minsi %raised, %c8 : index
    %v = memref.load %x[%held] : memref<9xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w : f64
  }
  memref.store %s, %y[] : memref<f64>
}

// One that is known to be at least 0 does not.
// CHECK-LABEL: sched.kernel @does_not_wrap
// CHECK:         sched.reduce addf
// CHECK-NOT:       arith.maxsi
// CHECK:           sched.yield
sched.kernel @does_not_wrap(%x: memref<9xf64>, %m: memref<i64>, %y: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : i64
  %i0 = arith.constant 0 : i64
  %c9 = arith.constant 9 : i64
  %n = memref.load %m[] : memref<i64>
  %least = arith.minsi %n, %c9 : i64
  %known = arith.maxsi %least, %i0 : i64
  %end = arith.subi %known, %c1 : i64
  %last = arith.subi %end, %c1 : i64
  %s = sched.reduce addf %k = 9 : f64 {
    %at = arith.index_cast %k : index to i64
    %c = arith.cmpi slt, %at, %end : i64
    %back = arith.subi %last, %at : i64
    %place = arith.index_cast %back : i64 to index
    %raised = arith.maxsi %place, %c0 : index
    %held = arith.minsi %raised, %c8 : index
    %v = memref.load %x[%held] : memref<9xf64>
    %w = low.select %c, %v, %zero : f64
    sched.yield %w : f64
  }
  memref.store %s, %y[] : memref<f64>
}

// Sums that are masked by the index around them are summed up where the mask holds; outside it, they are 0.
// CHECK-LABEL: sched.kernel @rows
// CHECK:         sched.axis %i = 9 count %[[FIRST:.*]] {
// CHECK-NEXT:      memref.store %zero, %y[%i]
// CHECK-NEXT:    }
// CHECK:         sched.axis %i_1 = 9 count %{{.*}} {
// CHECK-NEXT:      %[[ROW:.*]] = arith.addi %i_1, %{{.*}} : index
// CHECK:           sched.reduce addf %k = 4 : f64 {
// CHECK-NEXT:        memref.load %x[%[[ROW]], %k]
// CHECK-NEXT:        sched.yield
// CHECK:           memref.store %{{.*}}, %y[%[[ROW]]]
sched.kernel @rows(%x: memref<9x4xf64>, %m: memref<i64>, %y: memref<9xf64>) {
  %zero = arith.constant 0.0 : f64
  %l = memref.load %m[] : memref<i64>
  %n = arith.index_cast %l : i64 to index
  sched.axis %i = 9 {
    %c = arith.cmpi sge, %i, %n : index
    %s = sched.reduce addf %k = 4 : f64 {
      %v = memref.load %x[%i, %k] : memref<9x4xf64>
      %w = low.select %c, %v, %zero : f64
      sched.yield %w : f64
    }
    memref.store %s, %y[%i] : memref<9xf64>
  }
}

// Where two sums are masked by two bounds, the axis is left as it is.
// CHECK-LABEL: sched.kernel @two_sums
// CHECK:         sched.axis %i = 9 {
// CHECK:           sched.reduce addf %k = 4 : f64 {
// CHECK:           sched.reduce addf %j = 4 : f64 {
sched.kernel @two_sums(%x: memref<9x4xf64>, %m: memref<i64>, %y: memref<9xf64>) {
  %zero = arith.constant 0.0 : f64
  %l = memref.load %m[] : memref<i64>
  %n = arith.index_cast %l : i64 to index
  sched.axis %i = 9 {
    %c = arith.cmpi sge, %i, %n : index
    %s = sched.reduce addf %k = 4 : f64 {
      %v = memref.load %x[%i, %k] : memref<9x4xf64>
      %w = low.select %c, %v, %zero : f64
      sched.yield %w : f64
    }
    %d = arith.cmpi slt, %i, %n : index
    %t = sched.reduce addf %j = 4 : f64 {
      %v = memref.load %x[%i, %j] : memref<9x4xf64>
      %w = low.select %d, %v, %zero : f64
      sched.yield %w : f64
    }
    %u = arith.addf %s, %t : f64
    memref.store %u, %y[%i] : memref<9xf64>
  }
}

// What takes long is computed where the mask holds.
// CHECK-LABEL: sched.kernel @divided
// CHECK:         sched.axis %i = 9 count %{{.*}} {
// CHECK-NEXT:      memref.load %x
// CHECK-NEXT:      arith.divf
// CHECK-NEXT:      memref.store
// CHECK:         sched.axis %i_1 = 9 count %{{.*}} {
// CHECK-NEXT:      arith.addi %i_1
// CHECK-NEXT:      memref.load %y
// CHECK-NEXT:      memref.store
sched.kernel @divided(%x: memref<9xf64>, %m: memref<i64>, %y: memref<9xf64>, %z: memref<9xf64>) {
  %n = memref.load %m[] : memref<i64>
  sched.axis %i = 9 {
    %at = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %at, %n : i64
    %v = memref.load %x[%i] : memref<9xf64>
    %q = arith.divf %v, %v : f64
    %w = memref.load %y[%i] : memref<9xf64>
    %s = low.select %c, %q, %w : f64
    memref.store %s, %z[%i] : memref<9xf64>
  }
}
