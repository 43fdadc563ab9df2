// RUN: tenon-opt -p expand-tiles{vector-nbytes=16} --split-input-file %s | filecheck %s
// RUN: tenon-opt -p expand-tiles{vector-nbytes=16} --verify-semantics=2 --split-input-file -o /dev/null %s

// Six columns are a vector of 4 and one of 2. The sums are in variables, each element of lhs is loaded once.
// CHECK-LABEL: low.kernel @fixed
// CHECK:         %c4 = arith.constant 4 : index
// CHECK:         %zeros = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK:         [[SUM0:%.*]], [[SUM1:%.*]], [[SUM2:%.*]], [[SUM3:%.*]] = scf.for %k = %c0 to %c5 step %c1
// CHECK-SAME:      -> (vector<4xf32>, vector<2xf32>, vector<4xf32>, vector<2xf32>)
// CHECK-NEXT:      %offset = arith.muli %k, %c6 : index
// CHECK-NEXT:      [[LEFT:%.*]] = vector.load %b[%offset] : memref<30xf32>, vector<4xf32>
// CHECK-NEXT:      [[AT:%.*]] = arith.addi %offset, %c4 : index
// CHECK-NEXT:      [[RIGHT:%.*]] = vector.load %b[[[AT]]] : memref<30xf32>, vector<2xf32>
// CHECK-NEXT:      %element = memref.load %a[%k] : memref<10xf32>
// CHECK-NEXT:      [[SAME:%.*]] = vector.broadcast %element : f32 to vector<4xf32>
// CHECK-NEXT:      {{.*}} = math.fma [[SAME]], [[LEFT]], {{%.*}} : vector<4xf32>
// CHECK-NEXT:      [[SAME2:%.*]] = vector.broadcast %element : f32 to vector<2xf32>
// CHECK-NEXT:      {{.*}} = math.fma [[SAME2]], [[RIGHT]], {{%.*}} : vector<2xf32>
// CHECK-COUNT-2:   math.fma
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    vector.store [[SUM0]], %c[%c0] : memref<12xf32>, vector<4xf32>
// CHECK-NEXT:    vector.store [[SUM1]], %c[%c4] : memref<12xf32>, vector<2xf32>
// CHECK-NEXT:    vector.store [[SUM2]], %c[%c6] : memref<12xf32>, vector<4xf32>
// CHECK-NEXT:    vector.store [[SUM3]], %c[%c10] : memref<12xf32>, vector<2xf32>
// CHECK-NEXT:  }
low.kernel @fixed(%a: memref<10xf32>, %b: memref<30xf32>, %c: memref<12xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  low.tile_fma 2 x 6 %c[%c0, %c6] = %a[%c0, %c5, %c1] * %b[%c0, %c6] depth [%c5]
    : memref<12xf32>, memref<10xf32>, memref<30xf32>
}

// -----

// Only the live columns: loops over vectors of them, and then over each. What there is is added to, and
// narrow elements are converted.
// CHECK-LABEL: low.kernel @live
// CHECK:         %vectors = arith.divsi %n, %c4 : index
// CHECK-NEXT:    %[[END:.*]] = arith.muli %vectors, %c4 : index
// CHECK-NEXT:    scf.for %column = %c0 to %[[END]] step %c4 {
// CHECK:           vector.load %c[%column] : memref<8xf32>, vector<4xf32>
// CHECK:           %[[B:.*]] = vector.load %b[%{{.*}}] : memref<40xbf16>, vector<4xbf16>
// CHECK-NEXT:      arith.extf %[[B]] : vector<4xbf16> to vector<4xf32>
// CHECK:         scf.for %column_1 = %[[END]] to %n step %c1 {
// CHECK:           memref.load %c[%column_1] : memref<8xf32>
// CHECK:           memref.store
low.kernel @live(%a: memref<5xf32>, %b: memref<40xbf16>, %c: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  %n = low.block_id x
  %c7 = arith.constant 7 : index
  %is_last = arith.cmpi eq, %n, %c7 : index
  scf.if %is_last {
    low.tile_fma 1 x 8 live %n %c[%c0, %c8] += %a[%c0, %c5, %c1] * %b[%c0, %c8] depth [%c5]
      : memref<8xf32>, memref<5xf32>, memref<40xbf16>
  }
}

// -----

// Only the live rows: one that there is not reads the first one, and is not stored.
// CHECK-LABEL: low.kernel @live_rows
// CHECK:         %is_live = arith.cmpi sgt, %n, %c1 : index
// CHECK:         %row = low.select %is_live, %c5, %c0 : index
// CHECK:           memref.load %a[%{{.*}}] : memref<10xf32>
// CHECK:         vector.store %sum, %c[%c0] : memref<12xf32>, vector<4xf32>
// CHECK-NEXT:    scf.if %is_live {
// CHECK-NEXT:      vector.store %sum_1, %c[%c6] : memref<12xf32>, vector<4xf32>
// CHECK-NEXT:    }
low.kernel @live_rows(%n: index, %a: memref<10xf32>, %b: memref<20xf32>, %c: memref<12xf32>) dims [n]
    grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  low.tile_fma 2 live %n x 4 %c[%c0, %c6] = %a[%c0, %c5, %c1] * %b[%c0, %c4] depth [%c5]
    : memref<12xf32>, memref<10xf32>, memref<20xf32>
}

// -----

// A kernel without tiles stays as it is.
// CHECK-LABEL: low.kernel @without
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    %v = memref.load %x[%i] : memref<4xf32>
// CHECK-NEXT:    memref.store %v, %y[%i] : memref<4xf32>
// CHECK-NEXT:  }
low.kernel @without(%x: memref<4xf32>, %y: memref<4xf32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<4xf32>
  memref.store %v, %y[%i] : memref<4xf32>
}
