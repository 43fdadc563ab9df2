// RUN: tenon-opt --allow-unregistered-dialect %s | tenon-opt --allow-unregistered-dialect | filecheck %s
// RUN: tenon-opt --allow-unregistered-dialect --mlir-print-op-generic %s | tenon-opt --allow-unregistered-dialect | filecheck %s

// Axes with every form of a mapping; a step of one is not written, and serial is no word at all.
// CHECK-LABEL: sched.kernel @axes(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
sched.kernel @axes(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  // CHECK-NEXT: sched.axis %a = 4 block {
  sched.axis %a = 4 block {
    // CHECK-NEXT: sched.axis %b = 4 block(2) vector(8) unroll(2) {
    sched.axis %b = 4 block(2) vector(8) unroll(2) {
      // CHECK-NEXT: sched.axis %c = 4 thread {
      sched.axis %c = 4 thread(1) {
        // CHECK-NEXT: sched.axis %d = 0 thread(4096) unroll(3) {
        sched.axis %d = 0 thread(4096) vector unroll(3) {
          // CHECK-NEXT: sched.axis %e = 1 vector(16) {
          sched.axis %e = 1 serial vector(16) unroll {
            // CHECK-NEXT: sched.axis %f = 8 {
            sched.axis %f = 8 serial {
              %v = memref.load %x[%a, %f] : memref<4x8xf32>
              memref.store %v, %y[%a, %f] : memref<4x8xf32>
            }
          }
        }
      }
    }
  }
}

// A kernel without arguments and without a body; attributes stay.
// CHECK: sched.kernel @empty() attributes {note = "nothing"} {
// CHECK-NEXT: }
sched.kernel @empty() attributes {note = "nothing"} {
}

// CHECK-LABEL: sched.kernel @attributes
sched.kernel @attributes(%x: memref<4xf32>) {
  // CHECK-NEXT: sched.axis %i = 4 vector(2) attributes {note = 1 : i32} {
  sched.axis %i = 4 vector(2) attributes {note = 1 : i32} {
    // CHECK-NEXT: %s = sched.reduce addf %j = 4 attributes {note} : f32 {
    %s = sched.reduce addf %j = 4 attributes {note} : f32 {
      %v = memref.load %x[%j] : memref<4xf32>
      // CHECK: sched.yield %v {note} : f32
      sched.yield %v {note} : f32
    }
  }
}

