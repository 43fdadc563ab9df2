// RUN: tenon-opt -t opencl-c %s | filecheck %s

// Every pragma and helper comes once, before all kernels; a helper for what C has no operator for.

// CHECK:      #pragma OPENCL FP_CONTRACT OFF
// CHECK-NEXT: #pragma OPENCL EXTENSION cl_khr_fp64 : enable
// CHECK-NEXT: #pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
// CHECK:      typedef float8 tenon_unaligned_float8 __attribute__((aligned(4)));
// CHECK:      float tenon_muladd_f32(float a, float b, float c) {
// CHECK-NEXT:     #pragma OPENCL FP_CONTRACT ON
// CHECK-NEXT:     return a * b + c;
// CHECK-NEXT: }
// CHECK:      float8 tenon_maximum_f32x8(float8 a, float8 b) {

// An argument is a pool and an offset; one that is never stored to is const.

// CHECK:      __attribute__((reqd_work_group_size(1, 1, 1)))
// CHECK-NEXT: __kernel void scale(__global const uchar *p0, ulong o0,
// CHECK-NEXT:                     __global uchar *p1, ulong o1) {
// CHECK-NEXT:     __global const float *restrict x = (__global const float *)(p0 + o0);
// CHECK-NEXT:     __global float *restrict y = (__global float *)(p1 + o1);
// CHECK-NEXT:     const long block = (long)get_group_id(0);
// CHECK-NEXT:     const long i = block * 8L;
// CHECK-NEXT:     const float8 two = (float8)(2.0f);
// CHECK-NEXT:     const float8 v = *(__global const tenon_unaligned_float8 *)(x + i);
// CHECK-NEXT:     const float8 scaled = v * two;
// CHECK-NEXT:     *(__global tenon_unaligned_float8 *)(y + i) = scaled;
// CHECK-NEXT: }
low.kernel @scale(%x: memref<128xf32>, %y: memref<128xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %block = low.block_id x
  %width = arith.constant 8 : index
  %i = arith.muli %block, %width : index
  %two = arith.constant dense<2.0> : vector<8xf32>
  %v = vector.load %x[%i] : memref<128xf32>, vector<8xf32>
  %scaled = arith.mulf %v, %two : vector<8xf32>
  vector.store %scaled, %y[%i] : memref<128xf32>, vector<8xf32>
}

// A loop carries its values in variables; all are assigned at once.

// CHECK:      __kernel void swap(
// CHECK:          float p = a;
// CHECK-NEXT:     float q = 2.0f;
// CHECK-NEXT:     for (long i = 0L; i < 16L; i += 1L) {
// CHECK-NEXT:         const float next_q = p;
// CHECK-NEXT:         p = q;
// CHECK-NEXT:         q = next_q;
// CHECK-NEXT:     }
// CHECK-NEXT:     x[0L] = p;
// CHECK-NEXT:     x[1L] = q;
low.kernel @swap(%x: memref<2xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %16 = arith.constant 16 : index
  %a = memref.load %x[%0] : memref<2xf32>
  %b = arith.constant 2.0 : f32
  %first, %second = scf.for %i = %0 to %16 step %1 iter_args(%p = %a, %q = %b) -> (f32, f32) {
    scf.yield %q, %p : f32, f32
  }
  memref.store %first, %x[%0] : memref<2xf32>
  memref.store %second, %x[%1] : memref<2xf32>
}

// A branch with results assigns them in both arms; integers wrap, so they are added unsigned.

// CHECK:      __kernel void branch(
// CHECK:          const bool less = n < 3;
// CHECK-NEXT:     int r;
// CHECK-NEXT:     if (less) {
// CHECK-NEXT:         const int sum = (int)((uint)n + (uint)3);
// CHECK-NEXT:         r = sum;
// CHECK-NEXT:     } else {
// CHECK-NEXT:         r = 3;
// CHECK-NEXT:     }
low.kernel @branch(%x: memref<2xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %0 = arith.constant 0 : index
  %three = arith.constant 3 : i32
  %n = memref.load %x[%0] : memref<2xi32>
  %less = arith.cmpi slt, %n, %three : i32
  %r = scf.if %less -> (i32) {
    %sum = arith.addi %n, %three : i32
    scf.yield %sum : i32
  } else {
    scf.yield %three : i32
  }
  memref.store %r, %x[%0] : memref<2xi32>
}

// A product goes into the sum that alone uses it where both may be contracted, and nowhere else.

