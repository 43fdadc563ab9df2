// Two rules fire without counters, and with those that let all through.
// RUN: tenon-opt %s -p canonicalize-graph | filecheck %s --check-prefix=ALL
// RUN: tenon-opt %s -p canonicalize-graph --mlir-debug-counter=apply-pattern-skip=-1,apply-pattern-count=0 | filecheck %s --check-prefix=ALL
// RUN: tenon-opt %s -p canonicalize-graph --mlir-debug-counter=apply-pattern-skip=0 | filecheck %s --check-prefix=ALL

// None fires where no rule is tried, and the one that was found by bisection where all up to it are.
// RUN: tenon-opt %s -p canonicalize-graph -mlir-debug-counter=apply-pattern-count=0 | filecheck %s --check-prefix=NONE
// RUN: tenon-opt %s -p canonicalize-graph -mlir-debug-counter=apply-pattern-count=1000000 -mlir-print-debug-counter 2>&1 >%t | filecheck %s --check-prefix=COUNTS

// A pass that is not executed changes nothing.
// RUN: tenon-opt %s -p cse,canonicalize-graph -mlir-debug-counter=pass-execution-count=1 --mlir-print-debug-counter 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: tenon-opt %s -p canonicalize-graph,cse -mlir-debug-counter=pass-execution-skip=1 | filecheck %s --check-prefix=NONE

// Without a counter there is nothing to print.
// RUN: tenon-opt %s -p canonicalize-graph --mlir-print-debug-counter 2>&1 >%t | filecheck %s --check-prefix=EMPTY

// RUN: not tenon-opt %s --mlir-debug-counter=apply-patterns-skip=1 2>&1 | filecheck %s --check-prefix=TAG
// RUN: not tenon-opt %s --mlir-debug-counter=apply-pattern-skip 2>&1 | filecheck %s --check-prefix=VALUE

// ALL-NOT: graph.neg
// ALL:     func.return %x, %x

// NONE-COUNT-4: graph.neg

// COUNTS:      DebugCounter counters:
// COUNTS-NEXT: apply-pattern                   : {{[{]}}{{[0-9]+}},0,1000000}
// COUNTS-NEXT:   last: {{[A-Z][A-Za-z]+}} on graph.neg at {{.*}}debug-counter.mlir:{{[0-9]+}}:

// PASSES-COUNT-4: graph.neg
// PASSES:         DebugCounter counters:
// PASSES-NEXT:    pass-execution                  : {2,0,1}
// PASSES-NEXT:      last: cse

// EMPTY:      DebugCounter counters:
// EMPTY-NOT:  {{.}}

// TAG: error: argument --mlir-debug-counter: debug counter: 'apply-patterns-skip' is not one of apply-pattern-skip, apply-pattern-count, pass-execution-skip, pass-execution-count
// VALUE: error: argument --mlir-debug-counter: debug counter: expected tag-skip=N or tag-count=N, found 'apply-pattern-skip'
func.func @negated(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.neg %x : tensor<4xf32>
  %b = graph.neg %a : tensor<4xf32>
  %c = graph.neg %b : tensor<4xf32>
  %d = graph.neg %c : tensor<4xf32>
  func.return %b, %d : tensor<4xf32>, tensor<4xf32>
}
