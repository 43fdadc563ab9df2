// The seventh time that a rule is tried is when the wrong one fires: so it is found by bisection.
// RUN: tenon-opt %s --load-pass-plugin=%S/Inputs/faulty_passes.py -p drop-signs --verify-semantics --mlir-debug-counter=apply-pattern-count=6 | filecheck %s
// RUN: not tenon-opt %s --load-pass-plugin=%S/Inputs/faulty_passes.py -p drop-signs --verify-semantics --mlir-debug-counter=apply-pattern-count=7 --mlir-print-debug-counter --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK:      %c = graph.abs %x : tensor<4xf32>
// CHECK-NEXT: %d = graph.neg %c : tensor<4xf32>

// WRONG:      DebugCounter counters:
// WRONG-NEXT: apply-pattern                   : {{[{]}}{{[0-9]+}},0,7}
// WRONG-NEXT:   last: ForgetSign on graph.abs at {{.*}}bisect-rules.mlir:[[# @LINE + 6]]:8
// WRONG-NEXT: error outside of Tenon: SemanticsError: pass `drop-signs`
// WRONG:      --run-reproducer --debug --load-pass-plugin={{.*}}faulty_passes.py --verify-semantics=1 --mlir-debug-counter=apply-pattern-count=7
func.func @signs(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.neg %x : tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32>
  %c = graph.abs %b : tensor<4xf32>
  %d = graph.neg %c : tensor<4xf32>
  func.return %d : tensor<4xf32>
}
