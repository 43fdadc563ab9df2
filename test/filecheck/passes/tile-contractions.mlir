// RUN: tenon-opt -p tile-contractions %s | filecheck %s
// RUN: tenon-opt -p 'tile-contractions{vector-nbytes=64}' %s | filecheck %s --check-prefix WIDE
// RUN: tenon-opt -p tile-contractions,convert-sched-to-low %s | filecheck %s --check-prefix LOW

// CHECK-LABEL: sched.kernel @product(
// CHECK-SAME: the columns of a tile of 6 x 16 sums in registers
// CHECK-NEXT: sched.axis %i = 512 block(108) tile(6) {
// CHECK-NEXT: sched.axis %j = 1024 block(256) tile(16) vector(8) {
// CHECK-NEXT: sched.reduce fma %k = 512 : f32 {
// WIDE-LABEL: sched.kernel @product(
// WIDE-NEXT: sched.axis %i = 512 block({{[0-9]+}}) tile({{[0-9]+}}) {
// WIDE-NEXT: sched.axis %j = 1024 block({{[0-9]+}}) tile({{32|48}}) vector(16) {
// LOW-LABEL: low.kernel @product(
// LOW: low.tile_fma
sched.kernel @product(%a: memref<512x512xf32>, %b: memref<512x1024xf32>, %c: memref<512x1024xf32>) {
  sched.axis %i = 512 {
    sched.axis %j = 1024 {
      %s = sched.reduce fma %k = 512 : f32 {
        %x = memref.load %a[%i, %k] : memref<512x512xf32>
        %y = memref.load %b[%k, %j] : memref<512x1024xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<512x1024xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @sums(
// CHECK-NEXT: sched.axis %i = 512 {
// CHECK-NEXT: sched.reduce addf %k = 512 : f32 {
// A sum that adds what is no product is for map-axes.
sched.kernel @sums(%a: memref<512x512xf32>, %c: memref<512xf32>) {
  sched.axis %i = 512 {
    %s = sched.reduce addf %k = 512 : f32 {
      %x = memref.load %a[%i, %k] : memref<512x512xf32>
      sched.yield %x : f32
    }
    memref.store %s, %c[%i] : memref<512xf32>
  }
}

// CHECK-LABEL: sched.kernel @mapped(
// CHECK-NEXT: sched.axis %i = 64 block(8) {
// CHECK-NEXT: sched.axis %j = 64 {
// What is mapped already stays as it is.
sched.kernel @mapped(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  sched.axis %i = 64 block(8) {
    sched.axis %j = 64 {
      %s = sched.reduce fma %k = 64 : f32 {
        %x = memref.load %a[%i, %k] : memref<64x64xf32>
        %y = memref.load %b[%k, %j] : memref<64x64xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<64x64xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @uneven(
// CHECK: sched.axis %i = 64 {
// CHECK-NEXT: sched.axis %j = 64 {
// LOW-LABEL: low.kernel @uneven(
// LOW-NOT: low.tile_fma
// The last part of the depth is shorter: a tile would take as many steps of it at each step of the other dim.
sched.kernel @uneven(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  sched.axis %i = 64 {
    sched.axis %j = 64 {
      %s = sched.reduce fma %k_outer = 22 : f32 {
        %base = arith.muli %k_outer, %c3 : index
        %left = arith.subi %c64, %base : index
        %t = sched.reduce fma %k_inner = 3 count %left : f32 {
          %k = arith.addi %base, %k_inner : index
          %x = memref.load %a[%i, %k] : memref<64x64xf32>
          %y = memref.load %b[%k, %j] : memref<64x64xf32>
          sched.yield %x, %y : f32
        }
        sched.yield %t : f32
      }
      memref.store %s, %c[%i, %j] : memref<64x64xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @triangle(
// CHECK: sched.axis %i = 64 block({{[0-9]+}}) {
// CHECK-NEXT: sched.axis %j = 64 {{.*}}tile(
// LOW-LABEL: low.kernel @triangle(
// LOW: low.tile_fma
// Sums of one row are of one length, those of one column are not: rows are not tiled.
sched.kernel @triangle(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  sched.axis %i = 64 {
    sched.axis %j = 64 {
      %s = sched.reduce fma %k = 64 count %i : f32 {
        %x = memref.load %a[%i, %k] : memref<64x64xf32>
        %y = memref.load %b[%k, %j] : memref<64x64xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<64x64xf32>
    }
  }
}