// CHECK:      __kernel void contract(
// CHECK:          const float fused = tenon_muladd_f32(a, a, 1.0f);
// CHECK-NEXT:     const float product = fused * a;
// CHECK-NEXT:     const float sum = product + a;
// CHECK-NEXT:     const double wide = (double)sum;
low.kernel @contract(%x: memref<2xf32>, %y: memref<2xf64>) grid [1, 1, 1] block [1, 1, 1] {
  %0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %a = memref.load %x[%0] : memref<2xf32>
  %square = arith.mulf %a, %a fastmath<contract> : f32
  %fused = arith.addf %square, %one fastmath<contract> : f32
  %product = arith.mulf %fused, %a fastmath<contract> : f32
  %sum = arith.addf %product, %a : f32
  %wide = arith.extf %sum : f32 to f64
  memref.store %wide, %y[%0] : memref<2xf64>
}

// Work-items share an array of the kernel's outermost scope. Masks are as wide as what was compared.

// CHECK:      __attribute__((reqd_work_group_size(16, 1, 1)))
// CHECK-NEXT: __kernel void shared(
// CHECK:          __local float tile[16];
// CHECK-NEXT:     const long t = (long)get_local_id(0);
// CHECK:          tile[t] = v;
// CHECK-NEXT:     barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
// CHECK-NEXT:     const float8 w = *(__local const tenon_unaligned_float8 *)(tile + 8L);
// CHECK-NEXT:     const float8 larger = tenon_maximum_f32x8(w, w);
// CHECK-NEXT:     const int8 less = w < larger;
// CHECK-NEXT:     const float8 chosen = less ? w : larger;
low.kernel @shared(%x: memref<64xf32>) grid [4, 1, 1] block [16, 1, 1] {
  %t = low.thread_id x
  %8 = arith.constant 8 : index
  %v = memref.load %x[%t] : memref<64xf32>
  %tile = low.alloca : memref<16xf32, "shared">
  memref.store %v, %tile[%t] : memref<16xf32, "shared">
  low.barrier
  %w = vector.load %tile[%8] : memref<16xf32, "shared">, vector<8xf32>
  %larger = arith.maximumf %w, %w : vector<8xf32>
  %less = arith.cmpf olt, %w, %larger : vector<8xf32>
  %chosen = low.select %less, %w, %larger : vector<8xf32>
  vector.store %chosen, %x[%t] : memref<64xf32>, vector<8xf32>
}

// Atomics are builtins where there are some, else a helper tries again until nobody came between; 64 bits ask for
// no more than the base extension. Other work-items have pointers to what is updated.

// CHECK:      __kernel void update(
// CHECK:          __global int *counts = (__global int *)(p1 + o1);
// CHECK:          const int old = atomic_add(counts + i, v);
// CHECK-NEXT:     const int old_1 = (int)atomic_max((volatile __global uint *)(counts + i), (uint)v);
// CHECK-NEXT:     const long old_2 = atom_add(wide + i, 1L);
// CHECK-NEXT:     const long old_3 = tenon_atomic_maxs_i64_global((volatile __global long *)(wide + i), 1L);
// CHECK-NEXT:     const float old_4 = tenon_atomic_addf_f32_local((volatile __local int *)(sums + i), 1.0f);
// CHECK-NEXT:     const float old_5 = as_float(atomic_xchg((volatile __local int *)(sums + i), as_int(1.0f)));
low.kernel @update(%x: memref<64xi32>, %counts: memref<64xi32>, %wide: memref<64xi64>) grid [64, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %one = arith.constant 1 : i64
  %float = arith.constant 1.0 : f32
  %sums = low.alloca : memref<64xf32, "shared">
  %v = memref.load %x[%i] : memref<64xi32>
  %old = low.atomic_rmw addi %v, %counts[%i] : memref<64xi32>
  %old_1 = low.atomic_rmw maxu %v, %counts[%i] : memref<64xi32>
  %old_2 = low.atomic_rmw addi %one, %wide[%i] : memref<64xi64>
  %old_3 = low.atomic_rmw maxs %one, %wide[%i] : memref<64xi64>
  %old_4 = low.atomic_rmw addf %float, %sums[%i] : memref<64xf32, "shared">
  %old_5 = low.atomic_rmw assign %float, %sums[%i] : memref<64xf32, "shared">
}

// Lanes are reversed by a swizzle.

// CHECK:      __kernel void backwards(
// CHECK:          const float4 r = v.s3210;
low.kernel @backwards(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = arith.constant 0 : index
  %v = vector.load %x[%i] : memref<8xf32>, vector<4xf32>
  %r = low.reverse %v : vector<4xf32>
  vector.store %r, %y[%i] : memref<8xf32>, vector<4xf32>
}
