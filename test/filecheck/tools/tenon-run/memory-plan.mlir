// RUN: tenon-run %s --print none --memory-plan | filecheck %s
// RUN: tenon-run %s --print none --dump-dir %t
// RUN: filecheck %s --input-file %t/memory.txt
// RUN: not tenon-run %s --backend reference --memory-plan 2>&1 | filecheck %s --check-prefix REFERENCE

// CHECK:      memory of @chain: 128 bytes in 1 pool, 4 steps
// CHECK-NEXT: temporaries: 128 bytes, 128 live at most, 192 without sharing
// CHECK:      pool content bytes peak gaps
// CHECK-NEXT: temporaries 128
// CHECK:      buffer name kind place bytes steps shares with
// CHECK-NEXT: 0 x argument the caller's 64 0-4 -
// CHECK-NEXT: 1 a temporary pool 1 + 0x0 64 0-1 3
// CHECK-NEXT: 2 b temporary pool 1 + 0x40 64 1-2 -
// CHECK-NEXT: 3 c temporary pool 1 + 0x0 64 2-3 1
// CHECK-NEXT: 4 y result the caller's 64 3-4 -
// CHECK:      0 @double(0, 1)
// CHECK-NEXT: 1 @double(1, 2)
// CHECK-NEXT: 2 @double(2, 3)
// CHECK-NEXT: 3 copy 3 to 4

// REFERENCE:  error: --memory-plan is not for --backend reference
low.kernel @double(%x: memref<16xf32>, %y: memref<16xf32>) grid [16, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<16xf32>
  %s = arith.addf %v, %v : f32
  memref.store %s, %y[%i] : memref<16xf32>
}
sched.program @chain(%x: memref<16xf32>) : (tensor<16xf32>) -> (tensor<16xf32>) {
  %a = sched.buffer global temporary : memref<16xf32>
  %b = sched.buffer global temporary : memref<16xf32>
  %c = sched.buffer global temporary : memref<16xf32>
  %y = sched.buffer global result : memref<16xf32>
  %t0 = sched.launch @double(%x, %a) after() : memref<16xf32>, memref<16xf32>
  %t1 = sched.launch @double(%a, %b) after() : memref<16xf32>, memref<16xf32>
  %t2 = sched.launch @double(%b, %c) after() : memref<16xf32>, memref<16xf32>
  %t3 = sched.transfer %c to %y after() : memref<16xf32>
  sched.return %y after() : memref<16xf32>
}
