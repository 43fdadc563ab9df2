// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-debuginfo %s | tenon-opt | filecheck %s

// CHECK:       low.kernel @every_op(%x: memref<128xf32>, %n: memref<128xi32>) grid [2, 3, 4] block [32, 2, 1] {
// CHECK-NEXT:    %b = low.block_id x
// CHECK-NEXT:    %b_1 = low.block_id y
// CHECK-NEXT:    %b_2 = low.block_id z
// CHECK-NEXT:    %t = low.thread_id x
// CHECK-NEXT:    %t_1 = low.thread_id y
// CHECK-NEXT:    %t_2 = low.thread_id z
// CHECK-NEXT:    %s = low.alloca : memref<64xf32, "shared">
// CHECK-NEXT:    %p = low.alloca {tag = 1 : i64} : memref<0xi8>
// CHECK-NEXT:    %v = memref.load %x[%t] : memref<128xf32>
// CHECK-NEXT:    memref.store %v, %s[%t] : memref<64xf32, "shared">
// CHECK-NEXT:    low.barrier
// CHECK-NEXT:    %c = arith.cmpi slt, %b, %t : index
// CHECK-NEXT:    %r = low.select %c, %v, %v : f32
// CHECK-NEXT:    %u = low.select %c, %v, %v unpredictable : f32
// CHECK-NEXT:    %m = low.remf %r, %v : f32
// CHECK-NEXT:    %l = low.ldexp %m, %v : f32
// CHECK-NEXT:    %w = vector.load %x[%t] : memref<128xf32>, vector<8xf32>
// CHECK-NEXT:    %wc = arith.cmpf olt, %w, %w : vector<8xf32>
// CHECK-NEXT:    %wr = low.select %wc, %w, %w : vector<8xf32>
// CHECK-NEXT:    %wm = low.remf %wr, %w : vector<8xf32>
// CHECK-NEXT:  }
low.kernel @every_op(%x: memref<128xf32>, %n: memref<128xi32>) grid [2, 3, 4] block [32, 2, 1] {
  %b = low.block_id x
  %b_1 = low.block_id y
  %b_2 = low.block_id z
  %t = low.thread_id x
  %t_1 = low.thread_id y
  %t_2 = low.thread_id z
  %s = low.alloca : memref<64xf32, "shared">
  %p = low.alloca {tag = 1 : i64} : memref<0xi8>
  %v = memref.load %x[%t] : memref<128xf32>
  memref.store %v, %s[%t] : memref<64xf32, "shared">
  low.barrier
  %c = arith.cmpi slt, %b, %t : index
  %r = low.select %c, %v, %v : f32
  %u = low.select %c, %v, %v unpredictable : f32
  %m = low.remf %r, %v : f32
  %l = low.ldexp %m, %v : f32
  %w = vector.load %x[%t] : memref<128xf32>, vector<8xf32>
  %wc = arith.cmpf olt, %w, %w : vector<8xf32>
  %wr = low.select %wc, %w, %w : vector<8xf32>
  %wm = low.remf %wr, %w : vector<8xf32>
}

// CHECK:       low.kernel @conversions(%n: memref<8xi32>) grid [0, 1, 1] block [1, 1, 1] attributes {note = "mine"} {
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    %v = memref.load %n[%i] : memref<8xi32>
// CHECK-NEXT:    %a = low.convert sitofp %v : i32 to f64
// CHECK-NEXT:    %b = low.convert uitofp %v : i32 to bf16
// CHECK-NEXT:    %c = low.convert fptosi %a : f64 to i64
// CHECK-NEXT:    %d = low.convert fptoui %b : bf16 to i8
// CHECK-NEXT:    %e = low.convert extsi %v : i32 to i64
// CHECK-NEXT:    %f = low.convert extui %d : i8 to i16
// CHECK-NEXT:    %g = low.convert trunci %e : i64 to i1
// CHECK-NEXT:    %w = vector.load %n[%i] : memref<8xi32>, vector<4xi32>
// CHECK-NEXT:    %h = low.convert sitofp %w {note = "mine"} : vector<4xi32> to vector<4xf16>
// CHECK-NEXT:  }
low.kernel @conversions(%n: memref<8xi32>) grid [0, 1, 1] block [1, 1, 1] attributes {note = "mine"} {
  %i = low.block_id x
  %v = memref.load %n[%i] : memref<8xi32>
  %a = low.convert sitofp %v : i32 to f64
  %b = low.convert uitofp %v : i32 to bf16
  %c = low.convert fptosi %a : f64 to i64
  %d = low.convert fptoui %b : bf16 to i8
  %e = low.convert extsi %v : i32 to i64
  %f = low.convert extui %d : i8 to i16
  %g = low.convert trunci %e : i64 to i1
  %w = vector.load %n[%i] : memref<8xi32>, vector<4xi32>
  %h = low.convert sitofp %w {note = "mine"} : vector<4xi32> to vector<4xf16>
}

