// RUN: not tenon-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: verify-diagnostics-fails.mlir:[[# @LINE + 3]]:{{[0-9]+}}: error: unexpected error: {{.*}}arith.nothing
// CHECK-NEXT: arith.nothing
func.func @unexpected() {
  arith.nothing
}

// -----

// CHECK: verify-diagnostics-fails.mlir:[[# @LINE + 1]]:1: error: expected error "no such error" was not produced
// expected-error@below {{no such error}}
func.func @missing() {
  func.return
}
