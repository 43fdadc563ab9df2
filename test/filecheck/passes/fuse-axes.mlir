// RUN: tenon-opt -p 'fuse-axes{kernel="two" axes="i","j"},fuse-axes{kernel="products" axes="a","b"}' %s | filecheck %s
// RUN: tenon-opt -p 'split-axis{kernel="two" axis="j" factor=2},fuse-axes{kernel="two" axes="j_outer","j_inner"},fuse-axes{kernel="two" axes="i","j_outer_j_inner"},convert-sched-to-low' %s | filecheck %s --check-prefix LINEAR
// RUN: tenon-opt -p 'fuse-axes{kernel="sums" axes="a","b" allow-reorder=true}' %s | filecheck %s --check-prefix REORDER
// RUN: not tenon-opt -p 'fuse-axes{kernel="sums" axes="a","b"}' %s 2>&1 | filecheck %s --check-prefix ORDER
// RUN: not tenon-opt -p 'fuse-axes{kernel="two" axes="i"}' %s 2>&1 | filecheck %s --check-prefix ONE
// RUN: not tenon-opt -p 'split-axis{kernel="two" axis="j" factor=4},fuse-axes{kernel="two" axes="j_outer","j_inner"}' %s 2>&1 | filecheck %s --check-prefix COUNT
// RUN: not tenon-opt -p 'map-axis{kernel="two" axes="j" mappings="vector(2)"},fuse-axes{kernel="two" axes="i","j"}' %s 2>&1 | filecheck %s --check-prefix MAPPED
// RUN: not tenon-opt -p 'fuse-axes{kernel="different" axes="a","b"}' %s 2>&1 | filecheck %s --check-prefix KIND
// RUN: not tenon-opt -p 'fuse-axes{kernel="starts" axes="a","b"}' %s 2>&1 | filecheck %s --check-prefix INIT
// RUN: not tenon-opt -p 'fuse-axes{kernel="serial" axes="i","k"}' %s 2>&1 | filecheck %s --check-prefix SERIAL
// RUN: not tenon-opt -p 'fuse-axes{kernel="rows" axes="i","k"}' %s 2>&1 | filecheck %s --check-prefix ROWS

// ROWS: error: fuse-axes: sched.reduce %k of @rows: it is a sched.reduce, and %i is a sched.axis
// ORDER: error: fuse-axes: sched.reduce %a of @sums: the order in which it combines by addf would change (hint: allow_reorder)
// ONE: error: fuse-axes: @two: 1 axes, expected 2
// COUNT: error: fuse-axes: sched.axis %j_inner of @two: it has a count, so its iterations are not the same number each time
// MAPPED: error: fuse-axes: sched.axis %j of @two: it is mapped to vector(2), expected a serial one (fuse before mapping)
// KIND: error: fuse-axes: sched.reduce %b of @different: it combines by minimumf, and %a by maximumf
// INIT: error: fuse-axes: sched.reduce %b of @starts: it starts from a value in each iteration of %a
// SERIAL: error: fuse-axes: scf.for %k of @serial: it is serial, expected axes or reductions

// CHECK-LABEL: sched.kernel @two
// CHECK:         %[[ALL:.*]] = arith.muli %c3, %c6 : index
// CHECK-NEXT:    sched.axis %i_j = 24 count %[[ALL]] {
// CHECK-NEXT:      %i = arith.divui %i_j, %c6 : index
// CHECK-NEXT:      %j = arith.remui %i_j, %c6 : index
// CHECK-NEXT:      %v = memref.load %x[%i]
// CHECK-NEXT:      memref.store %v, %y[%i, %j]

// Linear indices are those of the loop over both again.
// LINEAR-LABEL: low.kernel @two
// LINEAR:         scf.for %[[I:.*]] = %c0 to
// LINEAR:           memref.store %{{.*}}, %y[%[[I]]] : memref<24xf32>
sched.kernel @two(%x: memref<4xf32>, %y: memref<4x6xf32>) {
  %c3 = arith.constant 3 : index
  sched.axis %i = 4 count %c3 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.axis %j = 6 {
      memref.store %v, %y[%i, %j] : memref<4x6xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @products
// CHECK:         %s = sched.reduce fma %a_b = 20 init(%start) fastmath<nnan> : f32 {
// CHECK-NEXT:      %a = arith.divui %a_b, %c5 : index
// CHECK-NEXT:      %b = arith.remui %a_b, %c5 : index
// CHECK-NEXT:      %v = memref.load %x[%a, %b]
// CHECK-NEXT:      sched.yield %v, %v : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %s, %y[]
sched.kernel @products(%x: memref<4x5xf32>, %y: memref<f32>) {
  %start = memref.load %y[] : memref<f32>
  %s = sched.reduce fma %a = 4 init(%start) fastmath<nnan> : f32 {
    %t = sched.reduce fma %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v, %v : f32
    }
    sched.yield %t : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// REORDER-LABEL: sched.kernel @sums
// REORDER:         sched.reduce addf %a_b = 20 : f32 {
sched.kernel @sums(%x: memref<4x5xf32>, %y: memref<f32>) {
  %s = sched.reduce addf %a = 4 : f32 {
    %t = sched.reduce addf %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v : f32
    }
    sched.yield %t : f32
  }
  memref.store %s, %y[] : memref<f32>
}

sched.kernel @different(%x: memref<4x5xf32>, %y: memref<f32>) {
  %s = sched.reduce maximumf %a = 4 : f32 {
    %t = sched.reduce minimumf %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v : f32
    }
    sched.yield %t : f32
  }
  memref.store %s, %y[] : memref<f32>
}

sched.kernel @starts(%x: memref<4x5xi32>, %y: memref<i32>) {
  %start = memref.load %y[] : memref<i32>
  %s = sched.reduce addi %a = 4 : i32 {
    %t = sched.reduce addi %b = 5 init(%start) : i32 {
      %v = memref.load %x[%a, %b] : memref<4x5xi32>
      sched.yield %v : i32
    }
    sched.yield %t : i32
  }
  memref.store %s, %y[] : memref<i32>
}

sched.kernel @serial(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    scf.for %k = %c0 to %c1 step %c1 {
      memref.store %zero, %x[%i] : memref<4xf32>
    }
  }
}

sched.kernel @rows(%x: memref<4x5xf32>) {
  sched.axis %i = 4 {
    %s = sched.reduce maximumf %k = 5 : f32 {
      %v = memref.load %x[%i, %k] : memref<4x5xf32>
      sched.yield %v : f32
    }
  }
}
