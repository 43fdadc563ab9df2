// RUN: tenon-opt -p promote-scalars %s | filecheck %s

// What an iteration stores is what the next one loads: the element is loaded before the loop and stored after it.
// CHECK-LABEL: low.kernel @recurrence
// CHECK:         %x = memref.load %carried[%g] : memref<4xf32>
// CHECK-NEXT:    %x_1 = scf.for %i = %c0 to %c8 step %c1 iter_args(%x_2 = %x) -> (f32) {
// CHECK-NEXT:      %v = memref.load %a[%i] : memref<8xf32>
// CHECK-NEXT:      %y = arith.addf %x_2, %v : f32
// CHECK-NEXT:      memref.store %y, %b[%i] : memref<8xf32>
// CHECK-NEXT:      scf.yield %y : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %x_1, %carried[%g] : memref<4xf32>
low.kernel @recurrence(%a: memref<8xf32>, %b: memref<8xf32>, %carried: memref<4xf32>) grid [4, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %g = low.block_id x
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %carried[%g] : memref<4xf32>
    %v = memref.load %a[%i] : memref<8xf32>
    %y = arith.addf %x, %v : f32
    memref.store %y, %b[%i] : memref<8xf32>
    memref.store %y, %carried[%g] : memref<4xf32>
  }
}

// Loads after a store are what is stored, and what the loop carries anyway stays first.
// CHECK-LABEL: low.kernel @beside_carried
// CHECK:         %s, %x_1 = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %start, %x_2 = %x) -> (f32, f32) {
// CHECK-NEXT:      %y = arith.addf %x_2, %t : f32
// CHECK-NEXT:      %z = arith.mulf %y, %y : f32
// CHECK-NEXT:      scf.yield %z, %y : f32, f32
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %x_1, %b[%c1] : memref<2xf32>
// CHECK-NEXT:    memref.store %s, %a[%c0] : memref<1xf32>
low.kernel @beside_carried(%a: memref<1xf32>, %b: memref<2xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %start = arith.constant 1.0 : f32
  %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %start) -> (f32) {
    %x = memref.load %b[%c1] : memref<2xf32>
    %y = arith.addf %x, %t : f32
    memref.store %y, %b[%c1] : memref<2xf32>
    %w = memref.load %b[%c1] : memref<2xf32>
    %z = arith.mulf %w, %y : f32
    scf.yield %z : f32
  }
  memref.store %s, %a[%c0] : memref<1xf32>
}

// What one element held becomes another.
// CHECK-LABEL: low.kernel @shifted
// CHECK:         %{{.*}}, %{{.*}} = scf.for %i = %c0 to %c8 step %c1 iter_args(%x_2 = %x, %y_2 = %y) -> (f32, f32) {
// CHECK-NEXT:      %z = arith.addf %x_2, %y_2 : f32
// CHECK-NEXT:      scf.yield %y_2, %z : f32, f32
// CHECK-NEXT:    }
low.kernel @shifted(%a: memref<1xf32>, %b: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%c0] : memref<1xf32>
    %y = memref.load %b[%c0] : memref<1xf32>
    %z = arith.addf %x, %y : f32
    memref.store %y, %a[%c0] : memref<1xf32>
    memref.store %z, %b[%c0] : memref<1xf32>
  }
}

// Both loops of a nest carry the element; bounds that vary are of a kernel of one work-item.
// CHECK-LABEL: low.kernel @nest
// CHECK:         memref.load %a[%c0]
// CHECK-NEXT:    scf.for %i = %c0 to %n step %c1 iter_args
// CHECK-NEXT:      scf.for %j = %c0 to %i step %c1 iter_args
// CHECK-NEXT:        arith.addf
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %{{.*}}, %a[%c0]
low.kernel @nest(%n: index, %a: memref<1xf32>) dims [n] grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      %x = memref.load %a[%c0] : memref<1xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%c0] : memref<1xf32>
    }
  }
}

// Other work-items may have stored there where the loop does not run; and a place may be none then.
// CHECK-LABEL: low.kernel @may_not_run
// CHECK-NOT: iter_args
low.kernel @may_not_run(%n: index, %a: memref<1xf32>) dims [n] grid [4, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%c0] : memref<1xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%c0] : memref<1xf32>
  }
}

// CHECK-LABEL: low.kernel @outside_where_it_does_not_run
// CHECK-NOT: iter_args
low.kernel @outside_where_it_does_not_run(%n: index, %a: memref<8xf32>) dims [n] grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%n] : memref<8xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%n] : memref<8xf32>
  }
}

// Not what is accessed at another place too, in a region, as a vector, at a place that changes, or only stored.
// CHECK-LABEL: low.kernel @stays
// CHECK-NOT: iter_args
low.kernel @stays(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<9xf32>, %e: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = arith.constant true
  %k = arith.constant dense<1.0> : vector<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %xa = memref.load %a[%c0] : memref<8xf32>
    memref.store %xa, %a[%c1] : memref<8xf32>
    %xb = memref.load %b[%c0] : memref<8xf32>
    %yb = arith.addf %xb, %xb : f32
    memref.store %yb, %b[%c0] : memref<8xf32>
    scf.if %p {
      %zb = memref.load %b[%c1] : memref<8xf32>
      memref.store %zb, %d[%c0] : memref<9xf32>
    }
    %xc = memref.load %c[%c0] : memref<8xf32>
    %yc = arith.addf %xc, %xc : f32
    memref.store %yc, %c[%c0] : memref<8xf32>
    vector.store %k, %c[%c0] : memref<8xf32>, vector<8xf32>
    %at = arith.addi %i, %c1 : index
    %xd = memref.load %d[%at] : memref<9xf32>
    %yd = arith.addf %xd, %xd : f32
    memref.store %yd, %d[%at] : memref<9xf32>
    memref.store %yd, %e[%c0] : memref<1xf32>
  }
}

// Others read at a barrier what was stored.
// CHECK-LABEL: low.kernel @meets_others
// CHECK-NOT: iter_args
low.kernel @meets_others(%a: memref<2xf32>) grid [1, 1, 1] block [2, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = low.thread_id x
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %a[%t] : memref<2xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%t] : memref<2xf32>
    low.barrier
  }
}

// The condition hands on to the body what the body hands on to the condition.
// CHECK-LABEL: low.kernel @counts_down
// CHECK:         %x = memref.load %n[%c0] : memref<1xi64>
// CHECK-NEXT:    %q, %x_1 = scf.while (%more = %p, %x_2 = %x) : (i1, i64) -> (i1, i64) {
// CHECK-NEXT:      scf.condition(%more) %more, %x_2 : i1, i64
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%goes: i1, %x_3: i64):
// CHECK-NEXT:      %y = arith.addi %x_3, %cm1 : i64
// CHECK-NEXT:      %again = arith.cmpi sgt, %y, %zero : i64
// CHECK-NEXT:      scf.yield %again, %y : i1, i64
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %x_1, %n[%c0] : memref<1xi64>
low.kernel @counts_down(%n: memref<1xi64>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %cm1 = arith.constant -1 : i64
  %p = arith.constant true
  %q = scf.while (%more = %p) : (i1) -> i1 {
    scf.condition(%more) %more : i1
  } do {
  ^bb0(%goes: i1):
    %x = memref.load %n[%c0] : memref<1xi64>
    %y = arith.addi %x, %cm1 : i64
    memref.store %y, %n[%c0] : memref<1xi64>
    %again = arith.cmpi sgt, %y, %zero : i64
    scf.yield %again : i1
  }
}
