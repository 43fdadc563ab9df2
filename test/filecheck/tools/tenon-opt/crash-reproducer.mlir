// RUN: not tenon-opt %s -p 'cse,verify-stage{absent="arith.addi"}' --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=NOTE
// RUN: filecheck %s < %t
// RUN: not tenon-opt %t --run-reproducer 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not tenon-opt %s -p 'cse,verify-stage{absent="arith.addi"}' --mlir-pass-pipeline-crash-reproducer=%t.local --mlir-pass-pipeline-local-reproducer
// RUN: filecheck %s --check-prefix=LOCAL < %t.local
// RUN: tenon-opt %t | filecheck %s --check-prefix=MODULE

// NOTE: note: reproducer written to {{.*}}crash-reproducer.mlir

// CHECK:      %same = arith.constant 1 : i32
// CHECK:      {-#
// CHECK-NEXT:   external_resources: {
// CHECK-NEXT:     mlir_reproducer: {
// CHECK-NEXT:       pipeline: "builtin.module(cse,verify-stage{absent=\"arith.addi\"})",
// CHECK-NEXT:       verify_each: true
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: #-}

// AGAIN: error: verify-stage: {{.*}}arith.addi (1) [in pass `verify-stage`]

// LOCAL-NOT: %same
// LOCAL:     pipeline: "builtin.module(verify-stage{absent=\"arith.addi\"})",

// MODULE-NOT: mlir_reproducer
func.func @twice() -> i32 {
  %one = arith.constant 1 : i32
  %same = arith.constant 1 : i32
  %y = arith.addi %one, %same : i32
  func.return %y : i32
}
