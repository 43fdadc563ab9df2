// A module of functions that a program calls back: it is run with them, compared, verified pass by pass, and reduced.
// RUN: tenon-run %s --load-callbacks %S/Inputs/reversing.py --compare | filecheck %s
// RUN: tenon-run %s --load-callbacks %S/Inputs/reversing.py --backend opencl | filecheck %s --check-prefix=RESULT
// RUN: tenon-opt %s -p sched-pipeline,low-pipeline --load-callbacks %S/Inputs/reversing.py --verify-semantics | filecheck %s --check-prefix=OPT
// RUN: not tenon-reduce %s --load-callbacks %S/Inputs/reversing.py 2>&1 | filecheck %s --check-prefix=REDUCE

// Without it, and where it lacks the function, it is said what is missing.
// RUN: not tenon-run %s 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tenon-opt %s -p cse --verify-semantics 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tenon-run %s --load-callbacks colorsys 2>&1 | filecheck %s --check-prefix=OTHERS
// RUN: not tenon-run %s --load-callbacks this.is.none 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not tenon-run %s --load-callbacks __future__ 2>&1 | filecheck %s --check-prefix=EMPTY

// CHECK:      result0: float32[3], 2.0 to 6.0
// CHECK-NEXT: [6. 4. 2.]
// CHECK-NEXT: result0: llvm and reference: same bits

// RESULT: [6. 4. 2.]

// OPT: sched.callback @reversed_row

// REDUCE: tenon-reduce: error: nothing is wrong with {{.*}}load-callbacks.mlir

// NONE: no function is given for @reversed_row (none are given; hint: callbacks={'reversed_row': function})
// OTHERS: no function is given for @reversed_row (given are @{{.*}}; hint: callbacks={'reversed_row': function})
// MISSING: error: --load-callbacks: cannot import 'this.is.none' (
// EMPTY: error: --load-callbacks: '__future__' defines no function
func.func @reverse() -> tensor<3xf32> {
  %x = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y = graph.callback @reversed_row(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %z = graph.add %y, %y : tensor<3xf32>
  func.return %z : tensor<3xf32>
}
