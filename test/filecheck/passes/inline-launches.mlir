// RUN: tenon-opt %s -p inline-launches | filecheck %s

// Launches, copies, rows, counters and branches in one kernel; what nothing launches any more is gone.
// CHECK-NOT:   sched.kernel @next
// CHECK-LABEL: sched.kernel @f_loop_0(%s: memref<f32>, %0: memref<8xf32>, %c: memref<i8>, %old: memref<f32>) {
// CHECK:         scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           memref.load %s[] : memref<f32>
// CHECK:           arith.index_cast %i : index to i64
// CHECK:           memref.store %{{.*}}, %s[] : memref<f32>
// CHECK:           memref.store %{{.*}}, %0[%i] : memref<8xf32>
// CHECK:           memref.load %c[] : memref<i8>
// CHECK:           arith.cmpi ne
// CHECK-NEXT:      scf.if %{{.*}} {
// CHECK-NEXT:        %{{.*}} = memref.load %s[] : memref<f32>
// CHECK-NEXT:        memref.store %{{.*}}, %old[] : memref<f32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:          %{{.*}} = arith.subi
// CHECK-NEXT:          %{{.*}} = memref.load %old[] : memref<f32>
// CHECK:             memref.store %{{.*}}, %s[] : memref<f32>
// CHECK-LABEL: sched.program @f
// CHECK:         sched.launch @f_loop_0(%s, %0, %c, %old) after(%t)
// CHECK-NOT:     sched.for
sched.kernel @next(%s: memref<f32>, %n: memref<i64>, %y: memref<f32>) {
  %one = arith.constant 1.0 : f32
  %a = memref.load %s[] : memref<f32>
  %i = memref.load %n[] : memref<i64>
  %k = arith.sitofp %i : i64 to f32
  %b = arith.addf %a, %k : f32
  memref.store %b, %s[] : memref<f32>
  memref.store %b, %y[] : memref<f32>
}
sched.kernel @halve(%x: memref<f32>, %y: memref<f32>) {
  %half = arith.constant 0.5 : f32
  %a = memref.load %x[] : memref<f32>
  %b = arith.mulf %a, %half : f32
  memref.store %b, %y[] : memref<f32>
}
sched.kernel @first(%s: memref<f32>, %c: memref<i8>) {
  %zero = arith.constant 0.0 : f32
  %no = arith.constant 0 : i8
  memref.store %zero, %s[] : memref<f32>
  memref.store %no, %c[] : memref<i8>
}
sched.program @f() : () -> (tensor<f32>, tensor<8xf32>) {
  %s = sched.buffer global result : memref<f32>
  %0 = sched.buffer global result : memref<8xf32>
  %n = sched.buffer global temporary : memref<i64>
  %c = sched.buffer global temporary : memref<i8>
  %old = sched.buffer global temporary : memref<f32>
  %t = sched.launch @first(%s, %c) after() : memref<f32>, memref<i8>
  %t1 = sched.for %i = 8 counter %n after(%t) {
    %row = sched.row %0[%i] : memref<8xf32>
    %t2 = sched.launch @next(%s, %n, %row) after() : memref<f32>, memref<i64>, memref<f32>
    %t3 = sched.if %c after(%t2) {
      %t4 = sched.transfer %s to %old after() : memref<f32>
    } else {
      %t5 = sched.for %j = 3 reverse after() {
        %t6 = sched.launch @halve(%old, %s) after() : memref<f32>, memref<f32>
      }
    }
  }
  sched.return %s, %0 after(%t1) : memref<f32>, memref<8xf32>
}

// Not kernels of many elements; a loop inside of one that goes on while a condition holds is a part of its kernel.
// CHECK-LABEL: sched.kernel @g_loop_0_begin(%paused: memref<i8>) attributes {schedule = 
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : i8
// CHECK-NEXT:    memref.store %[[ZERO]], %paused[] : memref<i8>
// CHECK-LABEL: sched.kernel @g_loop_0(%paused: memref<i8>, %more: memref<i8>, %s: memref<f32>, %s_1: memref<f32>) attributes {schedule = 
// CHECK:         scf.while
// CHECK:           scf.for %j =
// CHECK-LABEL: sched.program @g
// CHECK:         sched.for %i = 10 after() {
// CHECK-NEXT:      sched.launch @wide
// CHECK:         %[[BEGIN:.*]] = sched.launch @g_loop_0_begin(%paused) after()
// CHECK-NEXT:    sched.while %paused after(%[[BEGIN]]) {
// CHECK-NEXT:      sched.launch @g_loop_0(%paused, %more, %s_1, %s)
// CHECK-NEXT:    } do {
// CHECK-NEXT:    }
sched.kernel @wide(%x: memref<2000xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 2000 {
    memref.store %zero, %x[%i] : memref<2000xf32>
  }
}
sched.kernel @more(%m: memref<i8>) {
  %no = arith.constant 0 : i8
  memref.store %no, %m[] : memref<i8>
}
sched.program @g() : () -> (tensor<2000xf32>, tensor<f32>) {
  %x = sched.buffer global result : memref<2000xf32>
  %s_1 = sched.buffer global result : memref<f32>
  %s = sched.buffer global temporary : memref<f32>
  %more = sched.buffer global temporary : memref<i8>
  %t = sched.for %i = 10 after() {
    %t1 = sched.launch @wide(%x) after() : memref<2000xf32>
  }
  %t2 = sched.while %more after() {
    %t3 = sched.launch @more(%more) after() : memref<i8>
  } do {
    %t4 = sched.for %j = 3 after() {
      %t5 = sched.launch @halve(%s, %s_1) after() : memref<f32>, memref<f32>
    }
  }
  sched.return %x, %s_1 after(%t, %t2) : memref<2000xf32>, memref<f32>
}

