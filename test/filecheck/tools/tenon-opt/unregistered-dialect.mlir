// RUN: tenon-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: not tenon-opt %s 2>&1 | filecheck %s --check-prefix=REFUSED

// CHECK: %x = "other.op"() : () -> i32
// REFUSED: unregistered-dialect.mlir:[[# @LINE + 1]]:{{[0-9]+}}: error: {{.*}}other.op
%x = "other.op"() : () -> i32
