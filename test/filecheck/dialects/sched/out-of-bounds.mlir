// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// Each dim has its extent.
sched.kernel @k(%x: memref<4x8xf32>, %y: memref<8x4xf32>) {
  sched.axis %i = 4 {
    sched.axis %j = 8 vector(8) {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      // expected-error @+1 {{memref.store: index 7 is out of bounds for dim 1 of extent 4 (it reaches from 0 to 7)}}
      memref.store %v, %y[%i, %j] : memref<8x4xf32>
    }
  }
}

// -----

sched.kernel @k(%x: memref<9xf32>, %y: memref<f32>) {
  %s = sched.reduce addf %k = 8 : f32 {
    %c2 = arith.constant 2 : index
    %at = arith.addi %k, %c2 : index
    // expected-error @+1 {{memref.load: index 9 is out of bounds of 9 elements (it reaches from 2 to 9)}}
    %v = memref.load %x[%at] : memref<9xf32>
    sched.yield %v : f32
  }
  memref.store %s, %y[] : memref<f32>
}

// -----

// An axis that ends early, one without elements, and a clamped index are not looked at.
sched.kernel @k(%x: memref<4xf32>, %y: memref<16xf32>) {
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  sched.axis %i = 16 count %c4 {
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<16xf32>
  }
  sched.axis %i = 0 {
    %v = memref.load %x[%c4] : memref<4xf32>
    memref.store %v, %y[%c4] : memref<16xf32>
  }
  sched.axis %i = 16 {
    %least = arith.minsi %i, %c3 : index
    %v = memref.load %x[%least] : memref<4xf32>
    memref.store %v, %y[%i] : memref<16xf32>
  }
}