// A loop that goes on while a condition holds, whatever that is made of, does many iterations in one launch. It
// begins with its condition where it is not paused, and is paused where that holds at the end.
// CHECK-LABEL: sched.kernel @w_loop_0(%paused: memref<i8>, %m: memref<i64>, %more: memref<i8>) attributes {schedule = 
// CHECK:         %[[P:.*]] = sched.alloc local : memref<i8>
// CHECK:         %[[DONE:.*]] = sched.alloc local : memref<i64>
// CHECK:         %[[NUMBER:.*]] = memref.load %[[P]][] : memref<i8>
// CHECK-NEXT:    %[[RUNS:.*]] = arith.cmpi eq, %[[NUMBER]],
// CHECK-NEXT:    scf.if %[[RUNS]] {
// CHECK-NEXT:      memref.load %m[]
// CHECK:           memref.store %{{.*}}, %more[]
// CHECK:         scf.while (%goes_on = %{{.*}}) : (i1) -> i1 {
// CHECK-NEXT:      scf.condition(%goes_on) %goes_on : i1
// CHECK-NEXT:    } do {
// CHECK:           memref.store %{{.*}}, %m[]
// CHECK:           memref.store %{{.*}}, %more[]
// CHECK:           memref.load %more[]
// CHECK:           memref.load %[[DONE]][]
// CHECK:           scf.yield
// CHECK:         memref.load %more[]
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      memref.store %{{.*}}, %[[P]][] : memref<i8>
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[LAST:.*]] = memref.load %[[P]][] : memref<i8>
// CHECK-NEXT:    memref.store %[[LAST]], %paused[] : memref<i8>
// CHECK-LABEL: sched.program @w
// CHECK:         sched.launch @w_loop_0_begin(%paused_1) after(%t)
// CHECK-NEXT:    sched.while %paused_1
// CHECK-NEXT:      sched.launch @w_loop_0(%paused_1, %m, %more) after()
// CHECK:         sched.launch @w_loop_1_begin(%paused)
// CHECK-NEXT:    sched.while %paused
// CHECK-NEXT:      sched.launch @w_loop_1(%paused, %m, %more) after()
sched.kernel @is_more(%m: memref<i64>, %more: memref<i8>) {
  %limit = arith.constant 1000 : i64
  %a = memref.load %m[] : memref<i64>
  %c = arith.cmpi slt, %a, %limit : i64
  %b = low.convert extui %c : i1 to i8
  memref.store %b, %more[] : memref<i8>
}
sched.kernel @count(%m: memref<i64>, %more: memref<i8>) {
  %limit = arith.constant 2000 : i64
  %one = arith.constant 1 : i64
  %a = memref.load %m[] : memref<i64>
  %d = arith.addi %a, %one : i64
  memref.store %d, %m[] : memref<i64>
  %c = arith.cmpi slt, %d, %limit : i64
  %b = low.convert extui %c : i1 to i8
  memref.store %b, %more[] : memref<i8>
}
sched.kernel @increase(%m: memref<i64>) {
  %three = arith.constant 3 : i64
  %a = memref.load %m[] : memref<i64>
  %b = arith.addi %a, %three : i64
  memref.store %b, %m[] : memref<i64>
}
sched.kernel @start(%m: memref<i64>) {
  %zero = arith.constant 0 : i64
  memref.store %zero, %m[] : memref<i64>
}
sched.program @w() : () -> tensor<i64> {
  %m = sched.buffer global result : memref<i64>
  %more = sched.buffer global temporary : memref<i8>
  %t = sched.launch @start(%m) after() : memref<i64>
  %t1 = sched.while %more after(%t) {
    %t2 = sched.launch @is_more(%m, %more) after() : memref<i64>, memref<i8>
  } do {
    %t3 = sched.launch @increase(%m) after() : memref<i64>
  }
  %t4 = sched.while %more after(%t1) {
    %t5 = sched.launch @count(%m, %more) after() : memref<i64>, memref<i8>
  } do {
    %t6 = sched.launch @increase(%m) after() : memref<i64>
  }
  sched.return %m after(%t4) : memref<i64>
}

