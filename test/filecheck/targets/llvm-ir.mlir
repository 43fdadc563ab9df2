// RUN: tenon-opt -t llvm-ir --target=x86-64-v3 %s | filecheck %s

// A kernel is a function over a range of the grid, and one that takes the arguments in a table.

// CHECK:      define void @scale.range(ptr noalias readonly align 4 %x, ptr noalias align 4 %y, i64 %begin, i64 %end) nounwind {
// CHECK:      %group = phi i64 [ %begin, %entry ], [ %next, %loop_body ]
// CHECK:      %at = getelementptr inbounds float, ptr %x, i64 %i
// CHECK-NEXT: %v = load <8 x float>, ptr %at, align 4
// CHECK-NEXT: %scaled = fmul contract <8 x float> %v, splat (float 0x4000000000000000)
// CHECK:      store <8 x float> %scaled, ptr %at.1, align 4
// CHECK:      define void @scale.chunk(ptr %table, i64 %begin, i64 %end) nounwind noinline optnone "arguments"="2" "grid"="16,1,1" "block"="1,1,1" {
// CHECK:      call void @scale.range(ptr %argument0, ptr %argument1, i64 %begin, i64 %end)
low.kernel @scale(%x: memref<128xf32>, %y: memref<128xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %block = low.block_id x
  %width = arith.constant 8 : index
  %i = arith.muli %block, %width : index
  %two = arith.constant dense<2.0> : vector<8xf32>
  %v = vector.load %x[%i] : memref<128xf32>, vector<8xf32>
  %scaled = arith.mulf %v, %two fastmath<contract> : vector<8xf32>
  vector.store %scaled, %y[%i] : memref<128xf32>, vector<8xf32>
}

// A loop carries its values in phis; a reduction halves its lanes and ends with its accumulator.

// CHECK:      define void @row_sum.range(
// CHECK:      %at = getelementptr float, ptr %x, i64 %base
// CHECK:      loop.1:
// CHECK-NEXT: %j = phi i64 [ 0, %loop_body ], [ %next, %loop_body.1 ]
// CHECK-NEXT: %sum = phi float [ 0x0000000000000000, %loop_body ], [ %larger, %loop_body.1 ]
// CHECK-NEXT: %more.1 = icmp slt i64 %j, 64
// CHECK:      %at.1 = getelementptr float, ptr %at, i64 %j
// CHECK:      fadd <4 x float>
// CHECK:      fadd <2 x float>
// CHECK:      fadd <1 x float>
// CHECK:      %larger = fadd float %sum, %{{.*}}
// CHECK:      store float %sum, ptr %at.2, align 4
low.kernel @row_sum(%x: memref<1024xf32>, %y: memref<16xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %row = low.block_id x
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %base = arith.muli %row, %c64 : index
  %total = scf.for %j = %c0 to %c64 step %c8 iter_args(%sum = %zero) -> (f32) {
    %i = arith.addi %base, %j : index
    %v = vector.load %x[%i] : memref<1024xf32>, vector<8xf32>
    %larger = vector.reduction <add>, %v, %sum : vector<8xf32> into f32
    scf.yield %larger : f32
  }
  memref.store %total, %y[%row] : memref<16xf32>
}

// A loop carries a pointer to rows, and to what lies a known number of elements behind.

// CHECK:      define void @column_sums.range({{.*}}) nounwind {
// CHECK:      %place = phi ptr [ %x, %loop_body ], [ %at, %loop_body.1 ]
// CHECK:      %at = getelementptr float, ptr %place, i64 64
// CHECK:      load <8 x float>, ptr %place, align 4
// CHECK:      %at.1 = getelementptr float, ptr %place, i64 8
// CHECK-NEXT: load <8 x float>, ptr %at.1, align 4
low.kernel @column_sums(%x: memref<1024xf32>, %y: memref<16xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %sums:2 = scf.for %j = %c0 to %c16 step %c1 iter_args(%a = %zero, %b = %zero) -> (vector<8xf32>, vector<8xf32>) {
    %row = arith.muli %j, %c64 : index
    %v = vector.load %x[%row] : memref<1024xf32>, vector<8xf32>
    %second = arith.addi %row, %c8 : index
    %w = vector.load %x[%second] : memref<1024xf32>, vector<8xf32>
    %first = arith.addf %a, %v : vector<8xf32>
    %other = arith.addf %b, %w : vector<8xf32>
    scf.yield %first, %other : vector<8xf32>, vector<8xf32>
  }
  vector.store %sums#0, %y[%c0] : memref<16xf32>, vector<8xf32>
  vector.store %sums#1, %y[%c8] : memref<16xf32>, vector<8xf32>
}

