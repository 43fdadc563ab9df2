// RUN: tenon-opt -p 'split-halos{least-elements=64},schedule-collectives,build-dependencies' --split-input-file %s | filecheck %s
// RUN: tenon-opt -p 'split-halos' --split-input-file %s | filecheck %s --check-prefix=SHORT

// Rows of both neighbours: what lies between is computed while they are sent, each border once its rows are there.
// SHORT-NOT: _inside
// CHECK-LABEL: sched.kernel @f_inside(%x: memref<8x16xf32>, %y: memref<8x16xf32>) {
// CHECK-NEXT:    %cm1 = arith.constant -1 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    sched.axis %i = 6 {
// CHECK-NEXT:      %0 = arith.addi %i, %c1 : index
// CHECK-NEXT:      %before = arith.addi %0, %cm1 : index
// CHECK-NEXT:      %after = arith.addi %0, %c1 : index
// CHECK-NEXT:      sched.axis %j = 16 {
// CHECK-NEXT:        %above = memref.load %x[%before, %j] : memref<8x16xf32>
// CHECK-NEXT:        %below = memref.load %x[%after, %j] : memref<8x16xf32>
// CHECK-NEXT:        %sum = arith.addf %above, %below : f32
// CHECK-NEXT:        memref.store %sum, %y[%0, %j] : memref<8x16xf32>
// CHECK-LABEL: sched.kernel @f_border(%x: memref<8x16xf32>, %a: memref<1x16xf32>, %y: memref<8x16xf32>) {
// CHECK:         sched.axis %i = 1 {
// CHECK-LABEL: sched.kernel @f_border_1(%x: memref<8x16xf32>, %b: memref<1x16xf32>, %y: memref<8x16xf32>) {
// CHECK:         sched.axis %i = 1 {
// CHECK-NEXT:      %0 = arith.addi %i, %c7 : index
// CHECK-NOT:   sched.kernel @f(
// CHECK-LABEL: sched.program @rows
// CHECK:         %[[A:.*]] = sched.collective {{.*}} channel = 1(%x) to(%a)
// CHECK-NEXT:    %[[B:.*]] = sched.collective {{.*}} channel = 2(%x) to(%b)
// CHECK-NEXT:    %[[IN:.*]] = sched.launch @f_inside(%x, %y) after() : memref<8x16xf32>, memref<8x16xf32>
// CHECK-NEXT:    %[[WA:.*]] = sched.await channel = 1(%x) to(%a) after(%[[A]])
// CHECK-NEXT:    %[[F:.*]] = sched.launch @f_border(%x, %a, %y) after(%[[IN]], %[[WA]])
// CHECK-NEXT:    %[[WB:.*]] = sched.await channel = 2(%x) to(%b) after(%[[B]])
// CHECK-NEXT:    %{{.*}} = sched.launch @f_border_1(%x, %b, %y) after(%[[F]], %[[WB]])
sched.kernel @f(%x: memref<8x16xf32>, %a: memref<1x16xf32>, %b: memref<1x16xf32>, %y: memref<8x16xf32>) {
  %cm1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  sched.axis %i = 8 {
    %before = arith.addi %i, %cm1 : index
    %raised = arith.maxsi %before, %c0 : index
    %first = arith.minsi %raised, %c7 : index
    %after = arith.addi %i, %c1 : index
    %positive = arith.maxsi %after, %c0 : index
    %last = arith.minsi %positive, %c7 : index
    sched.axis %j = 16 {
      %has_before = arith.cmpi sge, %before, %c0 : index
      %above = memref.load %x[%first, %j] : memref<8x16xf32>
      %top = memref.load %a[%c0, %j] : memref<1x16xf32>
      %n = low.select %has_before, %above, %top : f32
      %has_after = arith.cmpi slt, %i, %c7 : index
      %below = memref.load %x[%last, %j] : memref<8x16xf32>
      %bottom = memref.load %b[%c0, %j] : memref<1x16xf32>
      %s = low.select %has_after, %below, %bottom : f32
      %sum = arith.addf %n, %s : f32
      memref.store %sum, %y[%i, %j] : memref<8x16xf32>
    }
  }
}
sched.program @rows(%x: memref<8x16xf32>) : (tensor<8x16xf32>) -> tensor<8x16xf32> {
  %a = sched.buffer global temporary : memref<1x16xf32>
  %b = sched.buffer global temporary : memref<1x16xf32>
  %y = sched.buffer global result : memref<8x16xf32>
  %t = sched.collective collective_permute on [3] axes = [0] pairs = [[0, 1], [1, 2]] channel = 1(%x) to(%a) after() : (tensor<8x16xf32>) -> tensor<1x16xf32>
  %t_1 = sched.await channel = 1(%x) to(%a) after() : (tensor<8x16xf32>) -> tensor<1x16xf32>
  %t_2 = sched.collective collective_permute on [3] axes = [0] pairs = [[1, 0], [2, 1]] channel = 2(%x) to(%b) after() : (tensor<8x16xf32>) -> tensor<1x16xf32>
  %t_3 = sched.await channel = 2(%x) to(%b) after() : (tensor<8x16xf32>) -> tensor<1x16xf32>
  %t_4 = sched.launch @f(%x, %a, %b, %y) after() : memref<8x16xf32>, memref<1x16xf32>, memref<1x16xf32>, memref<8x16xf32>
  sched.return %y after() : memref<8x16xf32>
}

