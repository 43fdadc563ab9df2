// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// A condition of several elements.
func.func @f(%c: tensor<4xi1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{tensor<4xi1>}}
  %y = graph.if %c -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%c: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{graph.if: the condition is tensor<i32>, expected tensor<i1>}}
  %y = "graph.if"(%c) ({
    graph.yield %x : tensor<4xf32>
  }, {
    graph.yield %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{graph.if: the else branch yields another number of values (found 0, expected 1)}}
  %y = graph.if %c -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield
  }
  func.return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>, %z: tensor<5xf32>) {
  // expected-error @+1 {{graph.if: value 0 of the else branch is tensor<5xf32>, expected tensor<4xf32> (axis 0 is 5, not 4)}}
  %y = graph.if %c -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %z : tensor<5xf32>
  }
  func.return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{graph.while: the body ends in no graph.yield}}
  %y = graph.while (%z = %x) : (tensor<4xf32>) {
    graph.condition %c
  } do (%z) {
    graph.condition %c
  }
  func.return
}

// -----

func.func @f(%c: tensor<i1>) {
  // expected-error @+1 {{graph.if: the then branch takes arguments (found 1, expected 0)}}
  "graph.if"(%c) ({
  ^bb0(%x: tensor<4xf32>):
    graph.yield
  }, {
    graph.yield
  }) : (tensor<i1>) -> ()
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.yield: ends a region of func.func, expected one of graph}}
  graph.yield %x : tensor<4xf32>
}

// -----

func.func @f(%n: tensor<i32>, %x: tensor<4xf32>) {
  %y = graph.while (%z = %x) : (tensor<4xf32>) {
    // expected-error @+1 {{graph.condition: the condition is tensor<i32>, expected tensor<i1>}}
    "graph.condition"(%n) : (tensor<i32>) -> ()
  } do (%z) {
    graph.yield %z : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.while: the condition ends in no graph.condition}}
  %y = graph.while (%z = %x) : (tensor<4xf32>) {
    graph.yield
  } do (%z) {
    graph.yield %z : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{graph.while: the body yields another number of values (found 2, expected 1)}}
  %y = graph.while (%z = %x) : (tensor<4xf32>) {
    graph.condition %c
  } do (%z) {
    graph.yield %z, %z : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{graph.while: value 0 of the body is tensor<f32>, expected tensor<4xf32> (rank 0, not 1)}}
  %y = graph.while (%z = %x) : (tensor<4xf32>) {
    graph.condition %c
  } do (%z) {
    %s = graph.reduce add %z axes [0] : tensor<4xf32> -> tensor<f32>
    graph.yield %s : tensor<f32>
  }
  func.return
}

// -----

func.func @f(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{graph.while: argument 0 of the condition is tensor<5xf32>, expected tensor<4xf32> (axis 0 is 5, not 4)}}
  %y = "graph.while"(%x) ({
  ^bb0(%z: tensor<5xf32>):
    graph.condition %c
  }, {
  ^bb0(%z: tensor<4xf32>):
    graph.yield %z : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %y = graph.while (%z = %x) : (tensor<4xf32>) {
    graph.yield
  // expected-error @+1 {{1 carried values but 2 arguments}}
  } do (%z, %u) {
    graph.yield %z : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{1 values but 2 types}}
  %y = graph.while (%z = %x) : (tensor<4xf32>, tensor<4xf32>) {
    graph.yield
  } do (%z) {
    graph.yield %z : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.scan: input 0 is tensor<4x8xf32>, which has extent 4 along axis 0, expected 5}}
  graph.scan %i = 5 () over (%row = %x) : (tensor<4x8xf32>) -> () {
    graph.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{graph.scan: input 0 is tensor<f32>, which has no axis to go along}}
  graph.scan %i = 5 () over (%row = %x) : (tensor<f32>) -> () {
    graph.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.scan: -1 iterations (expected 0 or more)}}
  graph.scan %i = -1 () : () -> () {
    graph.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.scan: result 0 is tensor<6x4xf32>, expected tensor<5x4xf32> (axis 0 is 6, not 5)}}
  %y = graph.scan %i = 5 () : () -> (tensor<6x4xf32>) {
    graph.yield %x : tensor<4xf32>
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %z: tensor<5xf32>) {
  // expected-error @+1 {{graph.scan: value 0 of the body is tensor<5xf32>, expected tensor<4xf32> (axis 0 is 5, not 4)}}
  %y = graph.scan %i = 5 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    graph.yield %z : tensor<5xf32>
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.scan: fewer results than carried values (0, 1 are carried)}}
  graph.scan %i = 5 (%c = %x) : (tensor<4xf32>) -> () {
    graph.yield
  }
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.scan: the counter is tensor<i32>, expected tensor<i64>}}
  "graph.scan"() <{length = 5 : i64, operandSegmentSizes = array<i32: 0, 0>}> ({
  ^bb0(%i: tensor<i32>):
    graph.yield
  }) : () -> ()
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.scan: the body takes another number of values than the counter, 0 carried values and 1 slices (found 1, expected 2)}}
  "graph.scan"(%x) <{length = 4 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%i: tensor<i64>):
    graph.yield
  }) : (tensor<4x8xf32>) -> ()
  func.return
}
