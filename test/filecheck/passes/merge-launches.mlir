// RUN: tenon-opt -p merge-launches %s | filecheck %s
// RUN: tenon-opt -p merge-launches %s | tenon-opt | filecheck %s
// RUN: tenon-opt -p merge-launches --print-op-generic %s | tenon-opt | filecheck %s
// RUN: tenon-opt -p merge-launches,map-axes,build-dependencies,plan-memory,low-pipeline %s -o /dev/null

// What two kernels load is loaded once; what one stores for the others alone stays in a register, bits too. A
// copy of what is stored is one more store.
// CHECK:      sched.kernel @update_merged(%x: memref<6x64xf32>, %m: memref<6x64xf32>, [[U:%[^ :]+]]: memref<6x64xf32>) {
// CHECK-NEXT:     %one = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:     sched.axis %i = 6 {
// CHECK-NEXT:     sched.axis %j = 64 {
// CHECK-NEXT:       [[X:%[^ ]+]] = memref.load %x[%i, %j]
// CHECK-NEXT:       [[SQUARE:%[^ ]+]] = arith.mulf [[X]], [[X]]
// CHECK-NEXT:       [[LARGE:%[^ ]+]] = arith.cmpf ogt, [[SQUARE]], %one
// CHECK-NEXT:       [[M:%[^ ]+]] = memref.load %m[%i, %j]
// CHECK-NEXT:       [[SUM:%[^ ]+]] = arith.addf [[M]], [[X]]
// CHECK-NEXT:       [[NEW:%[^ ]+]] = low.select [[LARGE]], [[SUM]], [[X]]
// CHECK-NEXT:       memref.store [[NEW]], %m[%i, %j]
// CHECK-NEXT:       memref.store [[NEW]], [[U]][%i, %j]
// CHECK-NEXT:     }
// CHECK-NOT:  sched.kernel @square
// CHECK:      sched.program @f
// CHECK-NOT:    sched.buffer global temporary
// CHECK:        sched.launch @update_merged(%x, %m, %u)
// CHECK-NEXT:   sched.return
sched.kernel @square(%x: memref<6x64xf32>, %s: memref<6x64xi8>) {
  %one = arith.constant 1.0 : f32
  sched.axis %i = 6 {
    sched.axis %j = 64 {
      %v = memref.load %x[%i, %j] : memref<6x64xf32>
      %square = arith.mulf %v, %v : f32
      %large = arith.cmpf ogt, %square, %one : f32
      %bit = low.convert extui %large : i1 to i8
      memref.store %bit, %s[%i, %j] : memref<6x64xi8>
    }
  }
}
sched.kernel @update(%x: memref<6x64xf32>, %s: memref<6x64xi8>, %m: memref<6x64xf32>) {
  %c0 = arith.constant 0 : i8
  sched.axis %i = 6 {
    sched.axis %j = 64 {
      %v = memref.load %x[%i, %j] : memref<6x64xf32>
      %old = memref.load %m[%i, %j] : memref<6x64xf32>
      %sum = arith.addf %old, %v : f32
      %byte = memref.load %s[%i, %j] : memref<6x64xi8>
      %bit = arith.cmpi ne, %byte, %c0 : i8
      %new = low.select %bit, %sum, %v : f32
      memref.store %new, %m[%i, %j] : memref<6x64xf32>
    }
  }
}
sched.program @f(%x: memref<6x64xf32>) : (tensor<6x64xf32>) -> (tensor<6x64xf32>, tensor<6x64xf32>) {
  %m = sched.buffer global result : memref<6x64xf32>
  %u = sched.buffer global result : memref<6x64xf32>
  %s = sched.buffer global temporary : memref<6x64xi8>
  %t = sched.launch @square(%x, %s) after() : memref<6x64xf32>, memref<6x64xi8>
  %t_1 = sched.launch @update(%x, %s, %m) after() : memref<6x64xf32>, memref<6x64xi8>, memref<6x64xf32>
  %t_2 = sched.transfer %m to %u after() : memref<6x64xf32>
  sched.return %m, %u after() : memref<6x64xf32>, memref<6x64xf32>
}

