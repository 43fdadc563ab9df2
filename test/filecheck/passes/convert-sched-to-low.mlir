// RUN: tenon-opt -p convert-sched-to-low %s | filecheck %s

// A vector axis runs in whole vectors, and what is left as one that overlaps the last of them.
// CHECK-LABEL: low.kernel @tail(%x: memref<20xf32>, %y: memref<20xf32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %c12 = arith.constant 12 : index
// CHECK-NEXT:    scf.for %i = %c0 to %c16 step %c8 {
// CHECK-NEXT:      %v = vector.load %x[%i] : memref<20xf32>, vector<8xf32>
// CHECK-NEXT:      %w = arith.addf %v, %v : vector<8xf32>
// CHECK-NEXT:      vector.store %w, %y[%i] : memref<20xf32>, vector<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %v_1 = vector.load %x[%c12] : memref<20xf32>, vector<8xf32>
// CHECK-NEXT:    %w_1 = arith.addf %v_1, %v_1 : vector<8xf32>
// CHECK-NEXT:    vector.store %w_1, %y[%c12] : memref<20xf32>, vector<8xf32>
// CHECK-NEXT:  }
sched.kernel @tail(%x: memref<20xf32>, %y: memref<20xf32>) {
  sched.axis %i = 20 vector(8) {
    %v = memref.load %x[%i] : memref<20xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %y[%i] : memref<20xf32>
  }
}

// A register tile: each load serves the lanes that it depends on, and there is one sum for each of them.
// CHECK-LABEL: low.kernel @tile(%a: memref<32xf32>, %b: memref<128xf32>, %c: memref<64xf32>) grid [2, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %start = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %c32 = arith.constant 32 : index
// CHECK-NEXT:    %c24 = arith.constant 24 : index
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    %{{.*}} = arith.muli %i, %c16 : index
// CHECK-NEXT:    %s, %s_1, %s_2, %s_3 = scf.for %k = %c0 to %c8 step %c1 iter_args(%s_4 = %start, %s_5 = %start, %s_6 = %start, %s_7 = %start) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %k : index
// CHECK-NEXT:      %v = memref.load %a[%{{.*}}] : memref<32xf32>
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %c8 : index
// CHECK-NEXT:      %v_1 = memref.load %a[%{{.*}}] : memref<32xf32>
// CHECK-NEXT:      %{{.*}} = arith.muli %k, %c16 : index
// CHECK-NEXT:      %w = vector.load %b[%{{.*}}] : memref<128xf32>, vector<8xf32>
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %c8 : index
// CHECK-NEXT:      %w_1 = vector.load %b[%{{.*}}] : memref<128xf32>, vector<8xf32>
// CHECK-NEXT:      %v_2 = vector.broadcast %v : f32 to vector<8xf32>
// CHECK-NEXT:      %p = arith.mulf %v_2, %w : vector<8xf32>
// CHECK-NEXT:      %p_1 = arith.mulf %v_2, %w_1 : vector<8xf32>
// CHECK-NEXT:      %v_3 = vector.broadcast %v_1 : f32 to vector<8xf32>
// CHECK-NEXT:      %p_2 = arith.mulf %v_3, %w : vector<8xf32>
// CHECK-NEXT:      %p_3 = arith.mulf %v_3, %w_1 : vector<8xf32>
// CHECK-NEXT:      %s_8 = arith.addf %s_4, %p : vector<8xf32>
// CHECK-NEXT:      %s_9 = arith.addf %s_5, %p_1 : vector<8xf32>
// CHECK-NEXT:      %s_10 = arith.addf %s_6, %p_2 : vector<8xf32>
// CHECK-NEXT:      %s_11 = arith.addf %s_7, %p_3 : vector<8xf32>
// CHECK-NEXT:      scf.yield %s_8, %s_9, %s_10, %s_11 : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %{{.*}} = arith.muli %i, %c32 : index
// CHECK-NEXT:    vector.store %s, %c[%{{.*}}] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:    %{{.*}} = arith.addi %{{.*}}, %c8 : index
// CHECK-NEXT:    vector.store %s_1, %c[%{{.*}}] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:    %{{.*}} = arith.addi %{{.*}}, %c16 : index
// CHECK-NEXT:    vector.store %s_2, %c[%{{.*}}] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:    %{{.*}} = arith.addi %{{.*}}, %c24 : index
// CHECK-NEXT:    vector.store %s_3, %c[%{{.*}}] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:  }
sched.kernel @tile(%a: memref<4x8xf32>, %b: memref<8x16xf32>, %c: memref<4x16xf32>) {
  sched.axis %i = 4 block(2) unroll(2) {
    sched.axis %j = 16 vector(8) unroll(2) {
      %s = sched.reduce addf %k = 8 : f32 {
        %v = memref.load %a[%i, %k] : memref<4x8xf32>
        %w = memref.load %b[%k, %j] : memref<8x16xf32>
        %p = arith.mulf %v, %w : f32
        sched.yield %p : f32
      }
      memref.store %s, %c[%i, %j] : memref<4x16xf32>
    }
  }
}

