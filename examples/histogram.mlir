// Counts how often each remainder of a division by five comes: the work-items of a kernel add to the same elements.
low.kernel @clear(%counts: memref<5xi32>) grid [5, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %zero = arith.constant 0 : i32
  memref.store %zero, %counts[%i] : memref<5xi32>
}
low.kernel @count(%x: memref<10007xi32>, %counts: memref<5xi32>) grid [10007, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %five = arith.constant 5 : i32
  %one = arith.constant 1 : i32
  %v = memref.load %x[%i] : memref<10007xi32>
  %left = arith.remui %v, %five : i32
  %at = arith.index_cast %left : i32 to index
  %old = low.atomic_rmw addi %one, %counts[%at] : memref<5xi32>
}
sched.program @histogram(%x: memref<10007xi32>) : (tensor<10007xi32>) -> tensor<5xi32> {
  %counts = sched.buffer global result : memref<5xi32>
  %t0 = sched.launch @clear(%counts) after() : memref<5xi32>
  %t1 = sched.launch @count(%x, %counts) after(%t0) : memref<10007xi32>, memref<5xi32>
  sched.return %counts after(%t1) : memref<5xi32>
}
