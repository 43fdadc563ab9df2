// RUN: tenon-opt -p plan-memory %s | filecheck %s
// RUN: tenon-opt -p plan-memory{alignment=4} %s | filecheck %s --check-prefix PACKED

low.kernel @f(%x: memref<16xf32>, %y: memref<16xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<16xf32>
  memref.store %v, %y[%i] : memref<16xf32>
}
low.kernel @widen(%x: memref<16xf32>, %y: memref<32xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<16xf32>
  memref.store %v, %y[%i] : memref<32xf32>
}
low.kernel @narrow(%x: memref<32xf32>, %y: memref<16xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<32xf32>
  memref.store %v, %y[%i] : memref<16xf32>
}
low.kernel @nothing(%x: memref<0xf32>, %y: memref<0xf32>) grid [0, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<0xf32>
  memref.store %v, %y[%i] : memref<0xf32>
}

// %c takes the place of %a, which nothing uses any more; the launch that fills it then waits for the last user.
// CHECK-LABEL: @reuse
// CHECK-SAME:  memory_plan = #sched.memory_plan<pool_nbytes 128, unshared_nbytes 192, peak_nbytes 128>
// CHECK-NEXT:  %a = sched.buffer global temporary lifetime <0, 1> slab <2, 0> :
// CHECK-NEXT:  %b = sched.buffer global temporary lifetime <1, 2> slab <2, 64> :
// CHECK-NEXT:  %c = sched.buffer global temporary lifetime <2, 3> slab <2, 0> :
// CHECK-NEXT:  %y = sched.buffer global result lifetime <3, 4> :
// CHECK:       %t2 = sched.launch @f(%b, %c) after(%t1) :
sched.program @reuse(%x: memref<16xf32>) : (tensor<16xf32>) -> tensor<16xf32> {
  %a = sched.buffer global temporary : memref<16xf32>
  %b = sched.buffer global temporary : memref<16xf32>
  %c = sched.buffer global temporary : memref<16xf32>
  %y = sched.buffer global result : memref<16xf32>
  %t0 = sched.launch @f(%x, %a) after() : memref<16xf32>, memref<16xf32>
  %t1 = sched.launch @f(%a, %b) after() : memref<16xf32>, memref<16xf32>
  %t2 = sched.launch @f(%b, %c) after() : memref<16xf32>, memref<16xf32>
  %t3 = sched.launch @f(%c, %y) after() : memref<16xf32>, memref<16xf32>
  sched.return %y after() : memref<16xf32>
}

// The largest buffer comes first, so that %a and %c lie beside it; %c is not filled before %a was read, although
// no value goes from one to the other.
// CHECK-LABEL: @largest_first
// CHECK-SAME:  memory_plan = #sched.memory_plan<pool_nbytes 192, unshared_nbytes 256, peak_nbytes 192>
// CHECK-NEXT:  %a = sched.buffer global temporary lifetime <0, 1> slab <2, 128> :
// CHECK-NEXT:  %b = sched.buffer global temporary lifetime <1, 3> slab <2, 0> :
// CHECK-NEXT:  %c = sched.buffer global temporary lifetime <2, 4> slab <2, 128> :
// CHECK:       %t2 = sched.launch @f(%x, %c) after(%t1) :
sched.program @largest_first(%x: memref<16xf32>) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %a = sched.buffer global temporary : memref<16xf32>
  %b = sched.buffer global temporary : memref<32xf32>
  %c = sched.buffer global temporary : memref<16xf32>
  %y = sched.buffer global result : memref<16xf32>
  %z = sched.buffer global result : memref<16xf32>
  %t0 = sched.launch @f(%x, %a) after() : memref<16xf32>, memref<16xf32>
  %t1 = sched.launch @widen(%a, %b) after() : memref<16xf32>, memref<32xf32>
  %t2 = sched.launch @f(%x, %c) after() : memref<16xf32>, memref<16xf32>
  %t3 = sched.launch @narrow(%b, %y) after() : memref<32xf32>, memref<16xf32>
  %t4 = sched.launch @f(%c, %z) after() : memref<16xf32>, memref<16xf32>
  sched.return %y, %z after() : memref<16xf32>, memref<16xf32>
}

