// RUN: tenon-opt -p map-axes %s | filecheck %s
// RUN: tenon-opt -p 'map-axes{vector-nbytes=16 block-elements=64}' %s | filecheck %s --check-prefix SMALL

// A contiguous axis becomes vectors, a reduction over it several of them; the rows become work-groups.
// The kernel says why.
// CHECK-LABEL: sched.kernel @rows
// CHECK-SAME:    attributes {schedule = "j: 32 partial results for 1000 elements; j: neighbours in memory; i: work-groups of up to 16384 elements"} {
// CHECK-NEXT:    sched.axis %i = 128 block(16) {
// CHECK-NEXT:      %sum = sched.reduce addf %j = 1000 vector(8) unroll(4) : f32 {
// CHECK:           sched.axis %j_1 = 1000 vector(8) {
// SMALL-LABEL: sched.kernel @rows
// SMALL-NEXT:    sched.axis %i = 128 block {
// SMALL-NEXT:      %sum = sched.reduce addf %j = 1000 vector(4) unroll(8) : f32 {
sched.kernel @rows(%x: memref<128x1000xf32>, %y: memref<128x1000xf32>) {
  sched.axis %i = 128 {
    %sum = sched.reduce addf %j = 1000 : f32 {
      %v = memref.load %x[%i, %j] : memref<128x1000xf32>
      sched.yield %v : f32
    }
    sched.axis %j_1 = 1000 {
      %v_1 = memref.load %x[%i, %j_1] : memref<128x1000xf32>
      %q = arith.divf %v_1, %sum : f32
      memref.store %q, %y[%i, %j_1] : memref<128x1000xf32>
    }
  }
}

// A sum over the first dim: the columns are the vectors, and the reduction stays in order.
// CHECK-LABEL: sched.kernel @columns
// CHECK-NEXT:    sched.axis %j = 1000 block({{.*}}) vector(8) unroll(15) {
// CHECK-NEXT:      %sum = sched.reduce addf %i = 128 : f32 {
sched.kernel @columns(%x: memref<128x1000xf32>, %y: memref<1000xf32>) {
  sched.axis %j = 1000 {
    %sum = sched.reduce addf %i = 128 : f32 {
      %v = memref.load %x[%i, %j] : memref<128x1000xf32>
      sched.yield %v : f32
    }
    memref.store %sum, %y[%j] : memref<1000xf32>
  }
}

// A matrix product gets a register tile.
// CHECK-LABEL: sched.kernel @product
// CHECK-NEXT:    sched.axis %i = 64 block(4) unroll(4) {
// CHECK-NEXT:      sched.axis %j = 64 vector(8) unroll(2) {
// CHECK-NEXT:        %sum = sched.reduce addf %k = 64 : f32 {
sched.kernel @product(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  sched.axis %i = 64 {
    sched.axis %j = 64 {
      %sum = sched.reduce addf %k = 64 : f32 {
        %v = memref.load %a[%i, %k] : memref<64x64xf32>
        %w = memref.load %b[%k, %j] : memref<64x64xf32>
        %p = arith.mulf %v, %w : f32
        sched.yield %p : f32
      }
      memref.store %sum, %c[%i, %j] : memref<64x64xf32>
    }
  }
}

