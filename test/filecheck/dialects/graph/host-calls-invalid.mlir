// RUN: tenon-opt --split-input-file --verify-diagnostics %s

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.print: field {1} in '{0} {1}' is for none of the 1 values}}
  graph.print "{0} {1}"(%x) : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.print: field {} has no number in 'x = {}'}}
  graph.print "x = {}"(%x) : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.print: field {n} has no number in '{0:{n}}'}}
  graph.print "{0:{n}}"(%x) : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{graph.print: '{0' is no format (expected '}' before end of string)}}
  graph.print "{0"(%x) : tensor<4xf32>
  func.return
}

// -----

// An index is no array.
func.func @f(%x: index) -> index {
  // expected-error @below {{graph.callback: index is not a tensor}}
  %y = graph.callback @f(%x) : (index) -> index
  func.return %y : index
}