// The last work-group of a chunked axis stops at the end of the axis. What fills no vector is one too, which
// ends there.
// CHECK-LABEL: low.kernel @guarded(%x: memref<128xf32>, %y: memref<128xf32>) grid [8, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %c17 = arith.constant 17 : index
// CHECK-NEXT:    %c128 = arith.constant 128 : index
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    %{{.*}} = arith.muli %i, %c17 : index
// CHECK-NEXT:    %{{.*}} = arith.subi %c128, %{{.*}} : index
// CHECK-NEXT:    %{{.*}} = arith.minsi %{{.*}}, %c17 : index
// CHECK-NEXT:    %{{.*}} = arith.remui %{{.*}}, %c4 : index
// CHECK-NEXT:    %{{.*}} = arith.subi %{{.*}}, %{{.*}} : index
// CHECK-NEXT:    scf.for %i_1 = %c0 to %{{.*}} step %c4 {
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %i_1 : index
// CHECK-NEXT:      %v = vector.load %x[%{{.*}}] : memref<128xf32>, vector<4xf32>
// CHECK-NEXT:      vector.store %v, %y[%{{.*}}] : memref<128xf32>, vector<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %is_vector = arith.cmpi sge, %[[COUNT:.*]], %c4 : index
// CHECK-NEXT:    %rest = low.select %is_vector, %[[COUNT]], %[[WHOLE:.*]] : index
// CHECK-NEXT:    %[[LAST:.*]] = arith.subi %rest, %c4 : index
// CHECK-NEXT:    scf.for %i_2 = %[[WHOLE]] to %rest step %c4 {
// CHECK-NEXT:      %{{.*}} = arith.minsi %i_2, %[[LAST]] : index
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %{{.*}} : index
// CHECK-NEXT:      %v_1 = vector.load %x[%{{.*}}] : memref<128xf32>, vector<4xf32>
// CHECK-NEXT:      vector.store %v_1, %y[%{{.*}}] : memref<128xf32>, vector<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    scf.for %i_3 = %rest to %[[COUNT]] step %c1 {
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %i_3 : index
// CHECK-NEXT:      %v_2 = memref.load %x[%{{.*}}] : memref<128xf32>
// CHECK-NEXT:      memref.store %v_2, %y[%{{.*}}] : memref<128xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
sched.kernel @guarded(%x: memref<128xf32>, %y: memref<128xf32>) {
  sched.axis %i = 128 block(17) vector(4) {
    %v = memref.load %x[%i] : memref<128xf32>
    memref.store %v, %y[%i] : memref<128xf32>
  }
}

