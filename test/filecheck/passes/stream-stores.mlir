// RUN: tenon-opt -p "stream-stores{l3-nbytes=4096}" %s | filecheck %s
// RUN: tenon-opt -p "stream-stores{l3-nbytes=5462}" %s | filecheck %s --check-prefix HELD
// RUN: tenon-opt -p stream-stores %s | filecheck %s --check-prefix HELD

// What is read and stored is twice the third cache.
// HELD-LABEL:  low.kernel @copied(
// HELD-NOT:    nontemporal
// CHECK-LABEL: low.kernel @copied(
// CHECK:       vector.store %v, %y[%at] {nontemporal = true} : memref<1024xf32>, vector<8xf32>
low.kernel @copied(%x: memref<1024xf32>, %y: memref<1024xf32>) grid [4, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c256 = arith.constant 256 : index
  %group = low.block_id x
  %first = arith.muli %group, %c256 : index
  scf.for %i = %c0 to %c256 step %c8 {
    %at = arith.addi %first, %i : index
    %v = vector.load %x[%at] : memref<1024xf32>, vector<8xf32>
    vector.store %v, %y[%at] : memref<1024xf32>, vector<8xf32>
  }
}

// What the kernel reads as well stays in the caches.
// CHECK-LABEL: low.kernel @doubled(
// CHECK-NOT:   nontemporal
low.kernel @doubled(%x: memref<1024xf32>, %y: memref<1024xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  scf.for %i = %c0 to %c1024 step %c8 {
    %v = vector.load %x[%i] : memref<1024xf32>, vector<8xf32>
    %w = vector.load %y[%i] : memref<1024xf32>, vector<8xf32>
    %s = arith.addf %v, %w : vector<8xf32>
    vector.store %s, %y[%i] : memref<1024xf32>, vector<8xf32>
  }
}

// What a tile adds to is read.
// CHECK-LABEL: low.kernel @added(
// CHECK-NOT:   nontemporal
low.kernel @added(%x: memref<1024xf32>, %y: memref<1024xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  scf.for %i = %c0 to %c1024 step %c8 {
    %v = vector.load %x[%i] : memref<1024xf32>, vector<8xf32>
    vector.store %v, %y[%i] : memref<1024xf32>, vector<8xf32>
    low.tile_fma 1 x 8 %y[%i, %c8] += %x[%i, %c8, %c1] * %x[%i, %c8] depth [%c1] : memref<1024xf32>, memref<1024xf32>, memref<1024xf32>
  }
}

// So does what is stored once more in each iteration of a loop, or by each work-group.
// CHECK-LABEL: low.kernel @again(
// CHECK-NOT:   nontemporal
low.kernel @again(%x: memref<1024xf32>, %y: memref<1024xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  scf.for %k = %c0 to %c2 step %c1 {
    scf.for %i = %c0 to %c1024 step %c8 {
      %v = vector.load %x[%i] : memref<1024xf32>, vector<8xf32>
      vector.store %v, %y[%i] : memref<1024xf32>, vector<8xf32>
    }
  }
}
// CHECK-LABEL: low.kernel @by_each(
// CHECK-NOT:   nontemporal
low.kernel @by_each(%x: memref<1024xf32>, %y: memref<1024xf32>) grid [1, 2, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  scf.for %i = %c0 to %c1024 step %c8 {
    %v = vector.load %x[%i] : memref<1024xf32>, vector<8xf32>
    vector.store %v, %y[%i] : memref<1024xf32>, vector<8xf32>
  }
}

// A part of a large buffer may be read again soon.
// CHECK-LABEL: low.kernel @part(
// CHECK-NOT:   nontemporal
low.kernel @part(%x: memref<1024xf32>, %y: memref<1024xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c512 = arith.constant 512 : index
  scf.for %i = %c0 to %c512 step %c8 {
    %v = vector.load %x[%i] : memref<1024xf32>, vector<8xf32>
    vector.store %v, %y[%i] : memref<1024xf32>, vector<8xf32>
  }
}

// So may rows of which it is not known how many there are, and numbers are stored one by one.
// CHECK-LABEL: low.kernel @some(
// CHECK-NOT:   nontemporal
low.kernel @some(%x: memref<1024xf32>, %y: memref<1024xf32>, %n: memref<1xi64>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  %many = memref.load %n[%c0] : memref<1xi64>
  %end = arith.index_cast %many : i64 to index
  scf.for %i = %c0 to %end step %c8 {
    %v = vector.load %x[%i] : memref<1024xf32>, vector<8xf32>
    vector.store %v, %y[%i] : memref<1024xf32>, vector<8xf32>
  }
  scf.for %j = %c0 to %c1024 step %c1 {
    %u = memref.load %x[%j] : memref<1024xf32>
    memref.store %u, %y[%j] : memref<1024xf32>
  }
}

// Of what is transposed, half a third cache is enough.
// CHECK-LABEL:   low.kernel @turned(
// CHECK-COUNT-4: nontemporal = true
// CHECK-NOT:     nontemporal
low.kernel @turned(%x: memref<256xf32>, %y: memref<256xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %c256 = arith.constant 256 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c256 step %c64 {
    scf.for %j = %c0 to %c16 step %c4 {
      %at = arith.addi %i, %j : index
      %at1 = arith.addi %at, %c16 : index
      %at2 = arith.addi %at, %c32 : index
      %at3 = arith.addi %at, %c48 : index
      %a = vector.load %x[%at] : memref<256xf32>, vector<4xf32>
      %b = vector.load %x[%at1] : memref<256xf32>, vector<4xf32>
      %c = vector.load %x[%at2] : memref<256xf32>, vector<4xf32>
      %d = vector.load %x[%at3] : memref<256xf32>, vector<4xf32>
      %e, %f, %g, %h = low.transpose %a, %b, %c, %d : vector<4xf32>
      %n = arith.negf %e : vector<4xf32>
      vector.store %n, %y[%at] : memref<256xf32>, vector<4xf32>
      vector.store %f, %y[%at1] : memref<256xf32>, vector<4xf32>
      vector.store %g, %y[%at2] : memref<256xf32>, vector<4xf32>
      vector.store %h, %y[%at3] : memref<256xf32>, vector<4xf32>
    }
  }
}

// Rows of 80 bytes begin in the middle of lines, and so do vectors of rows that stand beside one another.
// CHECK-LABEL: low.kernel @rows(
// CHECK-NOT:   nontemporal
low.kernel @rows(%x: memref<1280xf32>, %y: memref<1280xf32>) grid [64, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %row = low.block_id x
  %first = arith.muli %row, %c20 : index
  scf.for %i = %c0 to %c16 step %c8 {
    %at = arith.addi %first, %i : index
    %v = vector.load %x[%at] : memref<1280xf32>, vector<8xf32>
    vector.store %v, %y[%at] : memref<1280xf32>, vector<8xf32>
  }
}
// CHECK-LABEL: low.kernel @beside(
// CHECK-NOT:   nontemporal
low.kernel @beside(%x: memref<1280xf32>, %y: memref<1280xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c20 = arith.constant 20 : index
  %c80 = arith.constant 80 : index
  %c1280 = arith.constant 1280 : index
  scf.for %i = %c0 to %c1280 step %c80 {
    %v = vector.load %x[%i] : memref<1280xf32>, vector<16xf32>
    vector.store %v, %y[%i] : memref<1280xf32>, vector<16xf32>
    %at = arith.addi %i, %c20 : index
    vector.store %v, %y[%at] : memref<1280xf32>, vector<16xf32>
  }
}
