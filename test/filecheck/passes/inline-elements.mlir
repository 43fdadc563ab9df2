// RUN: tenon-opt %s -p inline-elements | filecheck %s

// What a loop loads once is computed there: indices, and what is added; the kernels and buffers are gone.
// CHECK-NOT:   sched.kernel @square(
// CHECK-LABEL: sched.kernel @add_inlined_1(%i: memref<8xi64>, %x: memref<8xf32>, %y: memref<5xf32>) {
// CHECK:         scf.for %k = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      %[[I:.*]] = memref.load %i[%k] : memref<8xi64>
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} : i64
// CHECK-NEXT:      %[[AT:.*]] = arith.index_cast %[[NEXT]] : i64 to index
// CHECK-NEXT:      %[[X:.*]] = memref.load %x[%k] : memref<8xf32>
// CHECK-NEXT:      %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-NEXT:      %[[OLD:.*]] = memref.load %y[%[[AT]]] : memref<5xf32>
// CHECK-NEXT:      %[[NEW:.*]] = arith.addf %[[OLD]], %[[SQUARE]] : f32
// CHECK-NEXT:      memref.store %[[NEW]], %y[%[[AT]]] : memref<5xf32>
// CHECK-LABEL: sched.program @f
// CHECK-NOT:     sched.buffer global temporary
// CHECK:         sched.launch @add_inlined_1(%i, %x, %y) after()
sched.kernel @wrap(%i: memref<8xi64>, %j: memref<8xi64>) {
  %one = arith.constant 1 : i64
  sched.axis %n = 8 {
    %a = memref.load %i[%n] : memref<8xi64>
    %b = arith.addi %a, %one : i64
    memref.store %b, %j[%n] : memref<8xi64>
  }
}
sched.kernel @square(%x: memref<8xf32>, %u: memref<8xf32>) {
  sched.axis %n = 8 {
    %a = memref.load %x[%n] : memref<8xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %u[%n] : memref<8xf32>
  }
}
sched.kernel @add(%j: memref<8xi64>, %u: memref<8xf32>, %y: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %a = memref.load %j[%k] : memref<8xi64>
    %at = arith.index_cast %a : i64 to index
    %b = memref.load %u[%k] : memref<8xf32>
    %old = memref.load %y[%at] : memref<5xf32>
    %new = arith.addf %old, %b : f32
    memref.store %new, %y[%at] : memref<5xf32>
  }
}
sched.program @f(%i: memref<8xi64>, %x: memref<8xf32>) : (tensor<8xi64>, tensor<8xf32>) -> tensor<5xf32> {
  %j = sched.buffer global temporary : memref<8xi64>
  %u = sched.buffer global temporary : memref<8xf32>
  %y = sched.buffer global result : memref<5xf32>
  %t = sched.launch @wrap(%i, %j) after() : memref<8xi64>, memref<8xi64>
  %t1 = sched.launch @square(%x, %u) after() : memref<8xf32>, memref<8xf32>
  %t2 = sched.launch @add(%j, %u, %y) after() : memref<8xi64>, memref<8xf32>, memref<5xf32>
  sched.return %y after() : memref<5xf32>
}

