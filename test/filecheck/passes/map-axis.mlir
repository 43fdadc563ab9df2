// RUN: tenon-opt -p 'map-axis{kernel="f" axes="i","j" mappings="block(2)","vector(8) unroll(2)"}' %s | filecheck %s
// RUN: tenon-opt -p 'map-axis{kernel="f" axes="k" mappings="vector(4)" allow-reorder=true},map-axis{kernel="f" axes="k" mappings="serial" allow-reorder=true}' %s | filecheck %s --check-prefix SERIAL
// RUN: not tenon-opt -p 'map-axis{kernel="f" axes="k" mappings="vector(4) unroll(2)"}' %s 2>&1 | filecheck %s --check-prefix ORDER
// RUN: not tenon-opt -p 'map-axis{kernel="f" axes="i" mappings="vector(4)"}' %s 2>&1 | filecheck %s --check-prefix STRIDE
// RUN: not tenon-opt -p 'map-axis{kernel="f" axes="j" mappings="block"}' %s 2>&1 | filecheck %s --check-prefix BLOCK
// RUN: not tenon-opt -p 'map-axis{kernel="f" axes="i" mappings="quick"}' %s 2>&1 | filecheck %s --check-prefix WORD
// RUN: not tenon-opt -p 'map-axis{kernel="f" axes="i" mappings="vector(3)"}' %s 2>&1 | filecheck %s --check-prefix LANES
// RUN: not tenon-opt -p 'map-axis{kernel="f" axes="i","j" mappings="block"}' %s 2>&1 | filecheck %s --check-prefix MANY
// RUN: not tenon-opt -p 'split-axis{kernel="f" axis="k" factor=2},map-axis{kernel="f" axes="k_outer" mappings="unroll(2)"}' %s 2>&1 | filecheck %s --check-prefix FOR
// RUN: not tenon-opt -p 'split-axis{kernel="products" axis="k" factor=4},map-axis{kernel="products" axes="i","j" mappings="tile(2)","tile(4)"}' %s 2>&1 | filecheck %s --check-prefix TILE
// RUN: not tenon-opt -p 'map-axis{kernel="same" axes="i" mappings="block"}' %s 2>&1 | filecheck %s --check-prefix SAME
// RUN: not tenon-opt -p 'stage-buffer{kernel="products" axis="k" buffer="a"},map-axis{kernel="products" axes="i","j" mappings="tile(2)","tile(4)"}' %s 2>&1 | filecheck %s --check-prefix SUM
// RUN: not tenon-opt -p 'stage-buffer{kernel="products" axis="i" buffer="a" scope="shared"},map-axis{kernel="products" axes="i" mappings="thread"}' %s 2>&1 | filecheck %s --check-prefix THREAD

// THREAD: error: map-axis: sched.axis %i of @products: it cannot be thread: sched.alloc: a shared buffer cannot stand under axis %i (its iterations are work-items)
// SUM: error: map-axis: sched.axis %j of @products: it cannot be tile(4): sched.axis: axis %j cannot be tile(4) (sched.alloc in its sum, expected what is multiplied)
// SAME: error: map-axis: sched.axis %i of @same: it cannot be block: two iterations of %i may store the same element of %x
// TILE: error: map-axis: sched.axis %j of @products: it cannot be tile(4): sched.axis: axis %j cannot be tile(4) (the count of axis %k_inner in it depends on axis %k_outer)
// ORDER: error: map-axis: sched.reduce %k of @f: 8 partial results would change the order in which it combines by addf (hint: allow_reorder)
// STRIDE: error: map-axis: sched.axis %i of @f: it cannot be vector(4): memref.load: cannot be a vector over axis %i (stride is 20, expected -1, 0 or 1)
// BLOCK: error: map-axis: sched.axis %j of @f: it cannot be block: sched.axis: axis %j cannot be block (an axis around it is serial)
// WORD: error: map-axis: sched.axis %i of @f: 'quick' is no mapping (expected words like block(4) vector(8) unroll(2))
// LANES: error: map-axis: sched.axis %i of @f: 'vector(3)' is no mapping (sched.mapping: vector(3) is not 1, 2, 4, 8 or 16 lanes)
// MANY: error: map-axis: @f: 2 axes and 1 mappings, expected as many
// FOR: error: map-axis: scf.for %k_outer of @f: it is serial, expected an axis or a reduction

// CHECK:       sched.axis %i = 6 block(2) {
// CHECK:         sched.axis %j = 20 vector(8) unroll(2) {
// SERIAL:      sched.reduce addf %k = 20 : f32 {
sched.kernel @f(%x: memref<6x20xf32>, %y: memref<6x20xf32>) {
  sched.axis %i = 6 {
    %s = sched.reduce addf %k = 20 : f32 {
      %v = memref.load %x[%i, %k] : memref<6x20xf32>
      sched.yield %v : f32
    }
    sched.axis %j = 20 {
      %v = memref.load %x[%i, %j] : memref<6x20xf32>
      %w = arith.divf %v, %s : f32
      memref.store %w, %y[%i, %j] : memref<6x20xf32>
    }
  }
}

sched.kernel @products(%a: memref<6x9xf32>, %b: memref<9x8xf32>, %c: memref<6x8xf32>) {
  sched.axis %i = 6 {
    sched.axis %j = 8 {
      %s = sched.reduce fma %k = 9 : f32 {
        %x = memref.load %a[%i, %k] : memref<6x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x8xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<6x8xf32>
    }
  }
}

sched.kernel @same(%x: memref<f32>, %y: memref<5xf32>) {
  sched.axis %i = 5 {
    %v = memref.load %y[%i] : memref<5xf32>
    memref.store %v, %x[] : memref<f32>
  }
}
