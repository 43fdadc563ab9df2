// RUN: tenon-opt %s -p canonicalize-graph | filecheck %s

// CHECK-LABEL: func.func @if_of_constant(%x: tensor<4xf32>, %y: tensor<4xf32>)
// CHECK-NEXT:    %a = graph.exp %x : tensor<4xf32>
// CHECK-NEXT:    func.return %a, %y : tensor<4xf32>, tensor<4xf32>
func.func @if_of_constant(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %true = graph.constant dense<true> : tensor<i1>
  %false = graph.constant dense<false> : tensor<i1>
  %r = graph.if %true -> (tensor<4xf32>) {
    %a = graph.exp %x : tensor<4xf32>
    graph.yield %a : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  %s = graph.if %false -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %y : tensor<4xf32>
  }
  func.return %r, %s : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @without_iterations(%x: tensor<4xf32>)
// CHECK-NEXT:    %{{.*}} = graph.constant dense<> : tensor<0x4xf32>
// CHECK-NEXT:    func.return %x, %x, %{{.*}} : tensor<4xf32>, tensor<4xf32>, tensor<0x4xf32>
func.func @without_iterations(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<0x4xf32>) {
  %r, %s = graph.scan %i = 0 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
    %d = graph.add %c, %c : tensor<4xf32>
    graph.yield %d, %c : tensor<4xf32>, tensor<4xf32>
  }
  %w = graph.while (%c = %x) : (tensor<4xf32>) {
    %never = graph.constant dense<false> : tensor<i1>
    graph.condition %never
  } do (%c) {
    %d = graph.add %c, %c : tensor<4xf32>
    graph.yield %d : tensor<4xf32>
  }
  func.return %r, %w, %s : tensor<4xf32>, tensor<4xf32>, tensor<0x4xf32>
}

// A dead result, a dead cycle of carried values, a dead stack and a dead input.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT:    %r = graph.if %c -> (tensor<4xf32>) {
// CHECK-NEXT:      graph.yield %x : tensor<4xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      graph.yield %y : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %s = graph.scan %i = 3 (%d = %r) : (tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT:      %m = graph.mul %d, %d : tensor<4xf32>
// CHECK-NEXT:      graph.yield %m : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s : tensor<4xf32>
func.func @unused(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<3xf32>) -> tensor<4xf32> {
  %r, %n = graph.if %c -> (tensor<4xf32>, tensor<4xf32>) {
    %e = graph.exp %x : tensor<4xf32>
    graph.yield %x, %e : tensor<4xf32>, tensor<4xf32>
  } else {
    graph.yield %y, %x : tensor<4xf32>, tensor<4xf32>
  }
  %s, %u, %v, %k = graph.scan %i = 3 (%d = %r, %a = %x, %b = %y) over (%f = %z)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3xf32>) {
    %m = graph.mul %d, %d : tensor<4xf32>
    %o = graph.add %a, %b : tensor<4xf32>
    graph.yield %m, %o, %a, %f : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
  }
  func.return %s : tensor<4xf32>
}

// What the loop does not change is what it began with.
// CHECK-LABEL: func.func @unchanged
// CHECK-NEXT:    %s = graph.while (%d = %x) : (tensor<4xf32>) {
// CHECK-NEXT:      graph.condition %c
// CHECK-NEXT:    } do (%d_1) {
// CHECK-NEXT:      %m = graph.mul %d_1, %y : tensor<4xf32>
// CHECK-NEXT:      graph.yield %m : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %s, %y : tensor<4xf32>, tensor<4xf32>
func.func @unchanged(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s, %t, %p = graph.while (%d = %x, %e = %y, %q = %c) : (tensor<4xf32>, tensor<4xf32>, tensor<i1>) {
    graph.condition %q
  } do (%d, %e, %q) {
    %m = graph.mul %d, %e : tensor<4xf32>
    graph.yield %m, %e, %q : tensor<4xf32>, tensor<4xf32>, tensor<i1>
  }
  func.return %s, %t : tensor<4xf32>, tensor<4xf32>
}

graph.tnode @w : tensor<4xf32>

// What is written to a node is needed.
// CHECK-LABEL: func.func @effects
// CHECK-NEXT:    graph.scan %i = 3 (%d = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
// CHECK-NEXT:      %m = graph.mul %d, %d : tensor<4xf32>
// CHECK-NEXT:      graph.write @w, %m : tensor<4xf32>
func.func @effects(%x: tensor<4xf32>) {
  %s = graph.scan %i = 3 (%d = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %m = graph.mul %d, %d : tensor<4xf32>
    graph.write @w, %m : tensor<4xf32>
    graph.yield %m : tensor<4xf32>
  }
  func.return
}