// A kernel that is mapped already stays as it is.
// CHECK-LABEL: sched.kernel @mapped
// CHECK-NEXT:    sched.axis %i = 64 vector(2) {
sched.kernel @mapped(%x: memref<64xf32>, %y: memref<64xf32>) {
  sched.axis %i = 64 vector(2) {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
}

// Too short for a vector; too short for wide ones; wide elements make fewer lanes; a scalar has no axis at all.
// CHECK-LABEL: sched.kernel @short
// CHECK-NEXT:    sched.axis %i = 3 block(3) {
sched.kernel @short(%x: memref<3xf32>, %y: memref<3xf32>) {
  sched.axis %i = 3 {
    %v = memref.load %x[%i] : memref<3xf32>
    memref.store %v, %y[%i] : memref<3xf32>
  }
}

// CHECK-LABEL: sched.kernel @shorter_than_a_vector
// CHECK-NEXT:    sched.axis %i = 7 block(7) vector(4) {
sched.kernel @shorter_than_a_vector(%x: memref<7xf32>, %y: memref<7xf32>) {
  sched.axis %i = 7 {
    %v = memref.load %x[%i] : memref<7xf32>
    memref.store %v, %y[%i] : memref<7xf32>
  }
}

// An axis without iterations, or with one.
// CHECK-LABEL: sched.kernel @none
// CHECK-NEXT:    sched.axis %i = 0 block {
sched.kernel @none(%x: memref<0xf32>) {
  sched.axis %i = 0 {
    %v = memref.load %x[%i] : memref<0xf32>
    memref.store %v, %x[%i] : memref<0xf32>
  }
}

// CHECK-LABEL: sched.kernel @one
// CHECK-NEXT:    sched.axis %i = 1 block {
sched.kernel @one(%x: memref<1xf32>) {
  sched.axis %i = 1 {
    %v = memref.load %x[%i] : memref<1xf32>
    memref.store %v, %x[%i] : memref<1xf32>
  }
}

// Loads at a distance, comparisons of the index and buffers below it keep an axis from being a vector; an index that
// becomes a number does not.
// CHECK-LABEL: sched.kernel @every_other
// CHECK-NEXT:    %c2
// CHECK-NEXT:    sched.axis %i = 64 block(64) {
sched.kernel @every_other(%x: memref<128xf32>, %y: memref<64xf32>) {
  %c2 = arith.constant 2 : index
  sched.axis %i = 64 {
    %j = arith.muli %i, %c2 : index
    %v = memref.load %x[%j] : memref<128xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
}

// CHECK-LABEL: sched.kernel @compared
// CHECK-NEXT:    %c2
// CHECK-NEXT:    sched.axis %i = 64 block(64) {
sched.kernel @compared(%x: memref<64xi8>) {
  %c2 = arith.constant 2 : index
  sched.axis %i = 64 {
    %b = arith.cmpi slt, %i, %c2 : index
    %v = low.convert extui %b : i1 to i8
    memref.store %v, %x[%i] : memref<64xi8>
  }
}

// CHECK-LABEL: sched.kernel @numbered
// CHECK-NEXT:    sched.axis %i = 64 block(64) vector(8) {
sched.kernel @numbered(%x: memref<64xi32>) {
  sched.axis %i = 64 {
    %v = arith.index_cast %i : index to i32
    memref.store %v, %x[%i] : memref<64xi32>
  }
}

// Work that stands beside the outermost axis keeps it from becoming work-groups.
// CHECK-LABEL: sched.kernel @two_loops
// CHECK-NEXT:    sched.axis %i = 64 vector(8) {
// CHECK:         sched.axis %j = 64 vector(8) {
sched.kernel @two_loops(%x: memref<64xf32>, %y: memref<64xf32>) {
  sched.axis %i = 64 {
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
  }
  sched.axis %j = 64 {
    %w = memref.load %y[%j] : memref<64xf32>
    memref.store %w, %x[%j] : memref<64xf32>
  }
}

// CHECK-LABEL: sched.kernel @wide
// CHECK-NEXT:    sched.axis %i = 64 block(64) vector(4) {
sched.kernel @wide(%x: memref<64xf64>, %y: memref<64xf64>) {
  sched.axis %i = 64 {
    %v = memref.load %x[%i] : memref<64xf64>
    memref.store %v, %y[%i] : memref<64xf64>
  }
}

// CHECK-LABEL: sched.kernel @scalar
// CHECK-NEXT:    %v = memref.load
sched.kernel @scalar(%x: memref<f32>, %y: memref<f32>) {
  %v = memref.load %x[] : memref<f32>
  memref.store %v, %y[] : memref<f32>
}

// RUN: not tenon-opt -p 'map-axes{block-elements=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// RUN: not tenon-opt -p 'map-axes{vector-nbytes=-8}' %s 2>&1 | filecheck %s --check-prefix NEGATIVE
// NONE: error: map-axes: vector-nbytes 32, l1-nbytes 49152, l2-nbytes 1048576, l3-nbytes 33554432 and block-elements 0 must be 1 or more
// NEGATIVE: error: map-axes: vector-nbytes -8, l1-nbytes 49152, l2-nbytes 1048576, l3-nbytes 33554432 and block-elements 16384 must be 1 or more

// What is loaded has its neighbours along the outer axis: squares of elements are transposed in registers.
// CHECK-LABEL: sched.kernel @turned
// CHECK-SAME:    schedule = "j: neighbours in what is stored; i: neighbours in what is loaded, transposed in registers; i: work-groups
// CHECK-NEXT:    sched.axis %i = 100 block({{.*}}) unroll(8) {
// CHECK-NEXT:      sched.axis %j = 60 vector(8) {
sched.kernel @turned(%x: memref<60x100xf32>, %y: memref<100x60xf32>) {
  sched.axis %i = 100 {
    sched.axis %j = 60 {
      %v = memref.load %x[%j, %i] : memref<60x100xf32>
      memref.store %v, %y[%i, %j] : memref<100x60xf32>
    }
  }
}

// An axis between the two stays as it is.
// CHECK-LABEL: sched.kernel @permute
// CHECK-NEXT:    sched.axis %i = 100 block({{.*}}) unroll(8) {
// CHECK-NEXT:      sched.axis %j = 5 {
// CHECK-NEXT:        sched.axis %k = 60 vector(8) {
sched.kernel @permute(%x: memref<5x60x100xf32>, %y: memref<100x5x60xf32>) {
  sched.axis %i = 100 {
    sched.axis %j = 5 {
      sched.axis %k = 60 {
        %v = memref.load %x[%j, %k, %i] : memref<5x60x100xf32>
        memref.store %v, %y[%i, %j, %k] : memref<100x5x60xf32>
      }
    }
  }
}

// No axis around has the neighbours of every load, or it is too short: no vectors.
// CHECK-LABEL: sched.kernel @every_other_row
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    sched.axis %i = 100 block({{[0-9]*}}) {
// CHECK-NEXT:      sched.axis %j = 60 {
sched.kernel @every_other_row(%x: memref<60x200xf32>, %y: memref<100x60xf32>) {
  %c2 = arith.constant 2 : index
  sched.axis %i = 100 {
    sched.axis %j = 60 {
      %k = arith.muli %i, %c2 : index
      %v = memref.load %x[%j, %k] : memref<60x200xf32>
      memref.store %v, %y[%i, %j] : memref<100x60xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @few_rows
// CHECK-NEXT:    sched.axis %i = 3 block({{[0-9]*}}) {
// CHECK-NEXT:      sched.axis %j = 60 {
sched.kernel @few_rows(%x: memref<60x3xf32>, %y: memref<3x60xf32>) {
  sched.axis %i = 3 {
    sched.axis %j = 60 {
      %v = memref.load %x[%j, %i] : memref<60x3xf32>
      memref.store %v, %y[%i, %j] : memref<3x60xf32>
    }
  }
}

// Rows too few for squares of whole vectors: smaller ones.
// CHECK-LABEL: sched.kernel @some_rows
// CHECK-NEXT:    sched.axis %i = 7 block({{[0-9]*}}) unroll(4) {
// CHECK-NEXT:      sched.axis %j = 60 vector(4) {
sched.kernel @some_rows(%x: memref<60x7xf32>, %y: memref<7x60xf32>) {
  sched.axis %i = 7 {
    sched.axis %j = 60 {
      %v = memref.load %x[%j, %i] : memref<60x7xf32>
      memref.store %v, %y[%i, %j] : memref<7x60xf32>
    }
  }
}

// Where they end, what is loaded goes on along another axis: the two are one, right around the columns.
// CHECK-LABEL: sched.kernel @continued_rows
// CHECK-NEXT:    %c9 = arith.constant 9 : index
// CHECK-NEXT:    sched.axis %[[both:.*]] = 90 block({{[0-9]*}}) unroll(8) {
// CHECK-NEXT:      %[[j:.*]] = arith.divui %[[both]], %c9 : index
// CHECK-NEXT:      %[[i:.*]] = arith.remui %[[both]], %c9 : index
// CHECK-NEXT:      sched.axis %k = 60 vector(8) {
// CHECK-NEXT:        %v = memref.load %x[%k, %[[j]], %[[i]]]
// CHECK-NEXT:        memref.store %v, %y[%[[i]], %[[j]], %k]
sched.kernel @continued_rows(%x: memref<60x10x9xf32>, %y: memref<9x10x60xf32>) {
  sched.axis %i = 9 {
    sched.axis %j = 10 {
      sched.axis %k = 60 {
        %v = memref.load %x[%k, %j, %i] : memref<60x10x9xf32>
        memref.store %v, %y[%i, %j, %k] : memref<9x10x60xf32>
      }
    }
  }
}

// Rows of a count stay apart.
// CHECK-LABEL: sched.kernel @counted_rows
// CHECK:         sched.axis %i = 9 count %{{.*}} unroll(8) {
// CHECK-NEXT:      sched.axis %j = 10 {
// CHECK-NEXT:        sched.axis %k = 60 vector(8) {
sched.kernel @counted_rows(%n: memref<i64>, %x: memref<60x10x9xf32>, %y: memref<9x10x60xf32>) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %number = memref.load %n[] : memref<i64>
  %cast = arith.index_cast %number : i64 to index
  %raised = arith.maxsi %cast, %c0 : index
  %count = arith.minsi %raised, %c9 : index
  sched.axis %i = 9 count %count {
    sched.axis %j = 10 {
      sched.axis %k = 60 {
        %v = memref.load %x[%k, %j, %i] : memref<60x10x9xf32>
        memref.store %v, %y[%i, %j, %k] : memref<9x10x60xf32>
      }
    }
  }
}

// Few columns: those of several rows of the result are side by side, where they follow one another in memory.
// CHECK-LABEL: sched.kernel @few_columns
// CHECK-NEXT:    sched.axis %j = 512 block({{.*}}) unroll(4) {
// CHECK-NEXT:      sched.axis %k = 32 vector(8) unroll(4) {
sched.kernel @few_columns(%x: memref<100x512x32xf32>, %y: memref<512x32xf32>) {
  sched.axis %j = 512 {
    sched.axis %k = 32 {
      %sum = sched.reduce addf %i = 100 : f32 {
        %v = memref.load %x[%i, %j, %k] : memref<100x512x32xf32>
        sched.yield %v : f32
      }
      memref.store %sum, %y[%j, %k] : memref<512x32xf32>
    }
  }
}

// They do not follow one another: only the columns of one. A maximum takes more registers.
// CHECK-LABEL: sched.kernel @middle
// CHECK-NEXT:    sched.axis %i = 100 block {
// CHECK-NEXT:      sched.axis %k = 64 vector(8) unroll(4) {
sched.kernel @middle(%x: memref<100x512x64xf32>, %y: memref<100x64xf32>) {
  sched.axis %i = 100 {
    sched.axis %k = 64 {
      %sum = sched.reduce maximumf %j = 512 : f32 {
        %v = memref.load %x[%i, %j, %k] : memref<100x512x64xf32>
        sched.yield %v : f32
      }
      memref.store %sum, %y[%i, %k] : memref<100x64xf32>
    }
  }
}

// Narrow panels of many rows are copied side by side, so that whole lines are read of each row.
// CHECK-LABEL: sched.kernel @panels
// CHECK-SAME:    whole lines are read of 6 panels side by side
// CHECK:         sched.axis %i_outer = 2 block {
// CHECK:           sched.axis %j = 512 {
// CHECK:             sched.axis %i_inner = 6 {
// CHECK:               sched.axis %k = 8 vector(8) {
sched.kernel @panels(%x: memref<512x96xf32>, %y: memref<12x512x8xf32>) {
  %c8 = arith.constant 8 : index
  sched.axis %i = 12 {
    sched.axis %j = 512 {
      sched.axis %k = 8 {
        %begin = arith.muli %i, %c8 : index
        %at = arith.addi %begin, %k : index
        %v = memref.load %x[%j, %at] : memref<512x96xf32>
        memref.store %v, %y[%i, %j, %k] : memref<12x512x8xf32>
      }
    }
  }
}

// Fewer rows stay in the first cache, and panels of whole lines are copied one after the other.
// CHECK-LABEL: sched.kernel @short_panels
// CHECK-NOT:     side by side
sched.kernel @short_panels(%x: memref<511x96xf32>, %y: memref<12x511x8xf32>) {
  %c8 = arith.constant 8 : index
  sched.axis %i = 12 {
    sched.axis %j = 511 {
      sched.axis %k = 8 {
        %begin = arith.muli %i, %c8 : index
        %at = arith.addi %begin, %k : index
        %v = memref.load %x[%j, %at] : memref<511x96xf32>
        memref.store %v, %y[%i, %j, %k] : memref<12x511x8xf32>
      }
    }
  }
}
sched.kernel @wide_panels(%x: memref<512x192xf32>, %y: memref<12x512x16xf32>) {
  %c16 = arith.constant 16 : index
  sched.axis %i = 12 {
    sched.axis %j = 512 {
      sched.axis %k = 16 {
        %begin = arith.muli %i, %c16 : index
        %at = arith.addi %begin, %k : index
        %v = memref.load %x[%j, %at] : memref<512x192xf32>
        memref.store %v, %y[%i, %j, %k] : memref<12x512x16xf32>
      }
    }
  }
}
