// RUN: tenon-opt -p 'reorder-axes{kernel="three" axes="k","i","j"},reorder-axes{kernel="counts" axes="i","k","j"},reorder-axes{kernel="greatest" axes="b","a"},reorder-axes{kernel="serial" axes="k","i"},reorder-axes{kernel="apart" axes="i","k"},reorder-axes{kernel="dims" axes="k","i"}' %s | filecheck %s
// RUN: tenon-opt -p 'reorder-axes{kernel="products" axes="b","a" allow-reorder=true}' %s | filecheck %s --check-prefix REORDER
// RUN: not tenon-opt -p 'reorder-axes{kernel="products" axes="b","a"}' %s 2>&1 | filecheck %s --check-prefix ORDER
// RUN: not tenon-opt -p 'reorder-axes{kernel="counts" axes="j","i"}' %s 2>&1 | filecheck %s --check-prefix COUNT
// RUN: not tenon-opt -p 'reorder-axes{kernel="three" axes="k","i"}' %s 2>&1 | filecheck %s --check-prefix NEST
// RUN: not tenon-opt -p 'reorder-axes{kernel="three" axes="k","k"}' %s 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not tenon-opt -p 'reorder-axes{kernel="beside" axes="j","i"}' %s 2>&1 | filecheck %s --check-prefix BESIDE
// RUN: not tenon-opt -p 'reorder-axes{kernel="reads" axes="j","i"}' %s 2>&1 | filecheck %s --check-prefix READ
// RUN: not tenon-opt -p 'reorder-axes{kernel="mixed" axes="k","i"}' %s 2>&1 | filecheck %s --check-prefix MIXED
// RUN: not tenon-opt -p 'reorder-axes{kernel="chain" axes="i","k"}' %s 2>&1 | filecheck %s --check-prefix CHAIN
// RUN: not tenon-opt -p 'reorder-axes{kernel="loops" axes="b","a"}' %s 2>&1 | filecheck %s --check-prefix LOOPS
// RUN: not tenon-opt -p 'reorder-axes{kernel="carries" axes="i","k"}' %s 2>&1 | filecheck %s --check-prefix CARRIES
// RUN: not tenon-opt -p 'reorder-axes{kernel="totals" axes="k","i"}' %s 2>&1 | filecheck %s --check-prefix TOTALS
// RUN: not tenon-opt -p 'reorder-axes{kernel="bounds" axes="k","i"}' %s 2>&1 | filecheck %s --check-prefix BOUNDS
// RUN: not tenon-opt -p 'reorder-axes{kernel="minima" axes="b","a"}' %s 2>&1 | filecheck %s --check-prefix MINIMA
// RUN: not tenon-opt -p 'reorder-axes{kernel="starts" axes="b","a"}' %s 2>&1 | filecheck %s --check-prefix STARTS
// RUN: not tenon-opt -p 'reorder-axes{kernel="partial" axes="b","a"}' %s 2>&1 | filecheck %s --check-prefix PARTIAL
// RUN: not tenon-opt -p 'reorder-axes{kernel="same" axes="j","i"}' %s 2>&1 | filecheck %s --check-prefix SAME
// RUN: not tenon-opt -p 'reorder-axes{kernel="other" axes="b","a"}' %s 2>&1 | filecheck %s --check-prefix OTHER
// RUN: not tenon-opt -p 'reorder-axes{kernel="side" axes="j","i"}' %s 2>&1 | filecheck %s --check-prefix SIDE

// OTHER: error: reorder-axes: sched.reduce %a of @other: it does not combine just what %b gives
// SIDE: error: reorder-axes: sched.axis %{{[ij]}} of @side: it does not stand right inside of %{{[ij]}}
// SAME: error: reorder-axes: sched.axis %j of @same: two iterations of %j may store the same element of %x
// ORDER: error: reorder-axes: sched.reduce %a of @products: the order in which it combines by fma would change (hint: allow_reorder)
// COUNT: error: reorder-axes: sched.axis %j of @counts: its count depends on %i, which would be inside of it
// NEST: error: reorder-axes: sched.axis %k of @three: it does not stand right inside of %i, but of %j
// TWICE: error: reorder-axes: sched.axis %k of @three: it is named twice
// BESIDE: error: reorder-axes: sched.axis %i of @beside: memref.store stands beside %j in it (hint: distribute-axis)
// READ: error: reorder-axes: sched.axis %i of @reads: %x, which %j stores to, is read in it before
// MIXED: error: reorder-axes: sched.axis %i of @mixed: it is no reduction, as %k is
// CHAIN: error: reorder-axes: sched.axis %i of @chain: it cannot move out of %k, which is serial: one iteration of %i may read an element of %x that another one stores
// TOTALS: error: reorder-axes: scf.for %k of @totals: it carries values from one iteration to the next
// LOOPS: error: reorder-axes: scf.for %b of @loops: it is serial, and so is %a around it
// CARRIES: error: reorder-axes: scf.for %k of @carries: it carries values from one iteration to the next
// BOUNDS: error: reorder-axes: scf.for %k of @bounds: its bounds depend on %i, which would be inside of it
// MINIMA: error: reorder-axes: sched.reduce %a of @minima: it combines by maximumf, and %b by minimumf
// STARTS: error: reorder-axes: sched.reduce %b of @starts: it starts from a value in each iteration of %a
// PARTIAL: error: reorder-axes: sched.reduce %a of @partial: arith.addf stands beside %b in it (hint: distribute-axis)

