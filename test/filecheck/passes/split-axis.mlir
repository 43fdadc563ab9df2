// RUN: tenon-opt -p 'split-axis{kernel="tail" axis="i" factor=8},split-axis{kernel="divides" axis="i" factor=5},split-axis{kernel="products" axis="k" factor=4},split-axis{kernel="sums" axis="k" factor=4},split-axis{kernel="greatest" axis="k" factor=5},split-axis{kernel="dims" axis="i" factor=4},split-axis{kernel="dims" axis="j" factor=2}' %s | filecheck %s
// RUN: tenon-opt -p 'split-axis{kernel="sums" axis="k" factor=5 allow-reorder=true}' %s | filecheck %s --check-prefix REORDER
// RUN: not tenon-opt -p 'split-axis{kernel="tail" axis="i" factor=0}' %s 2>&1 | filecheck %s --check-prefix ZERO
// RUN: not tenon-opt -p 'split-axis{kernel="tail" axis="i" factor=21}' %s 2>&1 | filecheck %s --check-prefix LARGE
// RUN: not tenon-opt -p 'split-axis{kernel="tail" axis="z" factor=2}' %s 2>&1 | filecheck %s --check-prefix AXIS
// RUN: not tenon-opt -p 'split-axis{kernel="nothing" axis="i" factor=2}' %s 2>&1 | filecheck %s --check-prefix KERNEL
// RUN: not tenon-opt -p 'split-axis{kernel="mapped" axis="i" factor=2}' %s 2>&1 | filecheck %s --check-prefix MAPPED
// RUN: not tenon-opt -p 'split-axis{kernel="sums" axis="k" factor=5},split-axis{kernel="sums" axis="k_outer" factor=2}' %s 2>&1 | filecheck %s --check-prefix SERIAL
// RUN: not tenon-opt -p 'split-axis{kernel="products" axis="k" factor=4},split-axis{kernel="products" axis="k_inner" factor=2 serial=true}' %s 2>&1 | filecheck %s --check-prefix GOESON
// RUN: tenon-opt -p 'split-axis{kernel="products" axis="k" factor=4 serial=true}' %s | filecheck %s --check-prefix LOOP

// GOESON: error: split-axis: sched.reduce %k_inner of @products: it goes on with the sum of %k_outer, so it cannot begin a serial loop
// ZERO: split-axis.mlir:{{[0-9]+}}:3: error: split-axis: sched.axis %i of @tail: factor 0 is not 1 or more
// LARGE: error: split-axis: sched.axis %i of @tail: factor 21 is more than the extent 20
// AXIS: error: split-axis: @tail has no axis %z (its axes: %i)
// KERNEL: error: split-axis: there is no sched.kernel @nothing (kernels: @tail, @divides, @products, @sums, @greatest, @dims, @mapped)
// MAPPED: error: split-axis: sched.axis %i of @mapped: it is mapped to vector(4), expected a serial one (split before mapping)
// SERIAL: error: split-axis: scf.for %k_outer of @sums: it is serial already, expected an axis or a reduction

graph.dim @n min 1 max 64

// A factor that does not divide the extent leaves a count for the last part.
// CHECK-LABEL: sched.kernel @tail
// CHECK:         sched.axis %i_outer = 3 {
// CHECK-NEXT:      %base = arith.muli %i_outer, %c8 : index
// CHECK-NEXT:      %left = arith.subi %c20, %base : index
// CHECK-NEXT:      sched.axis %i_inner = 8 count %left {
// CHECK-NEXT:        %i = arith.addi %base, %i_inner : index
// CHECK-NEXT:        %v = memref.load %x[%i] : memref<20xf32>
sched.kernel @tail(%x: memref<20xf32>, %y: memref<20xf32>) {
  sched.axis %i = 20 {
    %v = memref.load %x[%i] : memref<20xf32>
    memref.store %v, %y[%i] : memref<20xf32>
  }
}

// One that divides it does not; a count that was there is one of the part.
// CHECK-LABEL: sched.kernel @divides
// CHECK:         sched.axis %i_outer = 4 {
// CHECK-NEXT:      %base = arith.muli %i_outer, %c5 : index
// CHECK-NEXT:      %left = arith.subi %count, %base : index
// CHECK-NEXT:      sched.axis %i_inner = 5 count %left {
sched.kernel @divides(%x: memref<20xf32>) {
  %count = arith.constant 17 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 20 count %count {
    memref.store %zero, %x[%i] : memref<20xf32>
  }
}