// -----

// A column of the innermost axis is computed apart where there is no inside else, as is that of the only axis.
// CHECK-LABEL: sched.program @columns
// CHECK:         sched.launch @column_inside(%x, %y)
// CHECK-NEXT:    %{{.*}} = sched.launch @line_inside(%v, %w)
// CHECK-NEXT:    %{{.*}} = sched.await channel = 1
// CHECK-NEXT:    %{{.*}} = sched.launch @column_border(%a, %y)
// CHECK-NEXT:    %{{.*}} = sched.await channel = 2
// CHECK-NEXT:    %{{.*}} = sched.launch @line_border(%b, %w)
sched.kernel @column(%x: memref<8x15xf32>, %a: memref<8x1xf32>, %y: memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  sched.axis %i = 8 {
    sched.axis %j = 16 {
      %in = arith.minsi %j, %c14 : index
      %is_in = arith.cmpi slt, %j, %c15 : index
      %own = memref.load %x[%i, %in] : memref<8x15xf32>
      %other = memref.load %a[%i, %c0] : memref<8x1xf32>
      %v = low.select %is_in, %own, %other : f32
      memref.store %v, %y[%i, %j] : memref<8x16xf32>
    }
  }
}
sched.kernel @line(%x: memref<79xf32>, %a: memref<1xf32>, %y: memref<80xf32>) {
  %c0 = arith.constant 0 : index
  %c78 = arith.constant 78 : index
  %c79 = arith.constant 79 : index
  sched.axis %i = 80 {
    %in = arith.minsi %i, %c78 : index
    %is_in = arith.cmpi slt, %i, %c79 : index
    %own = memref.load %x[%in] : memref<79xf32>
    %other = memref.load %a[%c0] : memref<1xf32>
    %v = low.select %is_in, %own, %other : f32
    memref.store %v, %y[%i] : memref<80xf32>
  }
}
sched.program @columns(%x: memref<8x15xf32>, %v: memref<79xf32>) : (tensor<8x15xf32>, tensor<79xf32>) -> (tensor<8x16xf32>, tensor<80xf32>) {
  %a = sched.buffer global temporary : memref<8x1xf32>
  %y = sched.buffer global result : memref<8x16xf32>
  %b = sched.buffer global temporary : memref<1xf32>
  %w = sched.buffer global result : memref<80xf32>
  %t = sched.collective collective_permute on [2] axes = [0] pairs = [[0, 1], [1, 0]] channel = 1(%x) to(%a) after() : (tensor<8x15xf32>) -> tensor<8x1xf32>
  %t_1 = sched.await channel = 1(%x) to(%a) after() : (tensor<8x15xf32>) -> tensor<8x1xf32>
  %t_2 = sched.launch @column(%x, %a, %y) after() : memref<8x15xf32>, memref<8x1xf32>, memref<8x16xf32>
  %t_4 = sched.collective collective_permute on [2] axes = [0] pairs = [[0, 1], [1, 0]] channel = 2(%v) to(%b) after() : (tensor<79xf32>) -> tensor<1xf32>
  %t_5 = sched.await channel = 2(%v) to(%b) after() : (tensor<79xf32>) -> tensor<1xf32>
  %t_6 = sched.launch @line(%v, %b, %w) after() : memref<79xf32>, memref<1xf32>, memref<80xf32>
  sched.return %y, %w after() : memref<8x16xf32>, memref<80xf32>
}

