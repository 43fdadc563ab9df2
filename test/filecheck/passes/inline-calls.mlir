// RUN: tenon-opt %s -p inline-calls --split-input-file --verify-diagnostics | filecheck %s

// A call in a region, of a function that calls another one; private functions go.
// CHECK-NOT:   @double
// CHECK-LABEL: func.func @twice(%x: tensor<4xf32>)
// CHECK-NEXT:    %y = graph.add %x, %x : tensor<4xf32>
// CHECK-NEXT:    %y_1 = graph.add %y, %y : tensor<4xf32>
// CHECK-NEXT:    func.return %y_1, %x : tensor<4xf32>, tensor<4xf32>
// CHECK-LABEL: func.func @f(%c: tensor<i1>, %a: tensor<4xf32>)
// CHECK-NEXT:    %b = graph.if %c -> (tensor<4xf32>) {
// CHECK-NEXT:      %y = graph.add %a, %a : tensor<4xf32>
// CHECK-NEXT:      %y_1 = graph.add %y, %y : tensor<4xf32>
// CHECK-NEXT:      %s = graph.mul %y_1, %a : tensor<4xf32>
// CHECK-NEXT:      graph.yield %s : tensor<4xf32>
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = func.call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @double(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z, %x : tensor<4xf32>, tensor<4xf32>
}
func.func @f(%c: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %b = graph.if %c -> (tensor<4xf32>) {
    %r, %q = func.call @twice(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %s = graph.mul %r, %q : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  } else {
    graph.yield %a : tensor<4xf32>
  }
  func.return %b : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{func.call: '@g' could not be found in symbol table}}
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{func.call: @g has no body}}
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{func.call: @f calls itself (@f -> @g -> @f)}}
  %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @f(%x: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{func.call: operand type mismatch: expected operand type tensor<4xf32>, but provided tensor<5xf32>}}
  %y = func.call @g(%x) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %y : tensor<5xf32>
}
