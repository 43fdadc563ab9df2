// RUN: tenon-opt --list-passes | filecheck %s --check-prefix=PASSES
// RUN: tenon-opt --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: tenon-opt --version | filecheck %s --check-prefix=VERSION
// RUN: tenon-opt --help | filecheck %s --check-prefix=HELP
// RUN: tenon-opt %s --dump-pass-pipeline -p 'cse,verify-stage' 2>&1 >%t | filecheck %s --check-prefix=PIPELINE

// PASSES:     analyze-schedule - {{.*}}.
// PASSES:     canonicalize-graph - {{.*}}.
// PASSES:     cse - Merges ops that compute the same value.
// PASSES:     verify-stage - Fails if an op remains that this stage must not have.
// PASSES:     sched-pipeline - {{.*}}.

// DIALECTS: Available Dialects: {{.*}}graph, {{.*}}low, {{.*}}sched

// VERSION: tenon {{[0-9.]+}} (xdsl 0.74.0)

// HELP: usage: tenon-opt [file] [-p passes]
// HELP: --verify-diagnostics has mlir-opt's meaning: it compares the errors

// PIPELINE:      Pass Manager with 2 passes:
// PIPELINE-NEXT: builtin.module(cse,verify-stage{absent allowed})
func.func @f() {
  func.return
}
