// RUN: tenon-opt -p hand-over-rows,deduplicate-kernels --split-input-file %s | filecheck %s
// RUN: tenon-opt -p hand-over-rows,deduplicate-kernels,sched-pipeline,low-pipeline --split-input-file %s | filecheck %s --check-prefix=LOW

// Kernels that differ in a row are one, wherever their constants stand: of an argument, and of a constant. Rows are
// made once, before the first item, also for launches in regions.
// CHECK:       sched.kernel @first(%a: memref<8xf32>, %w: memref<8xf32>, %b: memref<8xf32>) {
// CHECK-NEXT:    sched.axis %i = 8 {
// CHECK-NEXT:      %v = memref.load %a[%i] : memref<8xf32>
// CHECK-NEXT:      %u = memref.load %w[%i] : memref<8xf32>
// CHECK-NOT:   sched.kernel
// CHECK:       sched.program @layers
// CHECK:         %k = sched.constant
// CHECK-NEXT:    %[[K:.*]] = sched.row %k[1] : memref<3x8xf32>
// CHECK:         %[[A:.*]] = sched.row %w[0] : memref<3x8xf32>
// CHECK-NEXT:    %[[C:.*]] = sched.row %w[2] : memref<3x8xf32>
// CHECK-NEXT:    %[[B:.*]] = sched.row %w[1] : memref<3x8xf32>
// CHECK-NEXT:    sched.launch @first(%x, %[[A]], %y) after()
// CHECK-NEXT:    sched.launch @first(%y, %[[C]], %z) after()
// CHECK-NEXT:    sched.for %i = 2 after() {
// CHECK-NEXT:      sched.launch @first(%z, %[[A]], %y) after()
// CHECK-NEXT:      sched.launch @first(%y, %[[B]], %z) after()
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.launch @first(%z, %[[K]], %r) after()
// LOW-LABEL:   sched.program @layers
sched.kernel @first(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @third(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %r = arith.constant 2 : index
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @second(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @layers(%x: memref<8xf32>, %w: memref<3x8xf32>) : (tensor<8xf32>, tensor<3x8xf32>) -> tensor<8xf32> {
  %k = sched.constant dense<1.0> : tensor<3x8xf32> : memref<3x8xf32>
  %y = sched.buffer global temporary : memref<8xf32>
  %z = sched.buffer global temporary : memref<8xf32>
  %r = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @first(%x, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @third(%y, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %2 = sched.for %i = 2 after() {
    %3 = sched.launch @first(%z, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
    %4 = sched.launch @second(%y, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  }
  %5 = sched.launch @second(%z, %k, %r) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %r after() : memref<8xf32>
}

// -----

// Rows of layers of a named size, and the last of as many as there are at least.
// CHECK:       sched.kernel @last(%layers: index, %n: index, %w: memref<?xf32, {dims = #graph.dims<n>}>, %b: memref<?xf32, {dims = #graph.dims<n>}>) dims [layers, n] {
// CHECK-NOT:   sched.kernel
// CHECK:       sched.program @named
// CHECK:         sched.row %w[1] : memref<?x?xf32, {dims = #graph.dims<layers, n>}>
// CHECK-NEXT:    sched.row %w[0] : memref<?x?xf32, {dims = #graph.dims<layers, n>}>
// LOW-LABEL:   sched.program @named
graph.dim @layers min 2 max 4
graph.dim @n min 1 max 16
sched.kernel @last(%layers: index, %n: index, %w: memref<?x?xf32, {dims = #graph.dims<layers, n>}>, %b: memref<?xf32, {dims = #graph.dims<n>}>) dims [layers, n] {
  %r = arith.constant 1 : index
  sched.axis %i = n {
    %u = memref.load %w[%r, %i] : memref<?x?xf32, {dims = #graph.dims<layers, n>}>
    memref.store %u, %b[%i] : memref<?xf32, {dims = #graph.dims<n>}>
  }
}
sched.kernel @first(%layers: index, %n: index, %w: memref<?x?xf32, {dims = #graph.dims<layers, n>}>, %b: memref<?xf32, {dims = #graph.dims<n>}>) dims [layers, n] {
  %r = arith.constant 0 : index
  sched.axis %i = n {
    %u = memref.load %w[%r, %i] : memref<?x?xf32, {dims = #graph.dims<layers, n>}>
    memref.store %u, %b[%i] : memref<?xf32, {dims = #graph.dims<n>}>
  }
}
sched.program @named(%w: memref<?x?xf32, {dims = #graph.dims<layers, n>}>) : (tensor<?x?xf32, #graph.dims<layers, n>>) -> (tensor<?xf32, #graph.dims<n>>, tensor<?xf32, #graph.dims<n>>) {
  %y = sched.buffer global result : memref<?xf32, {dims = #graph.dims<n>}>
  %z = sched.buffer global result : memref<?xf32, {dims = #graph.dims<n>}>
  %layers = sched.dim @layers
  %n = sched.dim @n
  %0 = sched.launch @last(%layers, %n, %w, %y) after() : index, index, memref<?x?xf32, {dims = #graph.dims<layers, n>}>, memref<?xf32, {dims = #graph.dims<n>}>
  %1 = sched.launch @first(%layers, %n, %w, %z) after() : index, index, memref<?x?xf32, {dims = #graph.dims<layers, n>}>, memref<?xf32, {dims = #graph.dims<n>}>
  sched.return %y, %z after() : memref<?xf32, {dims = #graph.dims<n>}>, memref<?xf32, {dims = #graph.dims<n>}>
}

// -----

// Not what else differs.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK:       sched.kernel @two(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK-NOT:   sched.row
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.mulf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @other(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// Arguments that may be written to.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>
// CHECK-NOT:   sched.kernel
// CHECK:       %{{.*}} = sched.row %w[0] : memref<3x8xf32>
// CHECK-NEXT:  %{{.*}} = sched.row %w[1] : memref<3x8xf32>
// CHECK:       sched.launch @one
// CHECK:       sched.launch @one
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @donated(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {donated = #graph.ints[1]} {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// Temporaries.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>
// CHECK-NOT:   sched.kernel
// CHECK:       %{{.*}} = sched.row %t[1] : memref<3x8xf32>
// CHECK-NEXT:  %{{.*}} = sched.row %t[0] : memref<3x8xf32>
// CHECK:       sched.launch @one
// CHECK:       sched.launch @one
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @written(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %t = sched.buffer global temporary : memref<3x8xf32>
  %u = sched.transfer %w to %t after() : memref<3x8xf32>
  %0 = sched.launch @one(%x, %t, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %t, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// What is stored: rows of a buffer that is read and written.
// CHECK:       memref.store %{{.*}}, %w[%i] {note} : memref<8xf32>
// CHECK-NOT:   sched.kernel
// CHECK:       %{{.*}} = sched.row %t[2] : memref<3x8xf32>
// CHECK-NEXT:  %{{.*}} = sched.row %t[0] : memref<3x8xf32>
// CHECK:       sched.launch @one
// CHECK:       sched.launch @one
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %w[%r, %i] : memref<3x8xf32>
    %u = memref.load %a[%i] : memref<8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %w[%r, %i] {note} : memref<3x8xf32>
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 2 : index
  sched.axis %i = 8 {
    %v = memref.load %w[%r, %i] : memref<3x8xf32>
    %u = memref.load %a[%i] : memref<8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %w[%r, %i] {note} : memref<3x8xf32>
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @stored(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %t = sched.buffer global temporary : memref<3x8xf32>
  %u = sched.transfer %w to %t after() : memref<3x8xf32>
  %0 = sched.launch @one(%x, %t, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %t, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// Not tensor nodes.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK:       sched.kernel @two(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK-NOT:   sched.row
// CHECK:       sched.return
graph.tnode @n : tensor<3x8xf32>
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @nodes(%x: memref<8xf32>) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %w = sched.node @n : memref<3x8xf32>
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// Two rows of one buffer.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK:       sched.kernel @two(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK-NOT:   sched.row
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  %q = arith.constant 2 : index
  sched.axis %i = 8 {
    %v = memref.load %w[%q, %i] : memref<3x8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  %q = arith.constant 2 : index
  sched.axis %i = 8 {
    %v = memref.load %w[%q, %i] : memref<3x8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @rows(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// What is indexed by a loop, or along another axis.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK:       sched.kernel @two(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK-NOT:   sched.row
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %c = arith.constant 2 : index
  sched.axis %i = 2 {
    %v = memref.load %w[%i, %c] : memref<3x8xf32>
    memref.store %v, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %c = arith.constant 1 : index
  sched.axis %i = 2 {
    %v = memref.load %w[%i, %c] : memref<3x8xf32>
    memref.store %v, %b[%i] : memref<8xf32>
  }
}
sched.program @moving(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// The one row that there is, which all kernels read.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<1x8xf32>
// CHECK-NOT:   sched.kernel
// CHECK-NOT:   sched.row
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<1x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<1x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<1x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<1x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @single(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %o, %y) after() : memref<8xf32>, memref<1x8xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %o, %z) after() : memref<8xf32>, memref<1x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// A buffer that the kernel sees in another shape.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK:       sched.kernel @two(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK-NOT:   sched.row
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @reshaped(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %p, %y) after() : memref<8xf32>, memref<6x4xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %p, %z) after() : memref<8xf32>, memref<6x4xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}

// -----

// A kernel that is launched with such a buffer too.
// CHECK:       sched.kernel @one(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK:       sched.kernel @two(%{{.*}}: memref<8xf32>, %{{.*}}: memref<3x8xf32>
// CHECK-NOT:   sched.row
// CHECK:       sched.return
sched.kernel @one(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 0 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.kernel @two(%a: memref<8xf32>, %w: memref<3x8xf32>, %b: memref<8xf32>) {
  %r = arith.constant 1 : index
  sched.axis %i = 8 {
    %v = memref.load %a[%i] : memref<8xf32>
    %u = memref.load %w[%r, %i] : memref<3x8xf32>
    %s = arith.addf %v, %u : f32
    memref.store %s, %b[%i] : memref<8xf32>
  }
}
sched.program @mixed(%x: memref<8xf32>, %w: memref<3x8xf32>, %o: memref<1x8xf32>, %p: memref<6x4xf32>) : (tensor<8xf32>, tensor<3x8xf32>, tensor<1x8xf32>, tensor<6x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @one(%x, %w, %y) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  %2 = sched.launch @one(%y, %p, %z) after() : memref<8xf32>, memref<6x4xf32>, memref<8xf32>
  %1 = sched.launch @two(%x, %w, %z) after() : memref<8xf32>, memref<3x8xf32>, memref<8xf32>
  sched.return %y, %z after() : memref<8xf32>, memref<8xf32>
}