// Nothing is left over where vectors fill every chunk.
// CHECK-LABEL: low.kernel @whole(%x: memref<120xf32>, %y: memref<120xf32>) grid [8, 1, 1] block [1, 1, 1] {
// CHECK:         scf.for %i_1 = %c0 to %{{.*}} step %c4 {
// CHECK-NOT:     scf.for
// CHECK:         }
// CHECK-NEXT:  }
sched.kernel @whole(%x: memref<120xf32>, %y: memref<120xf32>) {
  sched.axis %i = 120 block(16) vector(4) {
    %v = memref.load %x[%i] : memref<120xf32>
    memref.store %v, %y[%i] : memref<120xf32>
  }
}

// Reductions inside of reductions; the order is that of the text.
// CHECK-LABEL: low.kernel @nested(%x: memref<15xi32>, %y: memref<1xi32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %c0 = arith.constant 0 : i32
// CHECK-NEXT:    %c0_1 = arith.constant 0 : index
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %cm2147483648 = arith.constant -2147483648 : i32
// CHECK-NEXT:    %c5 = arith.constant 5 : index
// CHECK-NEXT:    %s = scf.for %i = %c0_1 to %c3 step %c1 iter_args(%s_1 = %c0) -> (i32) {
// CHECK-NEXT:      %{{.*}} = arith.muli %i, %c5 : index
// CHECK-NEXT:      %m = scf.for %j = %c0_1 to %c5 step %c1 iter_args(%m_1 = %cm2147483648) -> (i32) {
// CHECK-NEXT:        %{{.*}} = arith.addi %{{.*}}, %j : index
// CHECK-NEXT:        %v = memref.load %x[%{{.*}}] : memref<15xi32>
// CHECK-NEXT:        %m_2 = arith.maxsi %m_1, %v : i32
// CHECK-NEXT:        scf.yield %m_2 : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %s_2 = arith.addi %s_1, %m : i32
// CHECK-NEXT:      scf.yield %s_2 : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %s, %y[%c0_1] : memref<1xi32>
// CHECK-NEXT:  }
sched.kernel @nested(%x: memref<3x5xi32>, %y: memref<i32>) {
  %s = sched.reduce addi %i = 3 : i32 {
    %m = sched.reduce maxsi %j = 5 : i32 {
      %v = memref.load %x[%i, %j] : memref<3x5xi32>
      sched.yield %v : i32
    }
    sched.yield %m : i32
  }
  memref.store %s, %y[] : memref<i32>
}