// What stands between the loops goes with the innermost one.
// CHECK-LABEL: sched.kernel @three
// CHECK-NEXT:    sched.axis %k = 6 {
// CHECK-NEXT:      sched.axis %i = 4 unroll(2) {
// CHECK-NEXT:        sched.axis %j = 5 attributes {note} {
// CHECK-NEXT:          %v = memref.load %x[%i]
// CHECK-NEXT:          %w = arith.addf %v, %v
// CHECK-NEXT:          memref.store %w, %y[%i, %j, %k]
sched.kernel @three(%x: memref<4xf32>, %y: memref<4x5x6xf32>) {
  sched.axis %i = 4 unroll(2) {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.axis %j = 5 attributes {note} {
      %w = arith.addf %v, %v : f32
      sched.axis %k = 6 {
        memref.store %w, %y[%i, %j, %k] : memref<4x5x6xf32>
      }
    }
  }
}

// A count stands where all of it is known.
// CHECK-LABEL: sched.kernel @counts
// CHECK:         sched.axis %i = 4 {
// CHECK-NEXT:      %left = arith.subi %c6, %i : index
// CHECK-NEXT:      sched.axis %k = 7 {
// CHECK-NEXT:        sched.axis %j = 5 count %left {
// CHECK-NEXT:          %m = arith.addi %i, %j : index
sched.kernel @counts(%y: memref<9x7xf32>) {
  %zero = arith.constant 0.0 : f32
  %c6 = arith.constant 6 : index
  sched.axis %i = 4 {
    %left = arith.subi %c6, %i : index
    sched.axis %j = 5 count %left {
      %m = arith.addi %i, %j : index
      sched.axis %k = 7 {
        memref.store %zero, %y[%m, %k] : memref<9x7xf32>
      }
    }
  }
}