// LOOP-LABEL: sched.kernel @products
// LOOP:         memref.store %start, %s_so_far[] : memref<f32>
// LOOP:         scf.for %k_outer = %c0 to %c3 step %c1 {
// LOOP:           sched.reduce fma %k_inner = 4 count %left init(%s) : f32 {

// A sum of products goes on in its order: two dims of one sum.
// CHECK-LABEL: sched.kernel @products
// CHECK:         %s = sched.reduce fma %k_outer = 3 init(%start) : f32 {
// CHECK:           %s_1 = sched.reduce fma %k_inner = 4 count %left : f32 {
// CHECK:             sched.yield %v, %v : f32
// CHECK:           sched.yield %s_1 : f32
// CHECK:         memref.store %s, %y
sched.kernel @products(%x: memref<9xf32>, %y: memref<f32>) {
  %start = arith.constant 1.0 : f32
  %s = sched.reduce fma %k = 9 init(%start) : f32 {
    %v = memref.load %x[%k] : memref<9xf32>
    sched.yield %v, %v : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// Another sum of floats becomes a serial loop, or one of partial sums where that is allowed.
// CHECK-LABEL: sched.kernel @sums
// CHECK:         %s_so_far = sched.alloc local : memref<f32>
// CHECK-NEXT:    memref.store %cst, %s_so_far[] : memref<f32>
// CHECK-NEXT:    scf.for %k_outer = %c0 to %c5 step %c1 {
// CHECK-NEXT:      %base = arith.muli %k_outer, %c4 : index
// CHECK-NEXT:      %s = memref.load %s_so_far[] : memref<f32>
// CHECK-NEXT:      %s_1 = sched.reduce addf %k_inner = 4 init(%s) fastmath<nnan> : f32 {
// CHECK:           memref.store %s_1, %s_so_far[] : memref<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %s_2 = memref.load %s_so_far[] : memref<f32>
// CHECK-NEXT:    memref.store %s_2, %y[] : memref<f32>
// REORDER-LABEL: sched.kernel @sums
// REORDER:       %s = sched.reduce addf %k_outer = 4 fastmath<nnan> : f32 {
// REORDER:         %s_1 = sched.reduce addf %k_inner = 5 fastmath<nnan> : f32 {
// REORDER:         sched.yield %s_1 : f32
// REORDER:       memref.store %s,
sched.kernel @sums(%x: memref<20xf32>, %y: memref<f32>) {
  %s = sched.reduce addf %k = 20 fastmath<nnan> : f32 {
    %v = memref.load %x[%k] : memref<20xf32>
    sched.yield %v : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// The greatest of the greatest is the greatest.
// CHECK-LABEL: sched.kernel @greatest
// CHECK:         sched.reduce maximumf %k_outer = 4 : f32 {
// CHECK:           sched.reduce maximumf %k_inner = 5 : f32 {
sched.kernel @greatest(%x: memref<20xf32>, %y: memref<f32>) {
  %s = sched.reduce maximumf %k = 20 : f32 {
    %v = memref.load %x[%k] : memref<20xf32>
    sched.yield %v : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// Extents made of dims.
// CHECK-LABEL: sched.kernel @dims
// CHECK:         sched.axis %{{.*}} = (n + 3) floordiv 4 {
// CHECK:           sched.axis %{{.*}} = 4 count %{{.*}} {
// CHECK:             sched.axis %{{.*}} = 2 * n {
// CHECK:               sched.axis %{{.*}} = 2 {
sched.kernel @dims(%n: index, %x: memref<?x?xf32, {dims = #graph.dims<n, 4 * n>}>) dims [n] {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = n {
    sched.axis %j = 4 * n {
      memref.store %zero, %x[%i, %j] : memref<?x?xf32, {dims = #graph.dims<n, 4 * n>}>
    }
  }
}

sched.kernel @mapped(%x: memref<20xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 20 vector(4) {
    memref.store %zero, %x[%i] : memref<20xf32>
  }
}