// Without vectors, the loops are left to LLVM's vectoriser. A branch yields phis; bf16 is arithmetic on bits.

// CHECK:      define void @clip.range({{.*}}) nounwind noinline "loops"="scalar" {
// CHECK:      %is_negative = fcmp olt float %wide, 0x0000000000000000
// CHECK-NEXT: br i1 %is_negative, label %then, label %else
// CHECK:      %r = phi float [ 0x0000000000000000, %then ], [ %wide, %else ]
low.kernel @clip(%x: memref<128xbf16>, %y: memref<128xf32>) grid [128, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %zero = arith.constant 0.0 : f32
  %v = memref.load %x[%i] : memref<128xbf16>
  %wide = arith.extf %v : bf16 to f32
  %is_negative = arith.cmpf olt, %wide, %zero : f32
  %r = scf.if %is_negative -> (f32) {
    scf.yield %zero : f32
  } else {
    scf.yield %wide : f32
  }
  memref.store %r, %y[%i] : memref<128xf32>
}

// What is updated atomically others have pointers to; what LLVM has no instruction for is tried again.

// CHECK:      define void @update.range(ptr noalias readonly align 4 %x, ptr align 4 %counts, ptr align 8 %most,
// CHECK:      %old = atomicrmw add ptr %at.1, i32 %v monotonic, align 4
// CHECK:      %first = load atomic i64, ptr %at.2 monotonic, align 8
// CHECK-NEXT: br label %retry
// CHECK-NEXT: retry:
// CHECK-NEXT: %seen = phi i64 [ %first, %loop_body ], [ %found, %retry ]
// CHECK-NEXT: %top = bitcast i64 %seen to double
// CHECK-NEXT: %new = call double @llvm.maximum.f64(double %top, double 0x3FF0000000000000)
// CHECK-NEXT: %v.1 = bitcast double %new to i64
// CHECK-NEXT: %pair = cmpxchg weak ptr %at.2, i64 %seen, i64 %v.1 monotonic monotonic, align 8
// CHECK-NEXT: %found = extractvalue { i64, i1 } %pair, 0
// CHECK-NEXT: %done = extractvalue { i64, i1 } %pair, 1
// CHECK-NEXT: br i1 %done, label %end_retry, label %retry
// CHECK-NEXT: end_retry:
low.kernel @update(%x: memref<64xi32>, %counts: memref<64xi32>, %most: memref<1xf64>) grid [64, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f64
  %v = memref.load %x[%i] : memref<64xi32>
  %old = low.atomic_rmw addi %v, %counts[%i] : memref<64xi32>
  %top = low.atomic_rmw maximumf %one, %most[%c0] : memref<1xf64>
}

// Lanes are reversed by a shuffle.

// CHECK:      define void @backwards.range(
// CHECK:      %r = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
low.kernel @backwards(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = arith.constant 0 : index
  %v = vector.load %x[%i] : memref<8xf32>, vector<4xf32>
  %r = low.reverse %v : vector<4xf32>
  vector.store %r, %y[%i] : memref<8xf32>, vector<4xf32>
}

// What a load names for later is fetched, wherever it is.

// CHECK:      define void @ahead.range(
// CHECK:      %at = getelementptr inbounds float, ptr %x, i64 0
// CHECK-NEXT: %ahead = getelementptr float, ptr %at, i64 1024
// CHECK-NEXT: call void @llvm.prefetch.p0(ptr %ahead, i32 0, i32 3, i32 1)
// CHECK-NEXT: %v = load <8 x float>, ptr %at, align 4
// CHECK:      declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
low.kernel @ahead(%x: memref<128xf32>, %y: memref<128xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = arith.constant 0 : index
  %v = vector.load %x[%i] {tenon.prefetch = 1024 : index} : memref<128xf32>, vector<8xf32>
  vector.store %v, %y[%i] : memref<128xf32>, vector<8xf32>
}
