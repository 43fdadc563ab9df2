// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// A channel below 1.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: channel 0 is less than 1}}
  %t0 = sched.collective all_reduce add on [2] axes = [0] channel = 0(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// No grid.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: [0] is no grid}}
  %t0 = sched.collective all_reduce add on [0] axes = [0] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  %t1 = sched.await channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// An axis twice.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: [0, 0] are no axes of a grid}}
  %t0 = sched.collective all_reduce add on [2] axes = [0, 0] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  %t1 = sched.await channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// An axis that the grid has not.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: axes [1] are out of range for [2]}}
  %t0 = sched.collective all_reduce add on [2] axes = [1] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  %t1 = sched.await channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// Nothing to fill.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: takes 1 buffers to 0}}
  %t0 = sched.collective all_reduce add on [2] axes = [0] channel = 1(%x) after() : (tensor<4xf32>) -> ()
  sched.return %y after() : memref<4xf32>
}

// -----

// Only sums are bundled.
sched.program @p(%x: memref<2xf32>) : (tensor<2xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  %z = sched.buffer global temporary : memref<2xf32>
  %w = sched.buffer global temporary : memref<4xf32>
  // expected-error @below {{sched.collective all_gather: takes 2 buffers, expected 1}}
  %t0 = sched.collective all_gather on [2] axes = [0] dim = 0 channel = 1(%x, %z) to(%y, %w) after() : (tensor<2xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  sched.return %y after() : memref<4xf32>
}

// -----

// Another element type.
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: takes and fills both tensor<4xi32> and tensor<4xf32>}}
  %t0 = sched.collective all_reduce add on [2] axes = [0] channel = 1(%x) to(%y) after() : (tensor<4xi32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// A dim that there is not.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_gather: dim 1 is out of range for tensor<4xf32>}}
  %t0 = sched.collective all_gather on [2] axes = [0] dim = 1 channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  %t1 = sched.await channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// A member that there is not.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective collective_permute: pair [0, 2] names none of 2 members}}
  %t0 = sched.collective collective_permute on [2] axes = [0] pairs = [[0, 2]] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  %t1 = sched.await channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// In place.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: fills what it takes}}
  %t0 = sched.collective all_reduce add on [2] axes = [0] channel = 1(%y) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// Never awaited.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.collective all_reduce: no sched.await of channel 1 comes after it}}
  %t0 = sched.collective all_reduce add on [2] axes = [0] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// Awaited and not begun.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.await of channel 1: no sched.collective of that channel comes before it}}
  %t1 = sched.await channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// Awaited with another buffer.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  %z = sched.buffer global temporary : memref<4xf32>
  %t0 = sched.collective all_reduce add on [2] axes = [0] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{sched.await of channel 1: has other buffers than its sched.collective}}
  %t1 = sched.await channel = 1(%x) to(%z) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// A kind that there is not.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{expected one of all_reduce, all_gather, reduce_scatter, all_to_all, collective_permute, found all_sum}}
  %t0 = sched.collective all_sum on [2] axes = [0] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// No pairs.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{expected pairs, found [0]}}
  %t0 = sched.collective collective_permute on [2] axes = [0] pairs = [[0]] channel = 1(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  sched.return %y after() : memref<4xf32>
}
