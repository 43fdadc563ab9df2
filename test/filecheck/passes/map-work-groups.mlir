// RUN: tenon-opt -p 'map-work-groups{max-items=64 shared-nbytes=8192}' --split-input-file --verify-diagnostics %s | filecheck %s

// Rows: the loops over neighbours in memory are shared, a local buffer too.

// CHECK-LABEL: sched.kernel @rows
// CHECK:       sched.axis %i = 4096 block {
// CHECK-NEXT:    %max = sched.reduce maximumf %j = 1000 items(64) unroll(4) : f32 {
// CHECK:         %row = sched.alloc shared : memref<1000xf32>
// CHECK-NEXT:    %sum = sched.reduce addf %j_1 = 1000 items(64) unroll(4) : f32 {
// CHECK:         sched.axis %j_2 = 1000 items(64) {
sched.kernel @rows(%x: memref<4096x1000xf32>, %y: memref<4096x1000xf32>) {
  sched.axis %i = 4096 {
    %max = sched.reduce maximumf %j = 1000 : f32 {
      %v = memref.load %x[%i, %j] : memref<4096x1000xf32>
      sched.yield %v : f32
    }
    %row = sched.alloc local : memref<1000xf32>
    %sum = sched.reduce addf %j = 1000 : f32 {
      %v = memref.load %x[%i, %j] : memref<4096x1000xf32>
      %d = arith.subf %v, %max : f32
      memref.store %d, %row[%j] : memref<1000xf32>
      sched.yield %d : f32
    }
    sched.axis %j = 1000 {
      %d = memref.load %row[%j] : memref<1000xf32>
      %q = arith.divf %d, %sum : f32
      memref.store %q, %y[%i, %j] : memref<4096x1000xf32>
    }
  }
}

// -----

// What does not fit in shared memory, each work-item does alone.

// CHECK-LABEL: sched.kernel @long_rows
// CHECK-SAME:  schedule = "i: 64 work-items of a group; j: 4 partial results in flight"
// CHECK:       sched.axis %i = 4096 block(64) items(64) {
// CHECK-NEXT:    %row = sched.alloc local : memref<5000xf32>
// CHECK-NEXT:    %sum = sched.reduce addf %j = 5000 unroll(4) : f32 {
// CHECK:         sched.axis %j_1 = 5000 {
sched.kernel @long_rows(%x: memref<4096x5000xf32>, %y: memref<4096x5000xf32>) {
  sched.axis %i = 4096 {
    %row = sched.alloc local : memref<5000xf32>
    %sum = sched.reduce addf %j = 5000 : f32 {
      %v = memref.load %x[%i, %j] : memref<4096x5000xf32>
      memref.store %v, %row[%j] : memref<5000xf32>
      sched.yield %v : f32
    }
    sched.axis %j = 5000 {
      %d = memref.load %row[%j] : memref<5000xf32>
      %q = arith.divf %d, %sum : f32
      memref.store %q, %y[%i, %j] : memref<4096x5000xf32>
    }
  }
}

// -----

// Elements: a vector for each work-item, and rows until the group is full.

// CHECK-LABEL: sched.kernel @elements
// CHECK:       sched.axis %i = 100 block(2) items(2) {
// CHECK-NEXT:    sched.axis %j = 128 block(128) items(32) vector(4) {
sched.kernel @elements(%x: memref<100x128xf32>, %y: memref<100x128xf32>) {
  sched.axis %i = 100 {
    sched.axis %j = 128 {
      %v = memref.load %x[%i, %j] : memref<100x128xf32>
      %d = arith.addf %v, %v : f32
      memref.store %d, %y[%i, %j] : memref<100x128xf32>
    }
  }
}

// -----

// Sums of columns: neighbours add neighbouring columns. Few columns are shared rows.

// CHECK-LABEL: sched.kernel @columns
// CHECK:       sched.axis %j = 2048 block(64) items(64) {
// CHECK-NEXT:    %sum = sched.reduce addf %i = 100 unroll(4) : f32 {
sched.kernel @columns(%x: memref<100x2048xf32>, %y: memref<2048xf32>) {
  sched.axis %j = 2048 {
    %sum = sched.reduce addf %i = 100 : f32 {
      %v = memref.load %x[%i, %j] : memref<100x2048xf32>
      sched.yield %v : f32
    }
    memref.store %sum, %y[%j] : memref<2048xf32>
  }
}