graph.dim @n min 1 max 64
// A count of iterations, and what a reduction starts from.
// CHECK-LABEL: sched.kernel @counts
sched.kernel @counts(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] {
  // CHECK-NEXT: sched.axis %i = n floordiv 2 count %n block(4) vector(2) {
  sched.axis %i = n floordiv 2 count %n block(4) vector(2) {
    // CHECK-NEXT: %s = sched.reduce addf %j = 4 count %i vector(2) fastmath<fast> : f32 {
    %s = sched.reduce addf %j = 4 count %i vector(2) fastmath<fast> : f32 {
      %v = memref.load %x[%j] : memref<?xf32, {dims = #graph.dims<n>}>
      sched.yield %v : f32
    }
    // CHECK: %t = sched.reduce addf %{{.*}} = 4 count %n unroll(2) init(%s) : f32 {
    %t = sched.reduce addf %j = 4 count %n unroll(2) init(%s) : f32 {
      sched.yield %s : f32
    }
    // CHECK: %u = sched.reduce maximumf %{{.*}} = n init(%t) fastmath<nnan> : f32 {
    %u = sched.reduce maximumf %j = n init(%t) fastmath<nnan> : f32 {
      sched.yield %s : f32
    }
  }
}

// Every kind of reduction; the float ones may carry fast-math flags.
// CHECK-LABEL: sched.kernel @reductions
sched.kernel @reductions(%f: memref<8xf32>, %n: memref<8xi32>) {
  // CHECK: sched.reduce addf %i = 8 : f32 {
  %addf = sched.reduce addf %i = 8 : f32 {
    %v = memref.load %f[%i] : memref<8xf32>
    sched.yield %v : f32
  }
  // CHECK: sched.reduce fma %{{.*}} = 2 fastmath<contract> : f32 {
  // CHECK-NEXT: sched.reduce fma %{{.*}} = 8 vector(8) : f32 {
  // CHECK: sched.yield %{{.*}}, %{{.*}} : f32
  %fma = sched.reduce fma %i = 2 fastmath<contract> : f32 {
    %t = sched.reduce fma %j = 8 vector(8) : f32 {
      %v = memref.load %f[%j] : memref<8xf32>
      sched.yield %v, %v : f32
    }
    sched.yield %t : f32
  }
  // The tile that was chosen for a sum of products.
  // CHECK: sched.reduce fma %{{.*}} = 8 tile(4) tile_shape [6, 8 in panels] fastmath<contract> : f32 {
  %chosen = sched.reduce fma %i = 8 tile(4) tile_shape [6, 8 in panels] fastmath<contract> : f32 {
    %v = memref.load %f[%i] : memref<8xf32>
    sched.yield %v, %v : f32
  }
  // CHECK: sched.reduce fma %{{.*}} = 8 tile_shape [16] : f32 {
  %columns = sched.reduce fma %i = 8 tile_shape [16] : f32 {
    %v = memref.load %f[%i] : memref<8xf32>
    sched.yield %v, %v : f32
  }
  // CHECK: sched.reduce mulf %{{.*}} = 8 vector(8) unroll(4) : f32 {
  %mulf = sched.reduce mulf %i = 8 vector(8) unroll(4) : f32 {
    %v = memref.load %f[%i] : memref<8xf32>
    sched.yield %v : f32
  }
  // CHECK: sched.reduce maximumf %{{.*}} = 8 block fastmath<nnan> : f32 {
  %maximumf = sched.reduce maximumf %i = 8 block fastmath<nnan> : f32 {
    %v = memref.load %f[%i] : memref<8xf32>
    sched.yield %v : f32
  }
  // CHECK: sched.reduce minimumf %{{.*}} = 8 fastmath<fast> : f32 {
  %minimumf = sched.reduce minimumf %i = 8 fastmath<fast> : f32 {
    %v = memref.load %f[%i] : memref<8xf32>
    sched.yield %v : f32
  }
  // CHECK: sched.reduce addi
  %addi = sched.reduce addi %i = 8 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
  // CHECK: sched.reduce muli
  %muli = sched.reduce muli %i = 8 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
  // CHECK: sched.reduce maxsi
  %maxsi = sched.reduce maxsi %i = 8 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
  // CHECK: sched.reduce minsi
  %minsi = sched.reduce minsi %i = 8 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
  // CHECK: sched.reduce maxui
  %maxui = sched.reduce maxui %i = 8 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
  // CHECK: sched.reduce minui
  %minui = sched.reduce minui %i = 8 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
  // CHECK: sched.reduce andi
  %andi = sched.reduce andi %i = 8 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
  // CHECK: sched.reduce ori %{{.*}} = 0 : i32 {
  %ori = sched.reduce ori %i = 0 : i32 {
    %v = memref.load %n[%i] : memref<8xi32>
    sched.yield %v : i32
  }
}

// CHECK-LABEL: sched.kernel @buffers
sched.kernel @buffers() {
  // CHECK-NEXT: %row = sched.alloc local : memref<4x8xf32>
  %row = sched.alloc local : memref<4x8xf32>
  // CHECK-NEXT: %padded = sched.alloc local : memref<4x8xf32, strided<[9, 1]>>
  %padded = sched.alloc local : memref<4x8xf32, strided<[9, 1]>>
  // CHECK-NEXT: %tile = sched.alloc shared {note} : memref<0xi8>
  %tile = sched.alloc shared {note} : memref<0xi8>
}

// Every item of a program, with what the analyses add.
// CHECK-LABEL: sched.program @program(%x: memref<8xf32>, %b: memref<2xi8>) : (tensor<8xf32>, tensor<2xi1>) -> (tensor<8xf32>, tensor<2xi1>)
// CHECK-SAME: attributes {summary = #sched.summary<critical_path_ns 10, total_ns 20, flops 30>, memory_plan = #sched.memory_plan<pool_nbytes 64, unshared_nbytes 96, peak_nbytes 32>} {
sched.program @program(%x: memref<8xf32>, %b: memref<2xi8>) : (tensor<8xf32>, tensor<2xi1>) -> (tensor<8xf32>, tensor<2xi1>) attributes {summary = #sched.summary<critical_path_ns 10, total_ns 20, flops 30>, memory_plan = #sched.memory_plan<pool_nbytes 64, unshared_nbytes 96, peak_nbytes 32>} {
  // CHECK-NEXT: %w = sched.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : memref<2xf32>
  %w = sched.constant dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
  // CHECK-NEXT: %u = sched.constant dense<3> : tensor<4xui8> slab <0, 64> : memref<4xi8>
  %u = sched.constant dense<3> : tensor<4xui8> slab <0, 64> : memref<4xi8>
  // CHECK-NEXT: %y = sched.buffer global result : memref<8xf32>
  %y = sched.buffer global result : memref<8xf32>
  // CHECK-NEXT: %z = sched.buffer global result lifetime <2, 3> : memref<2xi8>
  %z = sched.buffer global result lifetime <2, 3> : memref<2xi8>
  // CHECK-NEXT: %m = sched.buffer global temporary lifetime <0, 1> slab <1, 4096> {note = 2 : i32} : memref<f32>
  %m = sched.buffer global temporary lifetime <0, 1> slab <1, 4096> {note = 2 : i32} : memref<f32>
  // CHECK-NEXT: %t0 = sched.launch @empty() after()
  %t0 = sched.launch @empty() after()
  // CHECK-NEXT: %t1 = sched.launch @two(%x, %y) after(%t0) analysis<flops 1, read_nbytes 2, written_nbytes 3, registers 4, shared_nbytes 5, occupancy 6, estimated_ns 7> {note} : memref<8xf32>, memref<8xf32>
  %t1 = sched.launch @two(%x, %y) after(%t0) analysis<flops 1, read_nbytes 2, written_nbytes 3, registers 4, shared_nbytes 5, occupancy 6, estimated_ns 7> {note} : memref<8xf32>, memref<8xf32>
  // CHECK-NEXT: %t2 = sched.transfer %b to %z after(%t0, %t1) : memref<2xi8>
  %t2 = sched.transfer %b to %z after(%t0, %t1) : memref<2xi8>
  // CHECK-NEXT: %t3 = sched.transfer %x to %y after() analysis<flops 0, read_nbytes 32, written_nbytes 32, registers 0, shared_nbytes 0, occupancy 1, estimated_ns 9> {note} : memref<8xf32>
  %t3 = sched.transfer %x to %y after() analysis<flops 0, read_nbytes 32, written_nbytes 32, registers 0, shared_nbytes 0, occupancy 1, estimated_ns 9> {note} : memref<8xf32>
  // CHECK-NEXT: %t4 = sched.sync after(%t2, %t3) {note}
  %t4 = sched.sync after(%t2, %t3) {note}
  // CHECK-NEXT: sched.return %y, %z after(%t4) {note} : memref<8xf32>, memref<2xi8>
  sched.return %y, %z after(%t4) {note} : memref<8xf32>, memref<2xi8>
}

// A kernel is launched on buffers of its element types and sizes; shapes are its own business.
sched.kernel @two(%x: memref<2x4xf32>, %y: memref<8xf32>) {
}

// CHECK: sched.program @nothing() : () -> () {
// CHECK-NEXT: sched.return after()
sched.program @nothing() : () -> () {
  sched.return after()
}

// Attributes and types on their own.
// CHECK: "test.attributes"() {level = #sched<level block>, kind = #sched<combine maxui>, scope = #sched<scope shared>, role = #sched<role temporary>,
// CHECK-SAME: serial = #sched.mapping<serial>, mapping = #sched.mapping<thread(3) vector(4) unroll(5)>, lifetime = #sched.lifetime<0, 0>, slab = #sched.slab<1, 64>, token = !sched.token} : () -> ()
"test.attributes"() {level = #sched<level block>, kind = #sched<combine maxui>, scope = #sched<scope shared>, role = #sched<role temporary>, serial = #sched.mapping<serial>, mapping = #sched.mapping<thread(3) vector(4) unroll(5)>, lifetime = #sched.lifetime<0, 0>, slab = #sched.slab<1, 64>, token = !sched.token} : () -> ()

// CHECK-LABEL: sched.kernel @tiles
// CHECK-NEXT:    sched.axis %i = 40 block(16) tile(8) {
// CHECK-NEXT:      sched.axis %j = 40 tile(16) prefetch vector(8) {
// CHECK-NEXT:        sched.reduce fma %k = 64 tile(16) : f32 {
sched.kernel @tiles(%x: memref<64xf32>) {
  sched.axis %i = 40 block(16) tile(8) {
    sched.axis %j = 40 tile(16) prefetch vector(8) {
      %s = sched.reduce fma %k = 64 tile(16) : f32 {
        %v = memref.load %x[%k] : memref<64xf32>
        sched.yield %v, %v : f32
      }
    }
  }
}
