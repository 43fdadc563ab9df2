// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | filecheck %s

// CHECK-LABEL: func.func @branch
func.func @branch(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
  // CHECK:      %y, %n = graph.if %c -> (tensor<4xf32>, tensor<i32>) {
  // CHECK-NEXT:   %e = graph.exp %x : tensor<4xf32>
  // CHECK-NEXT:   %one = graph.constant dense<1> : tensor<i32>
  // CHECK-NEXT:   graph.yield %e, %one : tensor<4xf32>, tensor<i32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   %two = graph.constant dense<2> : tensor<i32>
  // CHECK-NEXT:   graph.yield %x, %two : tensor<4xf32>, tensor<i32>
  // CHECK-NEXT: }
  %y, %n = graph.if %c -> (tensor<4xf32>, tensor<i32>) {
    %e = graph.exp %x : tensor<4xf32>
    %one = graph.constant dense<1> : tensor<i32>
    graph.yield %e, %one : tensor<4xf32>, tensor<i32>
  } else {
    %two = graph.constant dense<2> : tensor<i32>
    graph.yield %x, %two : tensor<4xf32>, tensor<i32>
  }
  func.return %y, %n : tensor<4xf32>, tensor<i32>
}

graph.tnode @w : tensor<4xf32>

// A branch without values, and one that is empty.
// CHECK-LABEL: func.func @effects
func.func @effects(%c: tensor<i1>, %x: tensor<4xf32>) {
  // CHECK:      graph.if %c -> () {
  // CHECK-NEXT:   graph.write @w, %x : tensor<4xf32>
  // CHECK-NEXT:   graph.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   graph.yield
  // CHECK-NEXT: }
  graph.if %c -> () {
    graph.write @w, %x : tensor<4xf32>
    graph.yield
  } else {
    graph.yield
  }
  func.return
}

// CHECK-LABEL: func.func @loop
func.func @loop(%n: tensor<i32>, %x: tensor<4xf32>, %one: tensor<i32>) -> (tensor<i32>, tensor<4xf32>) {
  // CHECK:      %i, %y = graph.while (%j = %n, %z = %x) : (tensor<i32>, tensor<4xf32>) attributes {k = 1 : i32} {
  // CHECK-NEXT:   %more = graph.lt %j, %n : tensor<i32>
  // CHECK-NEXT:   graph.condition %more
  // CHECK-NEXT: } do (%k, %u) {
  // CHECK-NEXT:   %next = graph.add %k, %one : tensor<i32>
  // CHECK-NEXT:   graph.yield %next, %u : tensor<i32>, tensor<4xf32>
  // CHECK-NEXT: }
  %i, %y = graph.while (%j = %n, %z = %x) : (tensor<i32>, tensor<4xf32>) attributes {k = 1 : i32} {
    %more = graph.lt %j, %n : tensor<i32>
    graph.condition %more
  } do (%k, %u) {
    %next = graph.add %k, %one : tensor<i32>
    graph.yield %next, %u : tensor<i32>, tensor<4xf32>
  }
  func.return %i, %y : tensor<i32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<10x8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<10x8xf32>) {
  // CHECK:      %sum, %sums = graph.scan %i = 10 (%s = %z) over (%row = %x) : (tensor<8xf32>, tensor<10x8xf32>) -> (tensor<8xf32>, tensor<10x8xf32>) {
  // CHECK-NEXT:   %next = graph.add %s, %row : tensor<8xf32>
  // CHECK-NEXT:   graph.yield %next, %next : tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: }
  %sum, %sums = graph.scan %i = 10 (%s = %z) over (%row = %x) : (tensor<8xf32>, tensor<10x8xf32>) -> (tensor<8xf32>, tensor<10x8xf32>) {
    %next = graph.add %s, %row : tensor<8xf32>
    graph.yield %next, %next : tensor<8xf32>, tensor<8xf32>
  }
  // CHECK:      %r = graph.scan %j = 3 reverse (%u = %z) : (tensor<8xf32>) -> (tensor<8xf32>) {
  // CHECK-NEXT:   graph.yield %u : tensor<8xf32>
  // CHECK-NEXT: }
  %r = graph.scan %j = 3 reverse (%u = %z) : (tensor<8xf32>) -> (tensor<8xf32>) {
    graph.yield %u : tensor<8xf32>
  }
  // CHECK:      %numbers = graph.scan %k = 0 () : () -> (tensor<0xi64>) {
  // CHECK-NEXT:   graph.yield %k : tensor<i64>
  // CHECK-NEXT: }
  %numbers = graph.scan %k = 0 () : () -> (tensor<0xi64>) {
    graph.yield %k : tensor<i64>
  }
  func.return %r, %sums : tensor<8xf32>, tensor<10x8xf32>
}

// CHECK-LABEL: func.func @markers
func.func @markers(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %d = graph.detach %x : tensor<4xf32>
  %d = graph.detach %x : tensor<4xf32>
  // CHECK: %m = graph.materialize %d : tensor<4xf32>
  %m = graph.materialize %d : tensor<4xf32>
  func.return %m : tensor<4xf32>
}