// A loop that gives its counter stores the index; a branch of a kernel without an else stays one.
// CHECK-LABEL: sched.kernel @c_loop_0(%0: memref<8xi64>, %v: memref<8xf32>) {
// CHECK:         scf.for %i =
// CHECK-NEXT:      %{{.*}} = arith.index_cast %i : index to i64
// CHECK-NEXT:      memref.store %{{.*}}, %0[%i] : memref<8xi64>
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        memref.store %{{.*}}, %v[%i] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NOT:       else
// CHECK-LABEL: sched.program @c
sched.kernel @sometimes(%n: memref<i64>, %y: memref<f32>) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2 : i64
  %i = memref.load %n[] : memref<i64>
  %c = arith.cmpi slt, %i, %two : i64
  scf.if %c {
    memref.store %one, %y[] : memref<f32>
  }
}
sched.program @c() : () -> (tensor<8xi64>, tensor<8xf32>) {
  %0 = sched.buffer global result : memref<8xi64>
  %v = sched.buffer global result : memref<8xf32>
  %n = sched.buffer global temporary : memref<i64>
  %t = sched.for %i = 8 counter %n after() {
    %row = sched.row %0[%i] : memref<8xi64>
    %element = sched.row %v[%i] : memref<8xf32>
    %t1 = sched.transfer %n to %row after() : memref<i64>
    %t2 = sched.launch @sometimes(%n, %element) after(%t1) : memref<i64>, memref<f32>
  }
  sched.return %0, %v after(%t) : memref<8xi64>, memref<8xf32>
}

// A counted loop goes on with the iteration in which it paused; what stands before and after a loop that pauses
// runs where the kernel is not paused, which is in the branch where it was, whatever the condition is by now.
// CHECK-LABEL: sched.kernel @n_loop_0(%paused: memref<i8>, %at: memref<i64>, %v: memref<8xi64>, %c: memref<i8>,
// CHECK:         %[[AT:.*]] = memref.load %at[] : memref<i64>
// CHECK-NEXT:    %[[FIRST:.*]] = low.select %{{.*}}, %{{.*}}, %[[AT]] : i64
// CHECK-NEXT:    %[[BEGIN:.*]] = arith.index_cast %[[FIRST]] : i64 to index
// CHECK:         scf.while (%i = %[[BEGIN]], %goes_on = %{{.*}}) : (index, i1) -> (index, i1) {
// CHECK:           scf.if %{{.*}} {
// CHECK-NEXT:        memref.store %{{.*}}, %v[%
// CHECK:           %[[HOLDS:.*]] = arith.cmpi ne
// CHECK-NEXT:      memref.load %p[]
// CHECK-NEXT:      %[[RUNS:.*]] = arith.cmpi eq
// CHECK-NEXT:      %[[TAKEN:.*]] = arith.andi %[[HOLDS]], %[[RUNS]] : i1
// CHECK-NEXT:      memref.load %p[]
// CHECK-NEXT:      %[[HERE:.*]] = arith.cmpi eq
// CHECK-NEXT:      %[[ENTERED:.*]] = arith.ori %[[TAKEN]], %[[HERE]] : i1
// CHECK-NEXT:      scf.if %[[ENTERED]] {
// CHECK:             scf.while
// CHECK:           memref.store %{{.*}}, %at[] : memref<i64>
// CHECK-LABEL: sched.program @n
// CHECK:         sched.while %paused after(%{{.*}}) {
// CHECK-NEXT:      sched.launch @n_loop_0(%paused, %at, %v, %c, %m, %more)
sched.kernel @clear(%y: memref<i64>) {
  %zero = arith.constant 0 : i64
  memref.store %zero, %y[] : memref<i64>
}
sched.program @n() : () -> (tensor<8xi64>, tensor<i64>) {
  %v = sched.buffer global result : memref<8xi64>
  %m = sched.buffer global result : memref<i64>
  %c = sched.buffer global temporary : memref<i8>
  %more = sched.buffer global temporary : memref<i8>
  %t = sched.launch @is_more(%m, %c) after() : memref<i64>, memref<i8>
  %t1 = sched.for %i = 8 after(%t) {
    %element = sched.row %v[%i] : memref<8xi64>
    %t2 = sched.launch @clear(%element) after() : memref<i64>
    %t3 = sched.if %c after(%t2) {
      %t4 = sched.while %more after() {
        %t5 = sched.launch @is_more(%m, %more) after() : memref<i64>, memref<i8>
      } do {
        %t6 = sched.launch @increase(%m) after() : memref<i64>
      }
    } else {
    }
  }
  sched.return %v, %m after(%t1) : memref<8xi64>, memref<i64>
}
