// A reproducer is written though nothing fails, and runs.
// RUN: tenon-opt %s -p 'cse,dce' --mlir-generate-reproducer=%t --verify-each=false | filecheck %s --check-prefix=RESULT
// RUN: filecheck %s < %t
// RUN: tenon-opt %t --run-reproducer | filecheck %s --check-prefix=RESULT

// One of a reproducer is the same again, and so is one of a run that fails.
// RUN: tenon-opt %t --run-reproducer --mlir-generate-reproducer=%t.again | filecheck %s --check-prefix=RESULT
// RUN: diff %t %t.again
// RUN: not tenon-opt %s -p 'verify-stage{absent=arith}' --mlir-generate-reproducer=%t.failing
// RUN: not tenon-opt %t.failing --run-reproducer 2>&1 | filecheck %s --check-prefix=FAILS

// Without passes it holds an empty pipeline.
// RUN: tenon-opt %s --mlir-generate-reproducer=%t.empty
// RUN: filecheck %s --check-prefix=EMPTY < %t.empty

// RESULT-COUNT-1: arith.constant
// RESULT-NOT:     arith.constant

// CHECK:      %same = arith.constant 1 : i32
// CHECK:      mlir_reproducer: {
// CHECK-NEXT:   pipeline: "builtin.module(cse,dce)",
// CHECK-NEXT:   verify_each: false
// CHECK-NEXT: }

// FAILS: error: verify-stage: {{.*}}arith.addi (1)

// EMPTY: pipeline: "builtin.module()",
func.func @twice() -> i32 {
  %one = arith.constant 1 : i32
  %same = arith.constant 1 : i32
  %y = arith.addi %one, %same : i32
  func.return %y : i32
}
