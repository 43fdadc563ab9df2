// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{sched.kernel: 3 : i64 should be of base attribute string}}
sched.kernel @k(%x: memref<8xf32>) attributes {schedule = 3} {
}

// -----

sched.program @f(%x: memref<8xf32>, %y: memref<8xf32>) : (tensor<8xf32>, tensor<8xf32>) -> () {
  // expected-error @below {{sched.transfer: #sched<level block> should be of base attribute string}}
  %t = sched.transfer %x to %y after() {why = #sched<level block>} : memref<8xf32>
  sched.return after()
}
