// RUN: tenon-opt -p 'split-axis{kernel="mm" axis="j" factor=8},reorder-axes{kernel="mm" axes="j_outer","i","j_inner"},pack-buffer{kernel="mm" axis="j_outer" buffer="b" layout="k","j_inner"},pack-buffer{kernel="serial" axis="i" buffer="x" layout="k","j"},pack-buffer{kernel="triangle" axis="i" buffer="x" layout="j","k"}' %s | filecheck %s
// RUN: not tenon-opt -p 'pack-buffer{kernel="mm" axis="i" buffer="b" layout="k","i"}' %s 2>&1 | filecheck %s --check-prefix OUTSIDE
// RUN: not tenon-opt -p 'pack-buffer{kernel="mm" axis="i" buffer="b" layout="k","k"}' %s 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not tenon-opt -p 'pack-buffer{kernel="mm" axis="i" buffer="b" layout="k"}' %s 2>&1 | filecheck %s --check-prefix DEPENDS
// RUN: not tenon-opt -p 'pack-buffer{kernel="triangle" axis="i" buffer="x" layout="k","j"}' %s 2>&1 | filecheck %s --check-prefix COUNT
// RUN: not tenon-opt -p 'pack-buffer{kernel="two" axis="i" buffer="x" layout="j"}' %s 2>&1 | filecheck %s --check-prefix PLACES
// RUN: not tenon-opt -p 'pack-buffer{kernel="two" axis="i" buffer="x" layout="l"}' %s 2>&1 | filecheck %s --check-prefix AROUND
// RUN: not tenon-opt -p 'pack-buffer{kernel="from" axis="i" buffer="x" layout="k"}' %s 2>&1 | filecheck %s --check-prefix FROM
// RUN: not tenon-opt -p 'pack-buffer{kernel="dims" axis="i" buffer="x" layout="j"}' %s 2>&1 | filecheck %s --check-prefix EXTENT
// RUN: not tenon-opt -p 'pack-buffer{kernel="triangle" axis="i" buffer="x" layout="j"}' %s 2>&1 | filecheck %s --check-prefix GUARD

// GUARD: error: pack-buffer: sched.axis %k of @triangle: whether %x is read depends on it, and it is not in the layout
// OUTSIDE: error: pack-buffer: sched.axis %i of @mm: it does not stand in %i
// TWICE: error: pack-buffer: sched.reduce %k of @mm: it is named twice
// DEPENDS: error: pack-buffer: sched.axis %i of @mm: dim 1 of %b is read at a place that depends on %j, which is not in the layout before
// COUNT: error: pack-buffer: sched.axis %i of @triangle: %k has a count that depends on %j, which is not in the layout before
// PLACES: error: pack-buffer: sched.axis %i of @two: %x is read at different places in it
// AROUND: error: pack-buffer: sched.axis %l of @two: a read of %x stands outside of it
// FROM: error: pack-buffer: scf.for %k of @from: it does not count from 0 to a number
// EXTENT: error: pack-buffer: sched.axis %j of @dims: a local buffer needs a number of elements, its extent is n

graph.dim @n min 1 max 64

// CHECK-LABEL: sched.kernel @mm
// CHECK:         sched.axis %j_outer = 3 {
// CHECK:           %b_packed = sched.alloc local : memref<30x8xf32>
// CHECK-NEXT:      sched.axis %b_packed_at = 30 {
// CHECK:             sched.axis %b_packed_at_a = 8 count
// CHECK:               %b_element = memref.load %b[%b_packed_at, %{{.*}}] : memref<30x20xf32>
// CHECK:               memref.store %b_element, %b_packed[%b_packed_at, %b_packed_at_a] : memref<30x8xf32>
// CHECK:           sched.axis %i = 4 {
// CHECK:             %y = memref.load %b_packed[%k, %j_inner] : memref<30x8xf32>
sched.kernel @mm(%a: memref<4x30xf32>, %b: memref<30x20xf32>, %c: memref<4x20xf32>) {
  sched.axis %i = 4 {
    sched.axis %j = 20 {
      %s = sched.reduce fma %k = 30 : f32 {
        %x = memref.load %a[%i, %k] : memref<4x30xf32>
        %y = memref.load %b[%k, %j] : memref<30x20xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<4x20xf32>
    }
  }
}

// A serial loop may be a dim too.
// CHECK-LABEL: sched.kernel @serial
// CHECK:         %x_packed = sched.alloc local : memref<5x6xf32>
// CHECK-NEXT:    sched.axis %x_packed_at = 5 {
// CHECK-NEXT:      sched.axis %x_packed_at_a = 6 {
// CHECK-NEXT:        memref.load %x[%i, %x_packed_at_a, %x_packed_at]
sched.kernel @serial(%x: memref<4x6x5xf32>, %y: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  sched.axis %i = 4 {
    sched.axis %j = 6 {
      scf.for %k = %c0 to %c5 step %c1 {
        %v = memref.load %x[%i, %j, %k] : memref<4x6x5xf32>
        memref.store %v, %y[%j] : memref<6xf32>
      }
    }
  }
}

// A count that depends on a dim before it is computed again.
// CHECK-LABEL: sched.kernel @triangle
// CHECK:         sched.axis %x_packed_at = 6 {
// CHECK-NEXT:      sched.axis %x_packed_at_a = 6 count %x_packed_at {
sched.kernel @triangle(%x: memref<4x6x6xf32>, %y: memref<4x6x6xf32>) {
  sched.axis %i = 4 {
    sched.axis %j = 6 {
      sched.axis %k = 6 count %j {
        %v = memref.load %x[%i, %j, %k] : memref<4x6x6xf32>
        memref.store %v, %y[%i, %j, %k] : memref<4x6x6xf32>
      }
    }
  }
}

sched.kernel @two(%x: memref<5x6xf32>, %y: memref<4x6xf32>) {
  %c4 = arith.constant 4 : index
  sched.axis %i = 4 {
    sched.axis %j = 6 {
      %v = memref.load %x[%i, %j] : memref<5x6xf32>
      %w = memref.load %x[%c4, %j] : memref<5x6xf32>
      %s = arith.addf %v, %w : f32
      memref.store %s, %y[%i, %j] : memref<4x6xf32>
    }
    sched.axis %l = 6 {
    }
  }
}

sched.kernel @from(%x: memref<6xf32>, %y: memref<6xf32>) {
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  sched.axis %i = 4 {
    scf.for %k = %c1 to %c5 step %c1 {
      %v = memref.load %x[%k] : memref<6xf32>
      memref.store %v, %y[%i] : memref<6xf32>
    }
  }
}

sched.kernel @dims(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>, %y: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] {
  sched.axis %i = 4 {
    sched.axis %j = n {
      %v = memref.load %x[%j] : memref<?xf32, {dims = #graph.dims<n>}>
      memref.store %v, %y[%j] : memref<?xf32, {dims = #graph.dims<n>}>
    }
  }
}
