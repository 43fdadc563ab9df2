// RUN: tenon-opt -p 'split-axis{kernel="window" axis="l" factor=8},compute-at{kernel="window" buffer="row" axis="l_outer"},compute-at{kernel="two" buffer="row" axis="l"}' %s | filecheck %s
// RUN: not tenon-opt -p 'compute-at{kernel="window" buffer="x" axis="l"}' %s 2>&1 | filecheck %s --check-prefix ARGUMENT
// RUN: not tenon-opt -p 'compute-at{kernel="window" buffer="row" axis="j"}' %s 2>&1 | filecheck %s --check-prefix BEFORE
// RUN: not tenon-opt -p 'compute-at{kernel="stores" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix STORES
// RUN: not tenon-opt -p 'compute-at{kernel="reduced" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix REDUCED
// RUN: not tenon-opt -p 'compute-at{kernel="place" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix PLACE
// RUN: not tenon-opt -p 'compute-at{kernel="part" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix PART
// RUN: not tenon-opt -p 'compute-at{kernel="more" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix MORE
// RUN: not tenon-opt -p 'compute-at{kernel="mapped" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix MAPPED
// RUN: not tenon-opt -p 'compute-at{kernel="others" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix OTHERS
// RUN: not tenon-opt -p 'compute-at{kernel="too" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix TOO
// RUN: not tenon-opt -p 'compute-at{kernel="later" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix LATER
// RUN: not tenon-opt -p 'compute-at{kernel="below" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix BELOW
// RUN: not tenon-opt -p 'compute-at{kernel="early" buffer="row" axis="l"}' %s 2>&1 | filecheck %s --check-prefix EARLY

// EARLY: error: compute-at: sched.axis %l of @early: %row is not filled before it
// ARGUMENT: error: compute-at: sched.axis %l of @window: %x is an argument of the kernel, expected a local buffer
// BEFORE: error: compute-at: sched.axis %j of @window: %row is not read in it
// STORES: error: compute-at: sched.alloc %row of @stores: 2 ops store to it, expected one
// REDUCED: error: compute-at: sched.alloc %row of @reduced: sched.reduce stores to it, expected axes alone
// PLACE: error: compute-at: sched.alloc %row of @place: dim 0 is not filled by an axis of its own
// PART: error: compute-at: sched.axis %j of @part: it fills 4 of 6 elements of dim 0 of %row
// MORE: error: compute-at: sched.alloc %row of @more: 2 axes fill its 1 dims
// MAPPED: error: compute-at: sched.axis %j of @mapped: it is mapped to vector(2), expected a serial one
// OTHERS: error: compute-at: sched.axis %l of @others: %row is read elsewhere too
// TOO: error: compute-at: sched.axis %j of @too: it stores to %y too
// LATER: error: compute-at: sched.axis %l of @later: %j reads %y, which is stored to later
// BELOW: error: compute-at: sched.axis %l of @below: %row is read from index -1 on in it, so a part is missing

// Each part computes the elements at its border too.
// CHECK-LABEL: sched.kernel @window
// CHECK-NOT:     sched.alloc
// CHECK:         sched.axis %l_outer = 4 {
// CHECK:           %row = sched.alloc local : memref<9xf32>
// CHECK:           sched.axis %j = 9 count %{{.*}} {
// CHECK-NEXT:        %j_1 = arith.addi
// CHECK-NEXT:        %v = memref.load %x[%j_1] : memref<32xf32>
// CHECK:             memref.store %e, %row[%j] : memref<9xf32>
// CHECK:           sched.axis %l_inner = 8 count
// CHECK:             %a = memref.load %row[%l_inner] : memref<9xf32>
sched.kernel @window(%x: memref<32xf32>, %y: memref<31xf32>) {
  %c1 = arith.constant 1 : index
  %row = sched.alloc local : memref<32xf32>
  sched.axis %j = 32 {
    %v = memref.load %x[%j] : memref<32xf32>
    %e = math.exp %v : f32
    memref.store %e, %row[%j] : memref<32xf32>
  }
  sched.axis %l = 31 {
    %next = arith.addi %l, %c1 : index
    %a = memref.load %row[%l] : memref<32xf32>
    %b = memref.load %row[%next] : memref<32xf32>
    %d = arith.addf %a, %b : f32
    memref.store %d, %y[%l] : memref<31xf32>
  }
}