// -----

// What reads other ranks' elements everywhere, or mostly, stays whole; so does what reads only its own.
// CHECK-LABEL: sched.program @whole
// CHECK:         sched.launch @own(%x, %z)
// CHECK-NEXT:    %{{.*}} = sched.await channel = 1
// CHECK-NEXT:    %{{.*}} = sched.launch @all(%x, %a, %y)
// CHECK-NEXT:    %{{.*}} = sched.launch @most(%x, %a, %w)
sched.kernel @own(%x: memref<128xf32>, %y: memref<128xf32>) {
  sched.axis %i = 128 {
    %v = memref.load %x[%i] : memref<128xf32>
    %n = arith.negf %v : f32
    memref.store %n, %y[%i] : memref<128xf32>
  }
}
sched.kernel @all(%x: memref<128xf32>, %a: memref<128xf32>, %y: memref<128xf32>) {
  sched.axis %i = 128 {
    %v = memref.load %x[%i] : memref<128xf32>
    %w = memref.load %a[%i] : memref<128xf32>
    %s = arith.addf %v, %w : f32
    memref.store %s, %y[%i] : memref<128xf32>
  }
}
sched.kernel @most(%x: memref<128xf32>, %a: memref<128xf32>, %y: memref<200xf32>) {
  %c0 = arith.constant 0 : index
  %cm99 = arith.constant -99 : index
  %c98 = arith.constant 98 : index
  %c99 = arith.constant 99 : index
  sched.axis %i = 200 {
    %is_in = arith.cmpi slt, %i, %c99 : index
    %in = arith.minsi %i, %c98 : index
    %rest = arith.addi %i, %cm99 : index
    %out = arith.maxsi %rest, %c0 : index
    %v = memref.load %x[%in] : memref<128xf32>
    %w = memref.load %a[%out] : memref<128xf32>
    %s = low.select %is_in, %v, %w : f32
    memref.store %s, %y[%i] : memref<200xf32>
  }
}
sched.program @whole(%x: memref<128xf32>) : (tensor<128xf32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<200xf32>) {
  %a = sched.buffer global temporary : memref<128xf32>
  %y = sched.buffer global result : memref<128xf32>
  %z = sched.buffer global result : memref<128xf32>
  %w = sched.buffer global result : memref<200xf32>
  %t = sched.collective all_reduce add on [2] axes = [0] channel = 1(%x) to(%a) after() : (tensor<128xf32>) -> tensor<128xf32>
  %t_1 = sched.await channel = 1(%x) to(%a) after() : (tensor<128xf32>) -> tensor<128xf32>
  %t_2 = sched.launch @own(%x, %z) after() : memref<128xf32>, memref<128xf32>
  %t_3 = sched.launch @all(%x, %a, %y) after() : memref<128xf32>, memref<128xf32>, memref<128xf32>
  %t_4 = sched.launch @most(%x, %a, %w) after() : memref<128xf32>, memref<128xf32>, memref<200xf32>
  sched.return %y, %z, %w after() : memref<128xf32>, memref<128xf32>, memref<200xf32>
}
