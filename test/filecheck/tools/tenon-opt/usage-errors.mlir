// RUN: not tenon-opt %s -p csee 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not tenon-opt %s -p 'canonicalize-graph{rounds=1}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not tenon-opt %s -p 'sched-pipeline{vector-nbytes=wide}' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not tenon-opt %s -t opencl 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not tenon-opt %s.missing 2>&1 | filecheck %s --check-prefix=FILE

// PASS: usage: tenon-opt
// PASS: tenon-opt: error: pipeline: unknown pass 'csee', did you mean 'cse'?

// OPTION: tenon-opt: error: canonicalize-graph: unknown option 'rounds'

// VALUE: tenon-opt: error: sched-pipeline: option 'vector-nbytes' takes int, found wide

// TARGET: error: argument -t/--emit: unknown form 'opencl', did you mean 'opencl-c'?

// FILE: tenon-opt: error: no such file: {{.*}}usage-errors.mlir.missing
func.func @f() {
  func.return
}
