// RUN: tenon-opt -p collapse-axes %s | filecheck %s

// Rows and columns of an image are one axis where nothing tells them apart.
// CHECK-LABEL: sched.kernel @places
// CHECK:         sched.axis %o = 4 {
// CHECK-NEXT:      sched.axis %i_j = 15 {
// CHECK:             sched.reduce fma %k = 2
// CHECK:             memref.store %s, %y[%o, %i, %j] : memref<4x3x5xf32>
// CHECK-NOT:     sched.axis
// CHECK-LABEL: sched.kernel @windows
sched.kernel @places(%x: memref<2x3x5xf32>, %w: memref<4x2xf32>, %y: memref<4x3x5xf32>) {
  sched.axis %o = 4 {
    sched.axis %i = 3 {
      sched.axis %j = 5 {
        %s = sched.reduce fma %k = 2 : f32 {
          %a = memref.load %x[%k, %i, %j] : memref<2x3x5xf32>
          %b = memref.load %w[%o, %k] : memref<4x2xf32>
          sched.yield %a, %b : f32
        }
        memref.store %s, %y[%o, %i, %j] : memref<4x3x5xf32>
      }
    }
  }
}

// Rows of windows do not go on from one another.
// CHECK:         sched.axis %i = 3 {
// CHECK-NEXT:      sched.axis %j = 3 {
// CHECK-LABEL: sched.kernel @no_sum
sched.kernel @windows(%x: memref<3x5xf32>, %y: memref<3x3xf32>) {
  sched.axis %i = 3 {
    sched.axis %j = 3 {
      %s = sched.reduce maximumf %k = 3 : f32 {
        %jk = arith.addi %j, %k : index
        %a = memref.load %x[%i, %jk] : memref<3x5xf32>
        sched.yield %a : f32
      }
      memref.store %s, %y[%i, %j] : memref<3x3xf32>
    }
  }
}

// Kernels without a reduction stay as they are.
// CHECK:         sched.axis %i = 3 {
// CHECK-NEXT:      sched.axis %j = 5 {
// CHECK-LABEL: sched.kernel @compared
sched.kernel @no_sum(%x: memref<3x5xf32>, %y: memref<3x5xf32>) {
  sched.axis %i = 3 {
    sched.axis %j = 5 {
      %a = memref.load %x[%i, %j] : memref<3x5xf32>
      memref.store %a, %y[%i, %j] : memref<3x5xf32>
    }
  }
}

// So do axes of which one is compared with a number.
// CHECK:         sched.axis %i = 3 {
// CHECK-NEXT:      sched.axis %j = 5 {
sched.kernel @compared(%x: memref<2x3x5xf32>, %y: memref<3x5xi8>) {
  %c2 = arith.constant 2 : index
  sched.axis %i = 3 {
    sched.axis %j = 5 {
      %s = sched.reduce maximumf %k = 2 : f32 {
        %a = memref.load %x[%k, %i, %j] : memref<2x3x5xf32>
        sched.yield %a : f32
      }
      %c = arith.cmpi slt, %j, %c2 : index
      %b = arith.extui %c : i1 to i8
      memref.store %b, %y[%i, %j] : memref<3x5xi8>
    }
  }
}

// Rows and columns of a product are two axes, also where both sides lie in panels, and the result in tiles.
// CHECK-LABEL: sched.kernel @panels
// CHECK:         sched.axis %i = 8 {
// CHECK-NEXT:      sched.axis %j = 16 {
sched.kernel @panels(%a: memref<2x3x4xf32>, %b: memref<2x3x8xf32>, %c: memref<2x2x4x8xf32>) {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  sched.axis %i = 8 {
    sched.axis %j = 16 {
      %ip = arith.divui %i, %c4 : index
      %il = arith.remui %i, %c4 : index
      %jp = arith.divui %j, %c8 : index
      %jl = arith.remui %j, %c8 : index
      %s = sched.reduce fma %k = 3 : f32 {
        %x = memref.load %a[%ip, %k, %il] : memref<2x3x4xf32>
        %y = memref.load %b[%jp, %k, %jl] : memref<2x3x8xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%ip, %jp, %il, %jl] : memref<2x2x4x8xf32>
    }
  }
}

// Panels of both axes at once go on from row to row.
// CHECK-LABEL: sched.kernel @panels_of_places
// CHECK:         sched.axis %i_j = 15 {
// CHECK-NOT:     sched.axis
// CHECK-LABEL: sched.kernel @shared_by_rows
sched.kernel @panels_of_places(%x: memref<4x2x4xf32>, %y: memref<3x5xf32>) {
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  sched.axis %i = 3 {
    sched.axis %j = 5 {
      %i5 = arith.muli %i, %c5 : index
      %p = arith.addi %i5, %j : index
      %panel = arith.divui %p, %c4 : index
      %lane = arith.remui %p, %c4 : index
      %s = sched.reduce maximumf %k = 2 : f32 {
        %a = memref.load %x[%panel, %k, %lane] : memref<4x2x4xf32>
        sched.yield %a : f32
      }
      memref.store %s, %y[%i, %j] : memref<3x5xf32>
    }
  }
}

