// RUN: tenon-opt %s --split-input-file --verify-diagnostics=print --parsing-diagnostics -p 'verify-stage{absent=scf}' | filecheck %s
// RUN: not tenon-opt %s --split-input-file --verify-diagnostics=print -p 'verify-stage{absent=scf}' 2>&1 | filecheck %s --check-prefix PARSER
// RUN: not tenon-opt %s --split-input-file --parsing-diagnostics -p 'verify-stage{absent=scf}' 2>&1 | filecheck %s --check-prefix VERIFIER

// What xdsl-opt prints of errors where it is told to: of the parser, of a verifier, of a pass.

// CHECK:         printed-diagnostics.mlir:[[# @LINE + 4]]
// CHECK:         unknown op arith.nothing
// PARSER:        printed-diagnostics.mlir:[[# @LINE + 2]]:{{[0-9]+}}: error: unknown op arith.nothing
func.func @parse() {
  arith.nothing
}

// -----

// CHECK:         // -----
// CHECK:         Operation does not verify: {{.*}}same types as the function output types
// VERIFIER:      printed-diagnostics.mlir:[[# @LINE + 2]]:{{[0-9]+}}: error: func.return:
func.func @verify(%x: f32) -> i32 {
  func.return %x : f32
}

// -----

// CHECK:         // -----
// CHECK:         ops remain that this stage must not have: scf.for (1), scf.yield (1)
// VERIFIER:      error: verify-stage: ops remain that this stage must not have: scf.for (1), scf.yield (1)
func.func @refused(%n: index) {
  scf.for %i = %n to %n step %n {
    scf.yield
  }
  func.return
}

// -----

// CHECK:         // -----
// CHECK:         func.func @fine
func.func @fine() {
  func.return
}