// Not where another one reads it (%j), nor where what it is computed of is changed by then (%y, a part of which
// the launch in between stores to).
// CHECK-LABEL: sched.program @g
// CHECK:         sched.launch @wrap(%i, %j)
// CHECK:           sched.launch @squares(%y, %u)
// CHECK-NEXT:      sched.launch @store(%row)
// CHECK-NEXT:      sched.launch @add(%j, %u, %z)
sched.kernel @store(%r: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %n = 2 {
    memref.store %zero, %r[%n] : memref<2xf32>
  }
}
sched.kernel @rows(%x: memref<8xf32>, %y: memref<4x2xf32>) {
  sched.axis %n = 4 {
    sched.axis %m = 2 {
      %a = memref.load %x[%n] : memref<8xf32>
      memref.store %a, %y[%n, %m] : memref<4x2xf32>
    }
  }
}
sched.kernel @squares(%x: memref<4x2xf32>, %u: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  sched.axis %n = 8 {
    %a = memref.load %x[%c0, %c0] : memref<4x2xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %u[%n] : memref<8xf32>
  }
}
sched.program @g(%i: memref<8xi64>, %x: memref<8xf32>) : (tensor<8xi64>, tensor<8xf32>) -> (tensor<5xf32>, tensor<8xi64>, tensor<4x2xf32>) {
  %j = sched.buffer global result : memref<8xi64>
  %u = sched.buffer global temporary : memref<8xf32>
  %y = sched.buffer global result : memref<4x2xf32>
  %z = sched.buffer global result : memref<5xf32>
  %t0 = sched.launch @rows(%x, %y) after() : memref<8xf32>, memref<4x2xf32>
  %t = sched.launch @wrap(%i, %j) after() : memref<8xi64>, memref<8xi64>
  %t1 = sched.for %k = 4 after() {
    %row = sched.row %y[%k] : memref<4x2xf32>
    %t2 = sched.launch @squares(%y, %u) after() : memref<4x2xf32>, memref<8xf32>
    %t3 = sched.launch @store(%row) after() : memref<2xf32>
    %t4 = sched.launch @add(%j, %u, %z) after() : memref<8xi64>, memref<8xf32>, memref<5xf32>
  }
  sched.return %z, %j, %y after() : memref<5xf32>, memref<8xi64>, memref<4x2xf32>
}

// Nor elements that are loaded more than once, or in another order. Of two launches, the kernel of one that has its own elements stays.
// CHECK-LABEL: sched.kernel @twice(
// CHECK-LABEL: sched.kernel @backwards(
// CHECK-LABEL: sched.kernel @column_inlined(%i: memref<8xi64>, %y: memref<5xi64>)
// CHECK-LABEL: sched.kernel @column(%j: memref<8xi64>, %y: memref<5xi64>)
// CHECK-LABEL: sched.program @h
// CHECK:         sched.launch @twice(%j, %y)
// CHECK:         sched.launch @backwards(%j_1, %y)
// CHECK-NOT:     sched.launch @wrap
// CHECK:         sched.launch @column_inlined(%i, %y)
// CHECK:         sched.launch @column(%i, %y)
sched.kernel @twice(%j: memref<8xi64>, %y: memref<5xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  scf.for %m = %c0 to %c5 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      %a = memref.load %j[%k] : memref<8xi64>
      memref.store %a, %y[%m] : memref<5xi64>
    }
  }
}
sched.kernel @backwards(%j: memref<8xi64>, %y: memref<5xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %n = arith.subi %c7, %k : index
    %a = memref.load %j[%n] : memref<8xi64>
    memref.store %a, %y[%c0] : memref<5xi64>
  }
}
sched.kernel @column(%j: memref<8xi64>, %y: memref<5xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %k = %c0 to %c8 step %c1 {
    %a = memref.load %j[%k] : memref<8xi64>
    memref.store %a, %y[%c0] : memref<5xi64>
  }
}
sched.program @h(%i: memref<8xi64>) : (tensor<8xi64>) -> tensor<5xi64> {
  %j = sched.buffer global temporary : memref<8xi64>
  %j_1 = sched.buffer global temporary : memref<8xi64>
  %j_2 = sched.buffer global temporary : memref<8xi64>
  %y = sched.buffer global result : memref<5xi64>
  %t = sched.launch @wrap(%i, %j) after() : memref<8xi64>, memref<8xi64>
  %t1 = sched.launch @twice(%j, %y) after() : memref<8xi64>, memref<5xi64>
  %t2 = sched.launch @wrap(%i, %j_1) after() : memref<8xi64>, memref<8xi64>
  %t3 = sched.launch @backwards(%j_1, %y) after() : memref<8xi64>, memref<5xi64>
  %t4 = sched.launch @wrap(%i, %j_2) after() : memref<8xi64>, memref<8xi64>
  %t5 = sched.launch @column(%j_2, %y) after() : memref<8xi64>, memref<5xi64>
  %t6 = sched.launch @column(%i, %y) after() : memref<8xi64>, memref<5xi64>
  sched.return %y after() : memref<5xi64>
}