// CHECK-LABEL: low.kernel @tiles
// CHECK:         low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 transposed %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 ahead 16 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 ahead 16 level 2 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] prefetch lhs[%n, 8, 8] rhs[%one, 4, 2] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] prefetch rhs[%one, 1, 1] {note} : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] prefetch lhs[%i, 3, 1] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %n, %one] * %b[%i, %n, %n] depth [%n, %n] prefetch rhs[%i, 5, 5] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 1 x 16 live %n %c[%i, %n] += %a[%i, %n, %n, %one] * %b[%i, %n, %one] depth [%n, %n] {note} : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 live %n x 48 %c[%i, %n] += %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 live %n x 48 live %one ahead 16 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
// CHECK-NEXT:    low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %n, %one] * nibbles %d[%i, %n, %zero] depth [%n, %two] : memref<4096xf32>, memref<4096xf32>, memref<4096xi8>
low.kernel @tiles(%a: memref<4096xf32>, %b: memref<4096xbf16>, %c: memref<4096xf32>, %d: memref<4096xi8>) grid [2, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %i = low.block_id x
  %n = arith.constant 4 : index
  %one = arith.constant 1 : index
  low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 transposed %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 ahead 16 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 ahead 16 level 2 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] prefetch lhs[%n, 8, 8] rhs[%one, 4, 2] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] prefetch rhs[%one, 1, 1] {note} : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] prefetch lhs[%i, 3, 1] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %n, %one] * %b[%i, %n, %n] depth [%n, %n] prefetch rhs[%i, 5, 5] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 1 x 16 live %n %c[%i, %n] += %a[%i, %n, %n, %one] * %b[%i, %n, %one] depth [%n, %n] {note} : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 live %n x 48 %c[%i, %n] += %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 live %n x 48 live %one ahead 16 %c[%i, %n] = %a[%i, %n, %one] * %b[%i, %n] depth [%n] : memref<4096xf32>, memref<4096xf32>, memref<4096xbf16>
  low.tile_fma 8 x 48 %c[%i, %n] = %a[%i, %n, %n, %one] * nibbles %d[%i, %n, %zero] depth [%n, %two] : memref<4096xf32>, memref<4096xf32>, memref<4096xi8>
}