// What two rows share depends on one axis alone.
// CHECK:         sched.axis %i = 4 {
// CHECK-NEXT:      sched.axis %j = 5 {
sched.kernel @shared_by_rows(%x: memref<2x4x5xf32>, %w: memref<2x2xf32>, %y: memref<4x5xf32>) {
  %c2 = arith.constant 2 : index
  sched.axis %i = 4 {
    sched.axis %j = 5 {
      %g = arith.divui %i, %c2 : index
      %s = sched.reduce fma %k = 2 : f32 {
        %a = memref.load %x[%k, %i, %j] : memref<2x4x5xf32>
        %b = memref.load %w[%g, %k] : memref<2x2xf32>
        sched.yield %a, %b : f32
      }
      memref.store %s, %y[%i, %j] : memref<4x5xf32>
    }
  }
}

// Named dims make one axis too.
// CHECK-LABEL: sched.kernel @named
// CHECK:         sched.axis %i_j = m * n {
// CHECK-NOT:     sched.axis
graph.dim @n min 1 max 8
graph.dim @m min 1 max 8
sched.kernel @named(%n: index, %m: index, %x: memref<?x?x4xf32, {dims = #graph.dims<n, m, 4>}>, %y: memref<?x?xf32, {dims = #graph.dims<n, m>}>) dims [n, m] {
  sched.axis %i = n {
    sched.axis %j = m {
      %s = sched.reduce maximumf %k = 4 : f32 {
        %a = memref.load %x[%i, %j, %k] : memref<?x?x4xf32, {dims = #graph.dims<n, m, 4>}>
        sched.yield %a : f32
      }
      memref.store %s, %y[%i, %j] : memref<?x?xf32, {dims = #graph.dims<n, m>}>
    }
  }
}

// The greatest element of a matrix is that of all its elements, also where code makes indices in between.
// CHECK-LABEL: sched.kernel @extremum
// CHECK:         sched.reduce maximumf %i_j = 15 : f32 {
// CHECK-NOT:     sched.reduce
sched.kernel @extremum(%x: memref<7x5xf32>, %y: memref<f32>) {
  %c4 = arith.constant 4 : index
  %m = sched.reduce maximumf %i = 3 : f32 {
    %row = arith.addi %i, %c4 : index
    %r = sched.reduce maximumf %j = 5 : f32 {
      %a = memref.load %x[%row, %j] : memref<7x5xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  memref.store %m, %y[] : memref<f32>
}

// Sums of floats keep their order, columns of a wider matrix are not contiguous, and the greatest of products has
// two kinds of reductions.
// CHECK-LABEL: sched.kernel @others
// CHECK:         sched.reduce addf %i = 3
// CHECK-NEXT:      sched.reduce addf %j = 5
// CHECK:         sched.reduce maximumf %k = 3
// CHECK-NEXT:      sched.reduce maximumf %l = 4
// CHECK:         sched.reduce maximumf %p = 3
// CHECK-NEXT:      sched.reduce mulf %q = 5
sched.kernel @others(%x: memref<3x5xf32>, %y: memref<3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %s = sched.reduce addf %i = 3 : f32 {
    %r = sched.reduce addf %j = 5 : f32 {
      %a = memref.load %x[%i, %j] : memref<3x5xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  %m = sched.reduce maximumf %k = 3 : f32 {
    %r = sched.reduce maximumf %l = 4 : f32 {
      %a = memref.load %x[%k, %l] : memref<3x5xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  %b = sched.reduce maximumf %p = 3 : f32 {
    %r = sched.reduce mulf %q = 5 : f32 {
      %a = memref.load %x[%p, %q] : memref<3x5xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  memref.store %s, %y[%c0] : memref<3xf32>
  memref.store %m, %y[%c1] : memref<3xf32>
  memref.store %b, %y[%c2] : memref<3xf32>
}

// Beside a sum of rows, the greatest element is that of one row after the other, and both read each element once. Not
// where rows are shorter than 1024 bytes, of other rows, or of another buffer.
// CHECK-LABEL: sched.kernel @beside
// CHECK:         sched.reduce addf %i = 3
// CHECK-NEXT:      sched.reduce addf %j = 256
// CHECK:         sched.reduce maximumf %k = 3
// CHECK-NEXT:      sched.reduce maximumf %l = 256
// CHECK:         sched.reduce maximumf %m_n = 512
// CHECK:         sched.reduce maximumf %o_p = 768
sched.kernel @beside(%x: memref<3x256xf32>, %z: memref<3x256xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %addf_i = sched.reduce addf %i = 3 : f32 {
    %r = sched.reduce addf %j = 256 : f32 {
      %a = memref.load %x[%i, %j] : memref<3x256xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  %maximumf_k = sched.reduce maximumf %k = 3 : f32 {
    %r = sched.reduce maximumf %l = 256 : f32 {
      %a = memref.load %x[%k, %l] : memref<3x256xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  %maximumf_m = sched.reduce maximumf %m = 2 : f32 {
    %r = sched.reduce maximumf %n = 256 : f32 {
      %a = memref.load %x[%m, %n] : memref<3x256xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  %maximumf_o = sched.reduce maximumf %o = 3 : f32 {
    %r = sched.reduce maximumf %p = 256 : f32 {
      %a = memref.load %z[%o, %p] : memref<3x256xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  memref.store %addf_i, %y[%c0] : memref<4xf32>
  memref.store %maximumf_k, %y[%c1] : memref<4xf32>
  memref.store %maximumf_m, %y[%c2] : memref<4xf32>
  memref.store %maximumf_o, %y[%c3] : memref<4xf32>
}

// A count is cheap in shorter rows too, of all dims.
// CHECK-LABEL: sched.kernel @counted
// CHECK:         sched.reduce addf %i = 3
// CHECK-NEXT:      sched.reduce addf %j = 5
// CHECK-NEXT:        sched.reduce addf %k = 8
// CHECK:         sched.reduce addi %l = 3
// CHECK-NEXT:      sched.reduce addi %m = 5
// CHECK-NEXT:        sched.reduce addi %n = 8
sched.kernel @counted(%x: memref<3x5x8xf32>, %y: memref<f32>, %z: memref<i32>) {
  %zero = arith.constant 0.0 : f32
  %s = sched.reduce addf %i = 3 : f32 {
    %q = sched.reduce addf %j = 5 : f32 {
      %r = sched.reduce addf %k = 8 : f32 {
        %a = memref.load %x[%i, %j, %k] : memref<3x5x8xf32>
        sched.yield %a : f32
      }
      sched.yield %r : f32
    }
    sched.yield %q : f32
  }
  %t = sched.reduce addi %l = 3 : i32 {
    %q = sched.reduce addi %m = 5 : i32 {
      %r = sched.reduce addi %n = 8 : i32 {
        %a = memref.load %x[%l, %m, %n] : memref<3x5x8xf32>
        %is_less = arith.cmpf olt, %a, %zero : f32
        %one = low.convert extui %is_less : i1 to i32
        sched.yield %one : i32
      }
      sched.yield %r : i32
    }
    sched.yield %q : i32
  }
  memref.store %s, %y[] : memref<f32>
  memref.store %t, %z[] : memref<i32>
}

// CHECK-LABEL: sched.kernel @counted_short
// CHECK:         sched.reduce addf %i = 3
// CHECK-NEXT:      sched.reduce addf %j = 5
// CHECK-NEXT:        sched.reduce addf %k = 7
// CHECK:         sched.reduce addi %l_m_n = 105
sched.kernel @counted_short(%x: memref<3x5x7xf32>, %y: memref<f32>, %z: memref<i32>) {
  %zero = arith.constant 0.0 : f32
  %s = sched.reduce addf %i = 3 : f32 {
    %q = sched.reduce addf %j = 5 : f32 {
      %r = sched.reduce addf %k = 7 : f32 {
        %a = memref.load %x[%i, %j, %k] : memref<3x5x7xf32>
        sched.yield %a : f32
      }
      sched.yield %r : f32
    }
    sched.yield %q : f32
  }
  %t = sched.reduce addi %l = 3 : i32 {
    %q = sched.reduce addi %m = 5 : i32 {
      %r = sched.reduce addi %n = 7 : i32 {
        %a = memref.load %x[%l, %m, %n] : memref<3x5x7xf32>
        %is_less = arith.cmpf olt, %a, %zero : f32
        %one = low.convert extui %is_less : i1 to i32
        sched.yield %one : i32
      }
      sched.yield %r : i32
    }
    sched.yield %q : i32
  }
  memref.store %s, %y[] : memref<f32>
  memref.store %t, %z[] : memref<i32>
}

// CHECK-LABEL: sched.kernel @beside_short
// CHECK:         sched.reduce maximumf %k_l = 765
sched.kernel @beside_short(%x: memref<3x255xf32>, %y: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %addf_i = sched.reduce addf %i = 3 : f32 {
    %r = sched.reduce addf %j = 255 : f32 {
      %a = memref.load %x[%i, %j] : memref<3x255xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  %maximumf_k = sched.reduce maximumf %k = 3 : f32 {
    %r = sched.reduce maximumf %l = 255 : f32 {
      %a = memref.load %x[%k, %l] : memref<3x255xf32>
      sched.yield %a : f32
    }
    sched.yield %r : f32
  }
  memref.store %addf_i, %y[%c0] : memref<2xf32>
  memref.store %maximumf_k, %y[%c1] : memref<2xf32>
}