// Buffers that are alive together share nothing, and a returned one lives to the end.
// CHECK-LABEL: @no_reuse
// CHECK-SAME:  memory_plan = #sched.memory_plan<pool_nbytes 128, unshared_nbytes 128, peak_nbytes 128>
// CHECK-NEXT:  %a = sched.buffer global temporary lifetime <0, 2> slab <2, 0> :
// CHECK-NEXT:  %b = sched.buffer global temporary lifetime <1, 2> slab <2, 64> :
sched.program @no_reuse(%x: memref<16xf32>) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %a = sched.buffer global temporary : memref<16xf32>
  %b = sched.buffer global temporary : memref<16xf32>
  %t0 = sched.launch @f(%x, %a) after() : memref<16xf32>, memref<16xf32>
  %t1 = sched.launch @f(%x, %b) after() : memref<16xf32>, memref<16xf32>
  sched.return %a, %b after() : memref<16xf32>, memref<16xf32>
}

// Constants lie one after the other in a pool of their own, at multiples of the alignment.
// CHECK-LABEL: @constants
// CHECK-SAME:  memory_plan = #sched.memory_plan<pool_nbytes 0, unshared_nbytes 0, peak_nbytes 0>
// CHECK-NEXT:  %v = sched.constant dense<[1, 2, 3]> : tensor<3xi8> slab <1, 0> :
// CHECK-NEXT:  %w = sched.constant dense<2.500000e+00> : tensor<16xf32> slab <1, 64> :
// PACKED-LABEL: @constants
// PACKED:      %v = sched.constant dense<[1, 2, 3]> : tensor<3xi8> slab <1, 0> :
// PACKED-NEXT: %w = sched.constant dense<2.500000e+00> : tensor<16xf32> slab <1, 4> :
sched.program @constants() : () -> tensor<16xf32> {
  %v = sched.constant dense<[1, 2, 3]> : tensor<3xi8> : memref<3xi8>
  %w = sched.constant dense<2.5> : tensor<16xf32> : memref<16xf32>
  %y = sched.buffer global result : memref<16xf32>
  %t = sched.launch @f(%w, %y) after() : memref<16xf32>, memref<16xf32>
  sched.return %y after() : memref<16xf32>
}

// Buffers of no bytes take none; one that nothing uses gets neither a lifetime nor a slab.
// CHECK-LABEL: @no_bytes
// CHECK-SAME:  memory_plan = #sched.memory_plan<pool_nbytes 0, unshared_nbytes 0, peak_nbytes 0>
// CHECK-NEXT:  %a = sched.buffer global temporary lifetime <0, 1> slab <2, 0> : memref<0xf32>
// CHECK-NEXT:  %unused = sched.buffer global temporary : memref<16xf32>
sched.program @no_bytes(%x: memref<0xf32>) : (tensor<0xf32>) -> tensor<0xf32> {
  %a = sched.buffer global temporary : memref<0xf32>
  %unused = sched.buffer global temporary : memref<16xf32>
  %y = sched.buffer global result : memref<0xf32>
  %t0 = sched.launch @nothing(%x, %a) after() : memref<0xf32>, memref<0xf32>
  %t1 = sched.launch @nothing(%a, %y) after() : memref<0xf32>, memref<0xf32>
  sched.return %y after() : memref<0xf32>
}

// CHECK-LABEL: @empty
// CHECK-SAME:  memory_plan = #sched.memory_plan<pool_nbytes 0, unshared_nbytes 0, peak_nbytes 0>
sched.program @empty(%x: memref<16xf32>) : (tensor<16xf32>) -> tensor<16xf32> {
  sched.return %x after() : memref<16xf32>
}

graph.tnode @w : tensor<16xf32>

// Nodes and the merge buffer have memory of their own, and no slab.
// CHECK-LABEL: sched.program @nodes
// CHECK-NEXT:    %w = sched.node @w : memref<16xf32>
// CHECK-NEXT:    %m = sched.merge_buffer @w : memref<16xf32>
// CHECK-NEXT:    %a = sched.buffer global temporary lifetime <0, 1> slab <2, 0> : memref<16xf32>
// CHECK-NEXT:    %t0 = sched.launch @f(%m, %a) after()
// CHECK-NEXT:    %t1 = sched.launch @f(%a, %w) after(%t0)
// CHECK-NEXT:    sched.return after(%t1)
sched.program @nodes() : () -> () {
  %w = sched.node @w : memref<16xf32>
  %m = sched.merge_buffer @w : memref<16xf32>
  %a = sched.buffer global temporary : memref<16xf32>
  %t0 = sched.launch @f(%m, %a) after() : memref<16xf32>, memref<16xf32>
  %t1 = sched.launch @f(%a, %w) after() : memref<16xf32>, memref<16xf32>
  sched.return after()
}
