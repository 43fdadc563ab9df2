// RUN: tenon-opt -p build-dependencies %s | filecheck %s

low.kernel @copy(%x: memref<8xf32>, %y: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xf32>
  memref.store %v, %y[%i] : memref<8xf32>
}
sched.kernel @add(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %w = memref.load %y[%i] : memref<8xf32>
    %s = arith.addf %v, %w : f32
    memref.store %s, %z[%i] : memref<8xf32>
  }
}
low.kernel @wide(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %v = vector.load %x[%zero] : memref<8xf32>, vector<8xf32>
  vector.store %v, %y[%zero] : memref<8xf32>, vector<8xf32>
}

// An item waits for those that write what it reads. Two that only read the same do not wait for one another.
// CHECK-LABEL: @read_after_write
// CHECK:       %t0 = sched.launch @copy(%x, %a) after() :
// CHECK-NEXT:  %t1 = sched.launch @wide(%x, %b) after() :
// CHECK-NEXT:  %t2 = sched.launch @add(%a, %b, %y) after(%t0, %t1) :
// CHECK-NEXT:  sched.return %y after(%t2) :
sched.program @read_after_write(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
  %a = sched.buffer global temporary : memref<8xf32>
  %b = sched.buffer global temporary : memref<8xf32>
  %y = sched.buffer global result : memref<8xf32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<8xf32>, memref<8xf32>
  %t1 = sched.launch @wide(%x, %b) after() : memref<8xf32>, memref<8xf32>
  %t2 = sched.launch @add(%a, %b, %y) after() : memref<8xf32>, memref<8xf32>, memref<8xf32>
  sched.return %y after() : memref<8xf32>
}

// A writer waits for those that read the old contents, and for the writer before it. The wait of %t3 for %t0
// follows from the others and is left out.
// CHECK-LABEL: @write_after_read
// CHECK:       %t0 = sched.launch @copy(%x, %a) after() :
// CHECK-NEXT:  %t1 = sched.transfer %a to %y after(%t0) :
// CHECK-NEXT:  %t2 = sched.transfer %a to %z after(%t0) :
// CHECK-NEXT:  %t3 = sched.launch @copy(%x, %a) after(%t1, %t2) :
// CHECK-NEXT:  %t4 = sched.launch @wide(%x, %a) after(%t3) :
// CHECK-NEXT:  sched.return %y, %z, %a after(%t4) :
sched.program @write_after_read(%x: memref<8xf32>) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = sched.buffer global result : memref<8xf32>
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<8xf32>, memref<8xf32>
  %t1 = sched.transfer %a to %y after() : memref<8xf32>
  %t2 = sched.transfer %a to %z after() : memref<8xf32>
  %t3 = sched.launch @copy(%x, %a) after() : memref<8xf32>, memref<8xf32>
  %t4 = sched.launch @wide(%x, %a) after() : memref<8xf32>, memref<8xf32>
  sched.return %y, %z, %a after() : memref<8xf32>, memref<8xf32>, memref<8xf32>
}

// A sync waits for everything before it, and everything after it waits for the sync.
// CHECK-LABEL: @sync
// CHECK:       %t0 = sched.launch @copy(%x, %a) after() :
// CHECK-NEXT:  %t1 = sched.launch @copy(%x, %b) after() :
// CHECK-NEXT:  %t2 = sched.sync after(%t0, %t1)
// CHECK-NEXT:  %t3 = sched.launch @copy(%x, %y) after(%t2) :
// CHECK-NEXT:  sched.return %y after(%t3) :
sched.program @sync(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
  %a = sched.buffer global temporary : memref<8xf32>
  %b = sched.buffer global temporary : memref<8xf32>
  %y = sched.buffer global result : memref<8xf32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<8xf32>, memref<8xf32>
  %t1 = sched.launch @copy(%x, %b) after() : memref<8xf32>, memref<8xf32>
  %t2 = sched.sync after()
  %t3 = sched.launch @copy(%x, %y) after() : memref<8xf32>, memref<8xf32>
  sched.return %y after() : memref<8xf32>
}

// Buffers whose slabs share bytes count as one; what `after` said before is replaced.
// CHECK-LABEL: @shared_slab
// CHECK:       %t0 = sched.launch @copy(%x, %a) after() :
// CHECK-NEXT:  %t1 = sched.transfer %a to %y after(%t0) :
// CHECK-NEXT:  %t2 = sched.launch @copy(%x, %b) after(%t1) :
// CHECK-NEXT:  %t3 = sched.launch @copy(%x, %c) after() :
// CHECK-NEXT:  sched.return %y after(%t1) :
sched.program @shared_slab(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
  %a = sched.buffer global temporary slab <2, 0> : memref<8xf32>
  %b = sched.buffer global temporary slab <2, 16> : memref<8xf32>
  %c = sched.buffer global temporary slab <3, 16> : memref<8xf32>
  %y = sched.buffer global result : memref<8xf32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<8xf32>, memref<8xf32>
  %t1 = sched.transfer %a to %y after() : memref<8xf32>
  %t2 = sched.launch @copy(%x, %b) after(%t0) : memref<8xf32>, memref<8xf32>
  %t3 = sched.launch @copy(%x, %c) after(%t2) : memref<8xf32>, memref<8xf32>
  sched.return %y after() : memref<8xf32>
}

// A program without items, whose result is its argument, waits for nothing.
// CHECK-LABEL: @empty
// CHECK-NEXT:  sched.return %x after() : memref<8xf32>
sched.program @empty(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
  sched.return %x after() : memref<8xf32>
}

graph.tnode @rows : tensor<4x8xf32>
graph.tnode @sum : tensor<8xf32>

// All parts of a node count as one, and so does the node; nodes are done before the program ends.
// CHECK-LABEL: sched.program @nodes
// CHECK:         %t0 = sched.launch @copy(%i_row, %s) after()
// CHECK-NEXT:    %t1 = sched.launch @copy(%s, %j_row) after(%t0)
// CHECK-NEXT:    %t2 = sched.transfer %x to %i_row after(%t1)
// CHECK-NEXT:    %t3 = sched.launch @copy(%s_again, %y) after(%t0)
// CHECK-NEXT:    sched.return after(%t2)
sched.program @nodes(%i: index, %j: index, %x: memref<8xf32>) : (index, index, tensor<8xf32>) -> () {
  %y = sched.buffer global temporary : memref<8xf32>
  %i_row = sched.node @rows[%i] : memref<8xf32>
  %j_row = sched.node @rows[%j] : memref<8xf32>
  %s = sched.node @sum : memref<8xf32>
  %s_again = sched.node @sum : memref<8xf32>
  %t0 = sched.launch @copy(%i_row, %s) after() : memref<8xf32>, memref<8xf32>
  %t1 = sched.launch @copy(%s, %j_row) after() : memref<8xf32>, memref<8xf32>
  %t2 = sched.transfer %x to %i_row after() : memref<8xf32>
  %t3 = sched.launch @copy(%s_again, %y) after() : memref<8xf32>, memref<8xf32>
  sched.return after()
}