// Two dims, read transposed; the dim that is read whole stays.
// CHECK-LABEL: sched.kernel @two
// CHECK:         sched.axis %l = 5 {
// CHECK-NEXT:      %row = sched.alloc local : memref<4x1xf32>
// CHECK-NEXT:      sched.axis %j = 4 {
// CHECK-NEXT:        sched.axis %k = 1 {
// CHECK:               memref.store %v, %row[%j, %k] : memref<4x1xf32>
// CHECK:           sched.axis %m = 4 {
// CHECK:             memref.load %row[%m, %c0] : memref<4x1xf32>
sched.kernel @two(%x: memref<4x5xf32>, %y: memref<5x4xf32>) {
  %row = sched.alloc local : memref<4x5xf32>
  sched.axis %j = 4 {
    sched.axis %k = 5 {
      %v = memref.load %x[%j, %k] : memref<4x5xf32>
      memref.store %v, %row[%j, %k] : memref<4x5xf32>
    }
  }
  sched.axis %l = 5 {
    sched.axis %m = 4 {
      %v = memref.load %row[%m, %l] : memref<4x5xf32>
      memref.store %v, %y[%l, %m] : memref<5x4xf32>
    }
  }
}

sched.kernel @stores(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  sched.axis %j = 4 {
    memref.store %zero, %row[%j] : memref<4xf32>
    memref.store %zero, %row[%j] : memref<4xf32>
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
}

sched.kernel @reduced(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  %s = sched.reduce addf %j = 4 : f32 {
    memref.store %zero, %row[%j] : memref<4xf32>
    sched.yield %zero : f32
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
}

sched.kernel @place(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c3 = arith.constant 3 : index
  %row = sched.alloc local : memref<4xf32>
  sched.axis %j = 4 {
    %at = arith.subi %c3, %j : index
    memref.store %zero, %row[%at] : memref<4xf32>
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
}

sched.kernel @part(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<6xf32>
  sched.axis %j = 4 {
    memref.store %zero, %row[%j] : memref<6xf32>
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<6xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
}

sched.kernel @more(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  sched.axis %i = 2 {
    sched.axis %j = 4 {
      memref.store %zero, %row[%j] : memref<4xf32>
    }
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
}

sched.kernel @mapped(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  sched.axis %j = 4 vector(2) {
    memref.store %zero, %row[%j] : memref<4xf32>
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
}

sched.kernel @others(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  sched.axis %j = 4 {
    memref.store %zero, %row[%j] : memref<4xf32>
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
  sched.axis %m = 4 {
    %v = memref.load %row[%m] : memref<4xf32>
    memref.store %v, %x[%m] : memref<4xf32>
  }
}

sched.kernel @too(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  sched.axis %j = 4 {
    memref.store %zero, %row[%j] : memref<4xf32>
    memref.store %zero, %y[%j] : memref<4xf32>
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
}

sched.kernel @later(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  sched.axis %j = 4 {
    %v = memref.load %y[%j] : memref<4xf32>
    memref.store %v, %row[%j] : memref<4xf32>
  }
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %y[%l] : memref<4xf32>
  }
}

sched.kernel @below(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %row = sched.alloc local : memref<9xf32>
  sched.axis %j = 9 {
    memref.store %zero, %row[%j] : memref<9xf32>
  }
  sched.axis %l = 4 {
    %at = arith.subi %l, %c1 : index
    %in = arith.cmpi sge, %l, %c1 : index
    scf.if %in {
      %v = memref.load %row[%at] : memref<9xf32>
      memref.store %v, %x[%l] : memref<4xf32>
    }
  }
}

sched.kernel @early(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %row = sched.alloc local : memref<4xf32>
  sched.axis %l = 4 {
    %v = memref.load %row[%l] : memref<4xf32>
    memref.store %v, %x[%l] : memref<4xf32>
  }
  sched.axis %j = 4 {
    memref.store %zero, %row[%j] : memref<4xf32>
  }
}