// Not where an iteration of one touches an element that another iteration of the other one stores.
// CHECK:      sched.program @g
// CHECK:        sched.launch @next(%x, %y)
// CHECK-NEXT:   sched.launch @next(%y, %z)
// CHECK-NEXT:   sched.launch @next(%z, %x)
sched.kernel @next(%x: memref<64xf32>, %y: memref<64xf32>) {
  %c63 = arith.constant 63 : index
  sched.axis %i = 64 {
    %back = arith.subi %c63, %i : index
    %v = memref.load %x[%back] : memref<64xf32>
    %d = arith.addf %v, %v : f32
    memref.store %d, %y[%i] : memref<64xf32>
  }
}
sched.program @g(%x: memref<64xf32>) : (tensor<64xf32>) -> (tensor<64xf32>) {
  %y = sched.buffer global temporary : memref<64xf32>
  %z = sched.buffer global result : memref<64xf32>
  %t = sched.launch @next(%x, %y) after() : memref<64xf32>, memref<64xf32>
  %t_1 = sched.launch @next(%y, %z) after() : memref<64xf32>, memref<64xf32>
  %t_2 = sched.launch @next(%z, %x) after() : memref<64xf32>, memref<64xf32>
  sched.return %z after() : memref<64xf32>
}

// What a kernel stores for a copy alone is stored where the copy puts it, and nowhere else.
// CHECK:      sched.kernel @double_merged(%m: memref<6x64xf32>) {
// CHECK-NEXT:   sched.axis %i = 6 {
// CHECK-NEXT:     sched.axis %j = 64 {
// CHECK-NEXT:       [[V:%[^ ]+]] = memref.load %m[%i, %j]
// CHECK-NEXT:       [[SUM:%[^ ]+]] = arith.addf [[V]], [[V]]
// CHECK-NEXT:       memref.store [[SUM]], %m[%i, %j]
// CHECK-NEXT:     }
// CHECK:      sched.program @loop
// CHECK-NOT:    sched.buffer global temporary
// CHECK:        sched.launch @double_merged(%m)
// CHECK-NEXT:   sched.return
sched.kernel @double(%m: memref<6x64xf32>, %s: memref<6x64xf32>) {
  sched.axis %i = 6 {
    sched.axis %j = 64 {
      %v = memref.load %m[%i, %j] : memref<6x64xf32>
      %sum = arith.addf %v, %v : f32
      memref.store %sum, %s[%i, %j] : memref<6x64xf32>
    }
  }
}
sched.program @loop() : () -> tensor<6x64xf32> {
  %m = sched.buffer global result : memref<6x64xf32>
  %s = sched.buffer global temporary : memref<6x64xf32>
  %t = sched.launch @double(%m, %s) after() : memref<6x64xf32>, memref<6x64xf32>
  %t_1 = sched.transfer %s to %m after() : memref<6x64xf32>
  sched.return %m after() : memref<6x64xf32>
}

// One that something else reads as well stays: a copy after a wait for all.
// CHECK:      sched.program @read_again
// CHECK:        %s = sched.buffer global temporary
// CHECK-NEXT:   {{.*}}sched.launch @double_merged_1(%m, %s)
// CHECK:        sched.transfer %s to %u
sched.program @read_again() : () -> (tensor<6x64xf32>, tensor<6x64xf32>) {
  %m = sched.buffer global result : memref<6x64xf32>
  %u = sched.buffer global result : memref<6x64xf32>
  %s = sched.buffer global temporary : memref<6x64xf32>
  %t = sched.launch @double(%m, %s) after() : memref<6x64xf32>, memref<6x64xf32>
  %t_1 = sched.transfer %s to %m after() : memref<6x64xf32>
  %wait = sched.sync after()
  %t_2 = sched.transfer %s to %u after() : memref<6x64xf32>
  sched.return %m, %u after() : memref<6x64xf32>, memref<6x64xf32>
}
