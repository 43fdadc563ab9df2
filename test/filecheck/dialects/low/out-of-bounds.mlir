// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// Loops with constant bounds run: the last index counts.
low.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c9 step %c2 {
    // expected-error @+1 {{memref.load: index 8 is out of bounds of 8 elements (it reaches from 0 to 8)}}
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%c0] : memref<8xf32>
  }
}

// -----

// Of a step further, it does not.
low.kernel @k(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c8 step %c2 {
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
  }
}

// -----

// Sums of counters with factors; a vector has several elements.
low.kernel @k(%x: memref<64xf32>) grid [4, 1, 1] block [2, 1, 1] {
  %b = low.block_id x
  %t = low.thread_id x
  %c16 = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %c1 = arith.constant 1 : index
  %row = arith.muli %c16, %b : index
  %column = arith.muli %t, %c8 : index
  %at = arith.addi %row, %column : index
  %v = vector.load %x[%at] : memref<64xf32>, vector<8xf32>
  %next = arith.addi %at, %c1 : index
  // expected-error @+1 {{vector.store: index 64 is out of bounds of 64 elements (it reaches from 1 to 64)}}
  vector.store %v, %x[%next] : memref<64xf32>, vector<8xf32>
}

// -----

// One counter under two names is one: this is 0.
low.kernel @k(%x: memref<1xf32>) grid [8, 1, 1] block [1, 1, 1] {
  %a = low.block_id x
  %b = low.block_id x
  %d = arith.subi %a, %b : index
  %v = memref.load %x[%d] : memref<1xf32>
}

// -----

// Below the first element; private memory.
low.kernel @k() grid [1, 1, 1] block [1, 1, 1] {
  %m = low.alloca : memref<4xf64>
  %cm1 = arith.constant -1 : index
  // expected-error @+1 {{memref.load: index -1 is out of bounds of 4 elements}}
  %v = memref.load %m[%cm1] : memref<4xf64>
}

// -----

// What may never run is not looked at: a branch, a loop that ends where it begins, a loop whose end is not
// known, a grid without work-groups, an extent that is not known.
low.kernel @k(%x: memref<8xi32>) grid [16, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c1 = arith.constant 1 : index
  %inside = arith.cmpi ult, %i, %c8 : index
  scf.if %inside {
    %v = memref.load %x[%i] : memref<8xi32>
    memref.store %v, %x[%i] : memref<8xi32>
  }
  scf.for %j = %c9 to %c9 step %c1 {
    %v = memref.load %x[%j] : memref<8xi32>
  }
  scf.for %j = %c8 to %i step %c1 {
    %v = memref.load %x[%c9] : memref<8xi32>
  }
  %least = arith.minsi %i, %c1 : index
  %w = memref.load %x[%least] : memref<8xi32>
}
low.kernel @empty(%x: memref<8xf32>) grid [0, 1, 1] block [1, 1, 1] {
  %c9 = arith.constant 9 : index
  %v = memref.load %x[%c9] : memref<8xf32>
}
low.kernel @sized(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>, %y: memref<8xf32>) dims [n] grid [n, 1, 1] block [1, 1, 1] {
  %c9 = arith.constant 9 : index
  %v = memref.load %x[%c9] : memref<?xf32, {dims = #graph.dims<n>}>
  memref.store %v, %y[%c9] : memref<8xf32>
}

// -----

// A tile reads a box of each operand, and writes one.
low.kernel @k(%a: memref<64xf32>, %b: memref<128xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  low.tile_fma 4 x 16 %c[%c0, %c16] = %a[%c0, %c8, %c1] * %b[%c0, %c16] depth [%c8] : memref<64xf32>, memref<64xf32>, memref<128xf32>
  // expected-error @+1 {{low.tile_fma: index 64 is out of bounds of 64 elements (it reaches from 1 to 64)}}
  low.tile_fma 4 x 16 %c[%c1, %c16] = %a[%c0, %c8, %c1] * %b[%c0, %c16] depth [%c8] : memref<64xf32>, memref<64xf32>, memref<128xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %b: memref<128xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c16 = arith.constant 16 : index
  low.tile_fma 4 x 16 live %c0 %c[%c8, %c16] = %a[%c0, %c8, %c1] * %b[%c0, %c16] depth [%c9] : memref<64xf32>, memref<64xf32>, memref<128xf32>
  low.tile_fma 4 x 16 %c[%c0, %c16] = %a[%c0, %c8, %c1] * %b[%c0, %c16] depth [%c0] : memref<64xf32>, memref<64xf32>, memref<128xf32>
  // expected-error @+1 {{low.tile_fma: index 143 is out of bounds of 128 elements (it reaches from 0 to 143)}}
  low.tile_fma 4 x 16 %c[%c0, %c16] = %a[%c0, %c8, %c1] * %b[%c0, %c16] depth [%c9] : memref<64xf32>, memref<64xf32>, memref<128xf32>
}

// -----

low.kernel @k(%x: memref<8xi32>) grid [9, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %one = arith.constant 1 : i32
  // expected-error @+1 {{low.atomic_rmw: index 8 is out of bounds of 8 elements (it reaches from 0 to 8)}}
  %o = low.atomic_rmw addi %one, %x[%i] : memref<8xi32>
}
