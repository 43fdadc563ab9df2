// RUN: tenon-opt %s -p 'cse,dce' --mlir-print-ir-before=cse,dce 2>&1 >%t | filecheck %s --check-prefix=BEFORE
// RUN: tenon-opt %s -p 'cse,dce' --mlir-print-ir-before-all 2>&1 >%t | filecheck %s --check-prefix=BEFORE
// RUN: tenon-opt %s -p 'cse,dce' --mlir-print-ir-after=dce 2>&1 >%t | filecheck %s --check-prefix=AFTER-DCE
// RUN: tenon-opt %s -p 'cse,dce' --mlir-print-ir-after-all 2>&1 >%t | filecheck %s --check-prefix=AFTER-ALL
// RUN: tenon-opt %s -p 'cse,dce' --print-between-passes 2>&1 >%t | filecheck %s --check-prefix=AFTER-ALL
// RUN: tenon-opt %s -p 'cse,dce' --mlir-print-ir-after-change 2>&1 >%t | filecheck %s --check-prefix=CHANGE
// RUN: tenon-opt %s -p 'cse,dce' --mlir-print-ir-after=dce --mlir-print-ir-after-change 2>&1 >%t | filecheck %s --check-prefix=NOTHING --allow-empty
// RUN: tenon-opt %s -p cse --mlir-print-ir-after-all --mlir-print-op-generic 2>&1 >%t | filecheck %s --check-prefix=GENERIC
// RUN: not tenon-opt %s -p 'cse,verify-stage{absent=arith}' --mlir-print-ir-after-failure 2>&1 >%t | filecheck %s --check-prefix=FAILURE

// mlir-opt's ways to print more or to print otherwise are how it is printed here.
// RUN: tenon-opt %s -p 'cse,dce' -mlir-print-ir-after-all -mlir-print-ir-module-scope -mlir-disable-threading 2>&1 >%t | filecheck %s --check-prefix=AFTER-ALL
// RUN: tenon-opt %s -mlir-print-local-scope | filecheck %s --check-prefix=LOCAL

// The result goes to standard output alone.
// RUN: tenon-opt %s -p 'cse,dce' --mlir-print-ir-after-all 2>%t | filecheck %s --check-prefix=RESULT

// BEFORE:      // -----// IR Dump Before CommonSubexpressionElimination (cse) //----- //
// BEFORE-NEXT: builtin.module {
// BEFORE:      %same = arith.constant 1 : i32
// BEFORE:      // -----// IR Dump Before DeadCodeElimination (dce) //----- //
// BEFORE-NOT:  %same

// AFTER-DCE-NOT: (cse)
// AFTER-DCE:     // -----// IR Dump After DeadCodeElimination (dce) //----- //

// AFTER-ALL:      // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// AFTER-ALL-NEXT: builtin.module {
// AFTER-ALL:      // -----// IR Dump After DeadCodeElimination (dce) //----- //

// CHANGE:     // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// CHANGE-NOT: (dce)

// NOTHING-NOT: IR Dump

// GENERIC:      // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// GENERIC-NEXT: "builtin.module"() ({

// FAILURE-NOT:  (cse)
// FAILURE:      // -----// IR Dump After VerifyStagePass Failed (verify-stage) //----- //
// FAILURE:      error: verify-stage: {{.*}} [in pass `verify-stage`]

// LOCAL-NOT: #twice
// LOCAL:     func.func @twice() -> i32 attributes {map = affine_map<(d0) -> ((d0 * 2))>}

// RESULT-NOT: IR Dump
// RESULT:     builtin.module {
#twice = affine_map<(d0) -> (d0 * 2)>
func.func @twice() -> i32 attributes {map = #twice} {
  %one = arith.constant 1 : i32
  %same = arith.constant 1 : i32
  %y = arith.addi %one, %same : i32
  func.return %y : i32
}