// CHECK-LABEL: sched.kernel @total
// CHECK-NEXT:    %sum = sched.reduce addf %i = 100 items(64) : f32 {
sched.kernel @total(%x: memref<100xf32>, %y: memref<f32>) {
  %sum = sched.reduce addf %i = 100 : f32 {
    %v = memref.load %x[%i] : memref<100xf32>
    sched.yield %v : f32
  }
  memref.store %sum, %y[] : memref<f32>
}

// -----

// What is mapped already stays as it is.

// CHECK-LABEL: sched.kernel @mapped
// CHECK:       sched.axis %i = 100 block(10) {
sched.kernel @mapped(%y: memref<100xf32>) {
  %c = arith.constant 1.0 : f32
  sched.axis %i = 100 block(10) {
    memref.store %c, %y[%i] : memref<100xf32>
  }
}

// -----

// What is read down the columns goes through a padded tile.

// CHECK-LABEL: sched.kernel @transpose
// CHECK:       sched.axis %i_outer = 2 block {
// CHECK-NEXT:    sched.axis %j_outer = 4 block {
// CHECK:           [[LEFT:%.*]] = arith.subi %c100, {{.*}} : index
// CHECK-NEXT:      %v = sched.alloc shared : memref<32x32xf32, strided<[33, 1]>>
// CHECK-NEXT:      sched.axis %j = 32 count [[LEFT]] items(2) {
// CHECK-NEXT:        sched.axis %i = 32 items(32) {
// CHECK:               %v_1 = memref.load %x[{{.*}}] : memref<100x64xf32>
// CHECK-NEXT:          memref.store %v_1, %v[%i, %j]
// CHECK:           sched.axis %i_1 = 32 items(2) unroll(16) {
// CHECK-NEXT:        sched.axis %j_1 = 32 count [[LEFT]] items(32) {
// CHECK:               %v_2 = memref.load %v[%i_1, %j_1]
sched.kernel @transpose(%x: memref<100x64xf32>, %y: memref<64x100xf32>) {
  sched.axis %i = 64 {
    sched.axis %j = 100 {
      %v = memref.load %x[%j, %i] : memref<100x64xf32>
      memref.store %v, %y[%i, %j] : memref<64x100xf32>
    }
  }
}

// -----

// Factors are staged, and sums go on in a tile of them.

// CHECK-LABEL: sched.kernel @product
// CHECK:       sched.axis %i_outer = 2 block {
// CHECK-NEXT:    sched.axis %j_outer = 3 block {
// CHECK:           %s = sched.alloc shared : memref<32x32xf32>
// CHECK-NEXT:      %u = sched.alloc shared : memref<32x8xf32, strided<[9, 1]>>
// CHECK-NEXT:      %v = sched.alloc shared : memref<8x32xf32, strided<[33, 1]>>
// CHECK:           memref.store {{.*}}, %s[%i, %j]
// CHECK:           scf.for %k_outer = %c0 to %c64 step %c8 {
// CHECK:             memref.store {{.*}}, %u[%i_1, %k]
// CHECK:             memref.store {{.*}}, %v[%k_1, %j_1]
// CHECK:             sched.axis %i_2 = 32 items(8) unroll(4) {
// CHECK-NEXT:          sched.axis %j_2 = 32 items(8) unroll(4) {
// CHECK-NEXT:            %so_far = memref.load %s[%i_2, %j_2] : memref<32x32xf32>
// CHECK-NEXT:            %s_1 = sched.reduce fma %k_2 = 8 init(%so_far) : f32 {
// CHECK:                 memref.store %s_1, %s[%i_2, %j_2]
// CHECK:           %s_2 = memref.load %s[%i_3, %j_3]
// CHECK-NEXT:      memref.store %s_2, %c[{{.*}}] : memref<64x96xf32>
sched.kernel @product(%a: memref<64x64xf32>, %b: memref<64x96xf32>, %c: memref<64x96xf32>) {
  sched.axis %i = 64 {
    sched.axis %j = 96 {
      %s = sched.reduce fma %k = 64 : f32 {
        %u = memref.load %a[%i, %k] : memref<64x64xf32>
        %v = memref.load %b[%k, %j] : memref<64x96xf32>
        sched.yield %u, %v : f32
      }
      memref.store %s, %c[%i, %j] : memref<64x96xf32>
    }
  }
}