// CHECK-LABEL: low.kernel @narrow_tiles
// CHECK:         low.tile_fma 8 x 48 %c[%i, %i] = %a[%i, %i, %i] * unsigned %b[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xi8>
// CHECK-NEXT:    low.tile_fma 8 x 48 %d[%i, %i] += unsigned %b[%i, %i, %i] * %b[%i, %i] depth [%i] : memref<64xi32>, memref<64xi8>, memref<64xi8>
low.kernel @narrow_tiles(%a: memref<64xf32>, %b: memref<64xi8>, %c: memref<64xf32>, %d: memref<64xi32>) grid [2, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  low.tile_fma 8 x 48 %c[%i, %i] = %a[%i, %i, %i] * unsigned %b[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xi8>
  low.tile_fma 8 x 48 %d[%i, %i] += unsigned %b[%i, %i, %i] * %b[%i, %i] depth [%i] : memref<64xi32>, memref<64xi8>, memref<64xi8>
}

// CHECK-LABEL: low.kernel @square
// CHECK:         %a, %b = low.transpose %v, %w : vector<2xf32>
// CHECK-NEXT:    %{{.*}}, %{{.*}} = low.transpose %b, %a {note} : vector<2xf32>
low.kernel @square(%x: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = vector.load %x[%i] : memref<4xf32>, vector<2xf32>
  %w = vector.load %x[%i] : memref<4xf32>, vector<2xf32>
  %a, %b = low.transpose %v, %w : vector<2xf32>
  %c, %d = low.transpose %b, %a {note} : vector<2xf32>
}

// CHECK-LABEL: low.kernel @backwards
// CHECK:         %r = low.reverse %v : vector<8xf32>
// CHECK-NEXT:    %s = low.reverse %r {note} : vector<8xf32>
low.kernel @backwards(%x: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = vector.load %x[%i] : memref<8xf32>, vector<8xf32>
  %r = low.reverse %v : vector<8xf32>
  %s = low.reverse %r {note} : vector<8xf32>
}

// CHECK-LABEL: low.kernel @atomics
// CHECK:         %old = low.atomic_rmw addi %i32, %i32s[%i] : memref<8xi32>
// CHECK-NEXT:    %old_1 = low.atomic_rmw muli %i32, %i32s[%i] : memref<8xi32>
// CHECK-NEXT:    %old_2 = low.atomic_rmw maxs %i32, %i32s[%i] : memref<8xi32>
// CHECK-NEXT:    %old_3 = low.atomic_rmw mins %i32, %i32s[%i] : memref<8xi32>
// CHECK-NEXT:    %old_4 = low.atomic_rmw maxu %i32, %i32s[%i] : memref<8xi32>
// CHECK-NEXT:    %old_5 = low.atomic_rmw minu %i64, %i64s[%i] : memref<8xi64>
// CHECK-NEXT:    %old_6 = low.atomic_rmw andi %i64, %i64s[%i] {note} : memref<8xi64>
// CHECK-NEXT:    %old_7 = low.atomic_rmw ori %i64, %i64s[%i] : memref<8xi64>
// CHECK-NEXT:    %old_8 = low.atomic_rmw xori %i64, %i64s[%i] : memref<8xi64>
// CHECK-NEXT:    %old_9 = low.atomic_rmw assign %i64, %i64s[%i] : memref<8xi64>
// CHECK-NEXT:    %old_10 = low.atomic_rmw addf %f32, %f32s[%i] : memref<8xf32>
// CHECK-NEXT:    %old_11 = low.atomic_rmw maximumf %f32, %f32s[%i] : memref<8xf32>
// CHECK-NEXT:    %old_12 = low.atomic_rmw assign %f32, %f32s[%i] : memref<8xf32>
// CHECK-NEXT:    %old_13 = low.atomic_rmw mulf %f64, %f64s[%i] : memref<8xf64>
// CHECK-NEXT:    %old_14 = low.atomic_rmw minimumf %f64, %f64s[%i] : memref<8xf64>
// CHECK-NEXT:    %old_15 = low.atomic_rmw addi %i32, %shared[%i] : memref<4xi32, "shared">
low.kernel @atomics(%i32s: memref<8xi32>, %i64s: memref<8xi64>, %f32s: memref<8xf32>, %f64s: memref<8xf64>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %i32 = arith.constant 1 : i32
  %i64 = arith.constant 1 : i64
  %f32 = arith.constant 1.0 : f32
  %f64 = arith.constant 1.0 : f64
  %shared = low.alloca : memref<4xi32, "shared">
  %old = low.atomic_rmw addi %i32, %i32s[%i] : memref<8xi32>
  %old_1 = low.atomic_rmw muli %i32, %i32s[%i] : memref<8xi32>
  %old_2 = low.atomic_rmw maxs %i32, %i32s[%i] : memref<8xi32>
  %old_3 = low.atomic_rmw mins %i32, %i32s[%i] : memref<8xi32>
  %old_4 = low.atomic_rmw maxu %i32, %i32s[%i] : memref<8xi32>
  %old_5 = low.atomic_rmw minu %i64, %i64s[%i] : memref<8xi64>
  %old_6 = low.atomic_rmw andi %i64, %i64s[%i] {note} : memref<8xi64>
  %old_7 = low.atomic_rmw ori %i64, %i64s[%i] : memref<8xi64>
  %old_8 = low.atomic_rmw xori %i64, %i64s[%i] : memref<8xi64>
  %old_9 = low.atomic_rmw assign %i64, %i64s[%i] : memref<8xi64>
  %old_10 = low.atomic_rmw addf %f32, %f32s[%i] : memref<8xf32>
  %old_11 = low.atomic_rmw maximumf %f32, %f32s[%i] : memref<8xf32>
  %old_12 = low.atomic_rmw assign %f32, %f32s[%i] : memref<8xf32>
  %old_13 = low.atomic_rmw mulf %f64, %f64s[%i] : memref<8xf64>
  %old_14 = low.atomic_rmw minimumf %f64, %f64s[%i] : memref<8xf64>
  %old_15 = low.atomic_rmw addi %i32, %shared[%i] : memref<4xi32, "shared">
}
