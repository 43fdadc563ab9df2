// RUN: tenon-opt -p predict-indices %s | filecheck %s

// The loop loads what it stores to. The index of the gather is wrapped and clamped, and that of the scatter, which
// is compared after it is wrapped, is wrapped.
// CHECK-LABEL: low.kernel @scatter
// CHECK:         %x = memref.load %at[%k] : memref<50xi64>
// CHECK-NEXT:    %0 = arith.cmpi ult, %x, %c9 : i64
// CHECK-NEXT:    %w = scf.if %0 -> (i64) {
// CHECK-NEXT:      scf.yield %x : i64
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %n = arith.cmpi slt, %x, %zero : i64
// CHECK-NEXT:      %s = arith.addi %x, %c9 : i64
// CHECK-NEXT:      %w_1 = low.select %n, %s, %x : i64
// CHECK-NEXT:      scf.yield %w_1 : i64
// CHECK-NEXT:    }{tenon.rare}
// CHECK-NEXT:    %is_inside = arith.cmpi ult, %w, %c9 : i64
// CHECK-NEXT:    %i = arith.index_cast %w : i64 to index
// CHECK-NEXT:    scf.if %is_inside {
// CHECK-NEXT:      %y = memref.load %from[%k] : memref<50xi32>
// CHECK-NEXT:      %1 = arith.cmpi ult, %y, %c7 : i32
// CHECK-NEXT:      %2 = arith.index_cast %y : i32 to index
// CHECK-NEXT:      %b = scf.if %1 -> (index) {
// CHECK-NEXT:        scf.yield %2 : index
// CHECK-NEXT:      } else {
// CHECK-NEXT:        arith.cmpi slt
// CHECK-NEXT:        arith.addi
// CHECK-NEXT:        low.select
// CHECK-NEXT:        arith.index_cast
// CHECK-NEXT:        arith.maxsi
// CHECK-NEXT:        %[[LAST:.*]] = arith.minsi
// CHECK-NEXT:        scf.yield %[[LAST]] : index
// CHECK-NEXT:      }{tenon.rare}
// CHECK-NEXT:      memref.load %values[%b]
low.kernel @scatter(%at: memref<50xi64>, %from: memref<50xi32>, %values: memref<7xf64>, %sums: memref<9xf64>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : i64
  %zero32 = arith.constant 0 : i32
  %c9 = arith.constant 9 : i64
  %c7 = arith.constant 7 : i32
  %c6 = arith.constant 6 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  scf.for %k = %c0 to %c50 step %c1 {
    %x = memref.load %at[%k] : memref<50xi64>
    %n = arith.cmpi slt, %x, %zero : i64
    %s = arith.addi %x, %c9 : i64
    %w = low.select %n, %s, %x : i64
    %is_inside = arith.cmpi ult, %w, %c9 : i64
    %i = arith.index_cast %w : i64 to index
    scf.if %is_inside {
      %y = memref.load %from[%k] : memref<50xi32>
      %m = arith.cmpi slt, %y, %zero32 : i32
      %t = arith.addi %y, %c7 : i32
      %v = low.select %m, %t, %y : i32
      %j = arith.index_cast %v : i32 to index
      %a = arith.maxsi %j, %c0 : index
      %b = arith.minsi %a, %c6 : index
      %value = memref.load %values[%b] : memref<7xf64>
      %sum = memref.load %sums[%i] : memref<9xf64>
      %new = arith.addf %sum, %value : f64
      memref.store %new, %sums[%i] : memref<9xf64>
    }
  }
}

// Iterations that load nothing of what is stored can become lanes.
// CHECK-LABEL: low.kernel @gather
// CHECK-NOT:     scf.if
// CHECK:         memref.store
low.kernel @gather(%from: memref<50xi64>, %values: memref<7xf64>, %out: memref<50xf64>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : i64
  %c7 = arith.constant 7 : i64
  %c6 = arith.constant 6 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  scf.for %k = %c0 to %c50 step %c1 {
    %x = memref.load %from[%k] : memref<50xi64>
    %n = arith.cmpi slt, %x, %zero : i64
    %s = arith.addi %x, %c7 : i64
    %w = low.select %n, %s, %x : i64
    %i = arith.index_cast %w : i64 to index
    %a = arith.maxsi %i, %c0 : index
    %b = arith.minsi %a, %c6 : index
    %value = memref.load %values[%b] : memref<7xf64>
    memref.store %value, %out[%k] : memref<50xf64>
  }
}

// The extent of a named dim is not negative. Where the clamp ends elsewhere, the branch ends before it.
// CHECK-LABEL: low.kernel @named
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult, %x, %extent : i64
// CHECK-NEXT:    %[[INDEX:.*]] = arith.index_cast %x : i64 to index
// CHECK-NEXT:    %b = scf.if %[[INSIDE]] -> (index) {
// CHECK-NEXT:      scf.yield %[[INDEX]] : index
// CHECK-NEXT:    } else {
// CHECK:           arith.minsi %{{.*}}, %last : index
// CHECK-NEXT:      scf.yield
// CHECK-NEXT:    }{tenon.rare}
// CHECK:         %[[NEXT:.*]] = arith.cmpi ult, %y, %extent : i64
// CHECK:         %d = scf.if %[[NEXT]] -> (index) {
// CHECK:         }{tenon.rare}
// CHECK-NEXT:    %e = arith.minsi %d, %middle : index
low.kernel @named(%n: index, %from: memref<?xi64, {dims = #graph.dims<n>}>, %values: memref<?xf64, {dims = #graph.dims<n>}>) dims [n] grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : i64
  %extent = arith.index_cast %n : index to i64
  %cm1 = arith.constant -1 : index
  %cm2 = arith.constant -2 : index
  %last = arith.addi %n, %cm1 : index
  %middle = arith.addi %n, %cm2 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %x = memref.load %from[%k] : memref<?xi64, {dims = #graph.dims<n>}>
    %is_negative = arith.cmpi slt, %x, %zero : i64
    %s = arith.addi %x, %extent : i64
    %w = low.select %is_negative, %s, %x : i64
    %i = arith.index_cast %w : i64 to index
    %a = arith.maxsi %i, %c0 : index
    %b = arith.minsi %a, %last : index
    %value = memref.load %values[%b] : memref<?xf64, {dims = #graph.dims<n>}>
    %y = memref.load %from[%b] : memref<?xi64, {dims = #graph.dims<n>}>
    %is_less = arith.cmpi slt, %y, %zero : i64
    %t = arith.addi %y, %extent : i64
    %v = low.select %is_less, %t, %y : i64
    %j = arith.index_cast %v : i64 to index
    %d = arith.maxsi %j, %c0 : index
    %e = arith.minsi %d, %middle : index
    memref.store %value, %values[%e] : memref<?xf64, {dims = #graph.dims<n>}>
  }
}
