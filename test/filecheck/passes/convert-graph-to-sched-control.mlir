// RUN: tenon-opt %s -p convert-graph-to-sched | filecheck %s

// A stack and an input are rows; what is carried is computed in its own buffer, and what the loop begins with too.
// CHECK-LABEL: sched.program @scan
// CHECK-NEXT:    %s = sched.buffer global result : memref<8xf32>
// CHECK-NEXT:    %all = sched.buffer global result : memref<10x8xf32>
// CHECK-NEXT:    %t = sched.launch @scan_0(%x, %s) after() : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    %t_1 = sched.for %i = 10 reverse after() {
// CHECK-NEXT:      %row = sched.row %rows[%i] : memref<10x8xf32>
// CHECK-NEXT:      %d = sched.row %all[%i] : memref<10x8xf32>
// CHECK-NEXT:      %t_2 = sched.launch @scan_1(%s, %row, %d) after() : memref<8xf32>, memref<8xf32>, memref<8xf32>
// CHECK-NEXT:      %t_3 = sched.launch @scan_2(%s, %row) after() : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.return %s, %all after() : memref<8xf32>, memref<10x8xf32>
func.func @scan(%x: tensor<8xf32>, %rows: tensor<10x8xf32>) -> (tensor<8xf32>, tensor<10x8xf32>) {
  %e = graph.exp %x : tensor<8xf32>
  %s, %all = graph.scan %i = 10 reverse (%c = %e) over (%row = %rows) : (tensor<8xf32>, tensor<10x8xf32>) -> (tensor<8xf32>, tensor<10x8xf32>) {
    %d = graph.sub %c, %row : tensor<8xf32>
    %n = graph.add %c, %row : tensor<8xf32>
    graph.yield %n, %d : tensor<8xf32>, tensor<8xf32>
  }
  func.return %s, %all : tensor<8xf32>, tensor<10x8xf32>
}

// Values that change places are copied, all at once; the counter has a buffer where it is read.
// CHECK-LABEL: sched.program @swap
// CHECK:         %t_2 = sched.for %i_1 = 3 counter %i after() {
// CHECK-NEXT:      %j = sched.row %k[%i_1] : memref<3xi64>
// CHECK-NEXT:      %t_3 = sched.transfer %z to %q after() : memref<8xf32>
// CHECK-NEXT:      %t_4 = sched.launch @swap_0(%i, %j) after() : memref<i64>, memref<i64>
// CHECK-NEXT:      %t_5 = sched.transfer %y to %z after() : memref<8xf32>
// CHECK-NEXT:      %t_6 = sched.transfer %q to %y after() : memref<8xf32>
func.func @swap(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<3xi64>) {
  %y, %z, %k = graph.scan %i = 3 (%p = %a, %q = %b) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<3xi64>) {
    %j = graph.add %i, %i : tensor<i64>
    graph.yield %q, %p, %j : tensor<8xf32>, tensor<8xf32>, tensor<i64>
  }
  func.return %y, %z, %k : tensor<8xf32>, tensor<8xf32>, tensor<3xi64>
}

// A branch computes in the buffer of the result.
// CHECK-LABEL: sched.program @branch
// CHECK:         %t = sched.if %c after() {
// CHECK-NEXT:      %t_1 = sched.launch @branch_0(%x, %y) after() : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %t_2 = sched.transfer %x to %y after() : memref<8xf32>
// CHECK-NEXT:    }
func.func @branch(%c: tensor<i1>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %y = graph.if %c -> (tensor<8xf32>) {
    %e = graph.exp %x : tensor<8xf32>
    graph.yield %e : tensor<8xf32>
  } else {
    graph.yield %x : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// A loop carries its value in the memory of a donated argument.
// CHECK-LABEL: sched.program @donated(%x: memref<8xf32>, %w: memref<8xf32>)
// CHECK-SAME:      attributes {donated = #graph<ints [0]>}
// CHECK-NEXT:    %t = sched.for %i = 3 after() {
// CHECK-NEXT:      %t_1 = sched.launch @donated_0(%x, %w) after() : memref<8xf32>, memref<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.return %x after() : memref<8xf32>
func.func @donated(%x: tensor<8xf32> {tenon.donated}, %w: tensor<8xf32>) -> tensor<8xf32> {
  %y = graph.scan %i = 3 (%c = %x) : (tensor<8xf32>) -> (tensor<8xf32>) {
    %n = graph.mul %c, %w : tensor<8xf32>
    graph.yield %n : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// What is stored over a part of a carried value, and reads it, is computed before; nothing is copied.
// CHECK-LABEL: sched.program @update
// CHECK:         sched.for
// CHECK-NEXT:      sched.launch
// CHECK-NEXT:      sched.launch
// CHECK-NEXT:    }
func.func @update(%x: tensor<100x8xf32>, %n: tensor<i64>) -> tensor<100x8xf32> {
  %y = graph.scan %i = 3 (%v = %x) : (tensor<100x8xf32>) -> (tensor<100x8xf32>) {
    %zero = graph.constant dense<0> : tensor<i64>
    %r = graph.dynamic_slice %v[%i, %zero] sizes [1, 8] : tensor<100x8xf32>[tensor<i64>, tensor<i64>]
    %two = graph.add %r, %r : tensor<1x8xf32>
    %u = graph.dynamic_update %v[%n, %zero], %two : tensor<100x8xf32>[tensor<i64>, tensor<i64>], tensor<1x8xf32>
    graph.yield %u : tensor<100x8xf32>
  }
  func.return %y : tensor<100x8xf32>
}
