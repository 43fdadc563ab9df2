// The first wrong element is told with the ops that it comes from, at every level.
// RUN: not tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p mistake --verify-semantics --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=GRAPH
// RUN: not tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p sched-pipeline,swap-subtraction --verify-semantics --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=SCHED
// RUN: not tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p sched-pipeline,low-pipeline,swap-subtraction --verify-semantics --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=LOW

// A pass after which the module does not run any more is named, and leaves a reproducer.
// RUN: not tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p sched-pipeline,low-pipeline,move-indices,cse --verify-each=false --verify-semantics=2 --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=MOVED
// RUN: not tenon-opt %t --run-reproducer --load-pass-plugin %S/Inputs/faulty_passes.py --verify-semantics=2 2>&1 | filecheck %s --check-prefix=MOVED

// Passes that change nothing are not named.
// RUN: tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p sched-pipeline,mistake,drop-signs,move-indices --verify-semantics -o /dev/null

// GRAPH:      SemanticsError: pass `mistake`: changed what @difference computes: output 0 at [0] was {{.*}}, is now {{.*}} (inputs from seed 0)
// GRAPH-NEXT: note: %w = graph.sub at {{.*}}verify-semantics-fails.mlir:[[# @LINE + 17]]:8 of %z = {{[-.0-9]+}}, %y = {{[.0-9]+}}
// GRAPH-NEXT: note: %y = graph.abs of %x = {{[.0-9]+}}
// GRAPH-NEXT: to reproduce: tenon-opt {{.*}} --verify-semantics=1

// SCHED:      SemanticsError: pass `swap-subtraction`: changed what @difference computes
// SCHED-NEXT: note: memref.store at {{.*}} of %w = {{[-.0-9]+}}, %i = 0
// SCHED-NEXT: note: %w = arith.subf at {{.*}}:[[# @LINE + 11]]:8 of %y = -{{[.0-9]+}}, %z = {{[-.0-9]+}}
// SCHED-NEXT: note: %y = arith.negf at {{.*}}:[[# @LINE + 9]]:8 of %x = {{[.0-9]+}}

// LOW:      SemanticsError: pass `swap-subtraction`: changed what @difference computes
// LOW-NEXT: note: vector.store at {{.*}} of %w = {{[-.0-9]+}}, %c0 = 0
// LOW-NEXT: note: %w = arith.subf at {{.*}}:[[# @LINE + 6]]:8 of %y = -{{[.0-9]+}}, %z = {{[-.0-9]+}}

// MOVED:      error outside of Tenon: SemanticsError: pass `move-indices`: @difference does not run any more: vector.load at {{.*}} out of bounds of 4 elements (inputs from seed 0) (registered by faulty_passes)
// MOVED-NEXT: to reproduce: tenon-opt {{.*}} --run-reproducer --debug --load-pass-plugin={{.*}}faulty_passes.py --verify-semantics=2
func.func @difference(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.neg %x : tensor<4xf32>
  %w = graph.sub %z, %y : tensor<4xf32>
  func.return %w : tensor<4xf32>
}