// Dims of a reduction whose order does not show.
// CHECK-LABEL: sched.kernel @greatest
// CHECK:         %s = sched.reduce maximumf %b = 5 init(%start) : f32 {
// CHECK-NEXT:      %t = sched.reduce maximumf %a = 4 : f32 {
// CHECK-NEXT:        %v = memref.load %x[%a, %b]
// CHECK-NEXT:        sched.yield %v : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      sched.yield %t : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.store %s, %y[]
sched.kernel @greatest(%x: memref<4x5xf32>, %y: memref<f32>) {
  %start = memref.load %y[] : memref<f32>
  %s = sched.reduce maximumf %a = 4 init(%start) : f32 {
    %t = sched.reduce maximumf %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v : f32
    }
    sched.yield %t : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// REORDER-LABEL: sched.kernel @products
// REORDER:       sched.reduce fma %b = 5 : f32 {
// REORDER-NEXT:    sched.reduce fma %a = 4 : f32 {
sched.kernel @products(%x: memref<4x5xf32>, %y: memref<f32>) {
  %s = sched.reduce fma %a = 4 : f32 {
    %t = sched.reduce fma %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v, %v : f32
    }
    sched.yield %t : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// An axis moves into a serial loop, and out of one where each of its iterations has elements of its own.
// CHECK-LABEL: sched.kernel @serial
// CHECK:         scf.for %k = %c0 to %c5 step %c1 {
// CHECK-NEXT:      sched.axis %i = 4 {
// CHECK:           }
// CHECK-NEXT:    }
sched.kernel @serial(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  sched.axis %i = 4 {
    scf.for %k = %c0 to %c5 step %c1 {
      %v = memref.load %x[%i] : memref<4xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %x[%i] : memref<4xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @apart
// CHECK:         sched.axis %i = 4 {
// CHECK-NEXT:      scf.for %k = %c0 to %c5 step %c1 {
// CHECK:           }
// CHECK-NEXT:    }
sched.kernel @apart(%x: memref<4x9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %k = %c0 to %c5 step %c1 {
    sched.axis %i = 4 {
      %m = arith.addi %k, %c1 : index
      %v = memref.load %x[%i, %m] : memref<4x9xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %x[%i, %k] : memref<4x9xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @dims
// CHECK:         sched.axis %k = 5 {
// CHECK-NEXT:      sched.axis %i = 4 count %c3 {
sched.kernel @dims(%x: memref<4x5xf32>) {
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 count %c3 {
    sched.axis %k = 5 {
      memref.store %zero, %x[%i, %k] : memref<4x5xf32>
    }
  }
}

sched.kernel @beside(%x: memref<4xf32>, %y: memref<4x5xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    sched.axis %j = 5 {
      memref.store %zero, %y[%i, %j] : memref<4x5xf32>
    }
    memref.store %zero, %x[%i] : memref<4xf32>
  }
}

sched.kernel @reads(%x: memref<4x5xf32>) {
  %c0 = arith.constant 0 : index
  sched.axis %i = 4 {
    %v = memref.load %x[%i, %c0] : memref<4x5xf32>
    sched.axis %j = 5 {
      memref.store %v, %x[%i, %j] : memref<4x5xf32>
    }
  }
}

sched.kernel @mixed(%x: memref<4x5xf32>) {
  sched.axis %i = 4 {
    %s = sched.reduce maximumf %k = 5 : f32 {
      %v = memref.load %x[%i, %k] : memref<4x5xf32>
      sched.yield %v : f32
    }
  }
}

sched.kernel @chain(%x: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  scf.for %k = %c0 to %c5 step %c1 {
    sched.axis %i = 4 {
      %m = arith.addi %i, %k : index
      %v = memref.load %x[%m] : memref<9xf32>
      memref.store %v, %x[%i] : memref<9xf32>
    }
  }
}

sched.kernel @loops(%x: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %a = %c0 to %c1 step %c1 {
    scf.for %b = %c0 to %c1 step %c1 {
      memref.store %zero, %x[%a] : memref<9xf32>
    }
  }
}

sched.kernel @totals(%x: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    %last = scf.for %k = %c0 to %c4 step %c1 iter_args(%total = %zero) -> (f32) {
      %v = memref.load %x[%k, %i] : memref<4x4xf32>
      %next = arith.addf %total, %v : f32
      memref.store %next, %x[%k, %i] : memref<4x4xf32>
      scf.yield %next : f32
    }
  }
}

sched.kernel @carries(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %last = scf.for %k = %c0 to %c1 step %c1 iter_args(%v = %zero) -> (f32) {
    sched.axis %i = 4 {
      memref.store %v, %x[%i] : memref<4xf32>
    }
    scf.yield %v : f32
  }
}

sched.kernel @bounds(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    scf.for %k = %c0 to %i step %c1 {
      memref.store %zero, %x[%i] : memref<4xf32>
    }
  }
}

sched.kernel @partial(%x: memref<4x5xf32>, %y: memref<f32>) {
  %s = sched.reduce maximumf %a = 4 : f32 {
    %t = sched.reduce maximumf %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v : f32
    }
    %u = arith.addf %t, %t : f32
    sched.yield %u : f32
  }
  memref.store %s, %y[] : memref<f32>
}

sched.kernel @minima(%x: memref<4x5xf32>, %y: memref<f32>) {
  %s = sched.reduce maximumf %a = 4 : f32 {
    %t = sched.reduce minimumf %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v : f32
    }
    sched.yield %t : f32
  }
  memref.store %s, %y[] : memref<f32>
}

sched.kernel @starts(%x: memref<4x5xf32>, %y: memref<f32>) {
  %start = memref.load %y[] : memref<f32>
  %s = sched.reduce maximumf %a = 4 : f32 {
    %t = sched.reduce maximumf %b = 5 init(%start) : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v : f32
    }
    sched.yield %t : f32
  }
  memref.store %s, %y[] : memref<f32>
}

sched.kernel @same(%x: memref<4xf32>, %y: memref<5xf32>) {
  sched.axis %i = 4 {
    sched.axis %j = 5 {
      %v = memref.load %y[%j] : memref<5xf32>
      memref.store %v, %x[%i] : memref<4xf32>
    }
  }
}

sched.kernel @other(%x: memref<4x5xf32>, %y: memref<f32>) {
  %c0 = arith.constant 0 : index
  %s = sched.reduce maximumf %a = 4 : f32 {
    %first = memref.load %x[%a, %c0] : memref<4x5xf32>
    %t = sched.reduce maximumf %b = 5 : f32 {
      %v = memref.load %x[%a, %b] : memref<4x5xf32>
      sched.yield %v : f32
    }
    sched.yield %first : f32
  }
  memref.store %s, %y[] : memref<f32>
}

sched.kernel @side(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 4 {
    memref.store %zero, %x[%i] : memref<4xf32>
  }
  sched.axis %j = 4 {
    memref.store %zero, %x[%j] : memref<4xf32>
  }
}
