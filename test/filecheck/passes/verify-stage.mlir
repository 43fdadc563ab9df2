// RUN: tenon-opt -p 'verify-stage{absent="graph","func.call" allowed="graph.tnode"}' --split-input-file --verify-diagnostics %s | filecheck %s

// An op that may remain passes, whatever else its dialect has.
// CHECK-LABEL: @allowed
func.func @allowed(%x: f32) -> f32 {
  // CHECK: arith.addf
  %y = arith.addf %x, %x : f32
  func.return %y : f32
}

// -----

// Offenders are counted, by name.
// expected-error @below {{verify-stage: ops remain that this stage must not have: graph.exp (1), graph.neg (2)}}
builtin.module {
  func.func @left(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = graph.neg %x : tensor<4xf32>
    %b = graph.neg %a : tensor<4xf32>
    %c = graph.exp %b : tensor<4xf32>
    func.return %c : tensor<4xf32>
  }
}

// -----

// A name of an op matches that op only.
// CHECK-LABEL: @empty
func.func @empty() {
  func.return
}

// -----

// Of a dialect that is absent, what is allowed may stay.
// CHECK-LABEL: graph.tnode @w
graph.tnode @w : tensor<4xf32>