// Partial results: two vectors are combined, then the halves of one, then what is left over.
// CHECK-LABEL: low.kernel @partial(%x: memref<19xf32>, %y: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %start = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c19 = arith.constant 19 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %s, %s_1 = scf.for %i = %c0 to %c16 step %c8 iter_args(%s_2 = %start, %s_3 = %start) -> (vector<4xf32>, vector<4xf32>) {
// CHECK-NEXT:      %v = vector.load %x[%i] : memref<19xf32>, vector<4xf32>
// CHECK-NEXT:      %{{.*}} = arith.addi %i, %c4 : index
// CHECK-NEXT:      %v_1 = vector.load %x[%{{.*}}] : memref<19xf32>, vector<4xf32>
// CHECK-NEXT:      %s_4 = arith.addf %s_2, %v fastmath<contract> : vector<4xf32>
// CHECK-NEXT:      %s_5 = arith.addf %s_3, %v_1 fastmath<contract> : vector<4xf32>
// CHECK-NEXT:      scf.yield %s_4, %s_5 : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %s_6 = arith.addf %s, %s_1 fastmath<contract> : vector<4xf32>
// CHECK-NEXT:    %s_7 = vector.reduction <add>, %s_6 fastmath<contract> : vector<4xf32> into f32
// CHECK-NEXT:    %s_8 = scf.for %i_1 = %c16 to %c19 step %c1 iter_args(%s_9 = %s_7) -> (f32) {
// CHECK-NEXT:      %v_2 = memref.load %x[%i_1] : memref<19xf32>
// CHECK-NEXT:      %s_10 = arith.addf %s_9, %v_2 fastmath<contract> : f32
// CHECK-NEXT:      scf.yield %s_10 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %s_8, %y[%c0] : memref<1xf32>
// CHECK-NEXT:  }
sched.kernel @partial(%x: memref<19xf32>, %y: memref<f32>) {
  %s = sched.reduce addf %i = 19 vector(4) unroll(2) fastmath<contract> : f32 {
    %v = memref.load %x[%i] : memref<19xf32>
    sched.yield %v : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// A local buffer stands at the front, whatever loop it belongs to.
// CHECK-LABEL: low.kernel @local(%x: memref<32xf32>, %y: memref<32xf32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %row = low.alloca : memref<8xf32>
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    scf.for %i = %c0 to %c4 step %c1 {
// CHECK-NEXT:      %{{.*}} = arith.muli %i, %c8 : index
// CHECK-NEXT:      %v = vector.load %x[%{{.*}}] : memref<32xf32>, vector<8xf32>
// CHECK-NEXT:      vector.store %v, %row[%c0] : memref<8xf32>, vector<8xf32>
// CHECK-NEXT:      %w = vector.load %row[%c0] : memref<8xf32>, vector<8xf32>
// CHECK-NEXT:      vector.store %w, %y[%{{.*}}] : memref<32xf32>, vector<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
sched.kernel @local(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  sched.axis %i = 4 {
    %row = sched.alloc local : memref<8xf32>
    sched.axis %j = 8 vector(8) {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      memref.store %v, %row[%j] : memref<8xf32>
    }
    sched.axis %k = 8 vector(8) {
      %w = memref.load %row[%k] : memref<8xf32>
      memref.store %w, %y[%i, %k] : memref<4x8xf32>
    }
  }
}

// An index that becomes a number: a vector of steps is added to its first lane.
// CHECK-LABEL: low.kernel @numbers(%y: memref<16xi32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c16 = arith.constant 16 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    %steps = arith.constant dense<[0, 3, 6, 9]> : vector<4xi32>
// CHECK-NEXT:    %c12 = arith.constant 12 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    scf.for %i = %c0 to %c16 step %c8 {
// CHECK-NEXT:      %{{.*}} = arith.muli %i, %c3 : index
// CHECK-NEXT:      %n = arith.index_cast %{{.*}} : index to i32
// CHECK-NEXT:      %n_1 = vector.broadcast %n : i32 to vector<4xi32>
// CHECK-NEXT:      %n_2 = arith.addi %n_1, %steps : vector<4xi32>
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %c12 : index
// CHECK-NEXT:      %n_3 = arith.index_cast %{{.*}} : index to i32
// CHECK-NEXT:      %n_4 = vector.broadcast %n_3 : i32 to vector<4xi32>
// CHECK-NEXT:      %n_5 = arith.addi %n_4, %steps : vector<4xi32>
// CHECK-NEXT:      vector.store %n_2, %y[%i] : memref<16xi32>, vector<4xi32>
// CHECK-NEXT:      %{{.*}} = arith.addi %i, %c4 : index
// CHECK-NEXT:      vector.store %n_5, %y[%{{.*}}] : memref<16xi32>, vector<4xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
sched.kernel @numbers(%y: memref<16xi32>) {
  %c3 = arith.constant 3 : index
  sched.axis %i = 16 vector(4) unroll(2) {
    %j = arith.muli %i, %c3 : index
    %n = arith.index_cast %j : index to i32
    memref.store %n, %y[%i] : memref<16xi32>
  }
}

// Work-groups and work-items: the innermost axis of each is x.
// CHECK-LABEL: low.kernel @threads(%x: memref<192xf32>) grid [1, 6, 1] block [4, 1, 1] {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c32 = arith.constant 32 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %i = low.block_id y
// CHECK-NEXT:    %j = low.block_id x
// CHECK-NEXT:    %{{.*}} = arith.muli %i, %c32 : index
// CHECK-NEXT:    scf.for %j_1 = %c0 to %c4 step %c1 {
// CHECK-NEXT:      %k = low.thread_id x
// CHECK-NEXT:      %{{.*}} = arith.muli %j_1, %c8 : index
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %{{.*}} : index
// CHECK-NEXT:      %{{.*}} = arith.muli %k, %c2 : index
// CHECK-NEXT:      %{{.*}} = arith.addi %{{.*}}, %{{.*}} : index
// CHECK-NEXT:      scf.for %k_1 = %c0 to %c2 step %c1 {
// CHECK-NEXT:        %{{.*}} = arith.addi %{{.*}}, %k_1 : index
// CHECK-NEXT:        %v = memref.load %x[%{{.*}}] : memref<192xf32>
// CHECK-NEXT:        %w = arith.negf %v : f32
// CHECK-NEXT:        memref.store %w, %x[%{{.*}}] : memref<192xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
sched.kernel @threads(%x: memref<6x4x8xf32>) {
  sched.axis %i = 6 block {
    sched.axis %j = 4 block(4) {
      sched.axis %k = 8 thread(2) {
        %v = memref.load %x[%i, %j, %k] : memref<6x4x8xf32>
        %w = arith.negf %v : f32
        memref.store %w, %x[%i, %j, %k] : memref<6x4x8xf32>
      }
    }
  }
}

// No iterations: no work-group, or an empty body; the sum of nothing is 0.
// CHECK-LABEL: low.kernel @none(%x: memref<0xf32>) grid [0, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:  }
sched.kernel @none(%x: memref<0xf32>) {
  sched.axis %i = 0 block(4) vector(8) {
    %v = memref.load %x[%i] : memref<0xf32>
    memref.store %v, %x[%i] : memref<0xf32>
  }
}

// CHECK-LABEL: low.kernel @sum_of_nothing(%x: memref<0xf32>, %y: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    memref.store %cst, %y[%c0] : memref<1xf32>
// CHECK-NEXT:  }
sched.kernel @sum_of_nothing(%x: memref<0xf32>, %y: memref<f32>) {
  %s = sched.reduce addf %i = 0 vector(8) : f32 {
    %v = memref.load %x[%i] : memref<0xf32>
    sched.yield %v : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// One iteration: no loop.
// CHECK-LABEL: low.kernel @one(%x: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %v = memref.load %x[%c0] : memref<1xf32>
// CHECK-NEXT:    memref.store %v, %x[%c0] : memref<1xf32>
// CHECK-NEXT:  }
sched.kernel @one(%x: memref<1xf32>) {
  sched.axis %i = 1 {
    %v = memref.load %x[%i] : memref<1xf32>
    memref.store %v, %x[%i] : memref<1xf32>
  }
}

// No axis: a scalar.
// CHECK-LABEL: low.kernel @scalar(%x: memref<1xf32>, %y: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %v = memref.load %x[%c0] : memref<1xf32>
// CHECK-NEXT:    %e = math.exp %v : f32
// CHECK-NEXT:    memref.store %e, %y[%c0] : memref<1xf32>
// CHECK-NEXT:  }
sched.kernel @scalar(%x: memref<f32>, %y: memref<f32>) {
  %v = memref.load %x[] : memref<f32>
  %e = math.exp %v : f32
  memref.store %e, %y[] : memref<f32>
}

// The host program stays.
// CHECK-LABEL: sched.program @main(%x: memref<f32>) : (tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:    %y = sched.buffer global result : memref<f32>
// CHECK-NEXT:    %t = sched.launch @scalar(%x, %y) after() : memref<f32>, memref<f32>
// CHECK-NEXT:    sched.return %y after(%t) : memref<f32>
// CHECK-NEXT:  }
sched.program @main(%x: memref<f32>) : (tensor<f32>) -> tensor<f32> {
  %y = sched.buffer global result : memref<f32>
  %t = sched.launch @scalar(%x, %y) after() : memref<f32>, memref<f32>
  sched.return %y after(%t) : memref<f32>
}
