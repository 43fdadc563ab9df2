// A file of passes: they can be listed, named in pipelines, and watched.
// RUN: tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py --list-passes | filecheck %s --check-prefix=LIST
// RUN: tenon-opt %s --load-pass-plugin=%S/Inputs/faulty_passes.py -p mistake --mlir-print-ir-after=mistake 2>&1 | filecheck %s --check-prefix=RUNS
// RUN: tenon-opt %s -load-pass-plugin %S/Inputs/faulty_passes.py -p mistake | filecheck %s --check-prefix=ONE-DASH

// Without the flag they are not known.
// RUN: not tenon-opt %s -p mistake 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: tenon-opt %s --list-passes | filecheck %s --check-prefix=NOT-LISTED

// What fails in them is no bug of Tenon; the reproducer names them, and is run with
// them when the command line says so, from wherever they lie.
// RUN: not tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p cse,divide --mlir-pass-pipeline-crash-reproducer=%t 2>&1 | filecheck %s --check-prefix=DIVIDE
// RUN: filecheck %s --check-prefix=REPRODUCER < %t
// RUN: not tenon-opt %t --run-reproducer --load-pass-plugin %S/Inputs/faulty_passes.py 2>&1 | filecheck %s --check-prefix=DIVIDE
// RUN: not tenon-opt %t --run-reproducer 2>&1 | filecheck %s --check-prefix=UNTRUSTED
// RUN: not tenon-reduce %t 2>&1 | filecheck %s --check-prefix=UNTRUSTED
// RUN: not tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p mistake --verify-semantics --mlir-pass-pipeline-crash-reproducer=%t.semantics 2>&1 | filecheck %s --check-prefix=MISTAKE
// RUN: not tenon-opt %s --load-pass-plugin %S/Inputs/faulty_passes.py -p drop-return --mlir-pass-pipeline-crash-reproducer=%t.invalid 2>&1 | filecheck %s --check-prefix=INVALID

// What is no plugin is an error of the command line.
// RUN: not tenon-opt %s --load-pass-plugin %s.py 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not tenon-opt %s --load-pass-plugin 2>&1 | filecheck %s --check-prefix=NO-VALUE
// RUN: not tenon-opt %s --load-pass-plugin colorsys 2>&1 | filecheck %s --check-prefix=NO-PASS

// LIST:     dce - {{.*}}
// LIST:     divide - Divides by zero.
// LIST:     mistake - Takes neg for abs.
// LIST:     sched-pipeline - {{.*}}

// RUNS: // -----// IR Dump After MistakePass (mistake) //----- //
// RUNS: graph.abs
// ONE-DASH: graph.abs

// UNKNOWN: tenon-opt: error: pipeline: unknown pass 'mistake'
// NOT-LISTED-NOT: mistake

// DIVIDE:      tenon-opt: error outside of Tenon: ZeroDivisionError: {{.*}} in pass `divide` (faulty_passes.py:{{[0-9]+}}, in DividePass.apply)
// DIVIDE-NEXT: tenon-opt: to reproduce: tenon-opt {{.*}} --run-reproducer --debug --load-pass-plugin={{/.*}}/faulty_passes.py

// UNTRUSTED: error: the reproducer needs code of its own (hint: if you trust it, --load-pass-plugin={{/.*}}/faulty_passes.py)
// REPRODUCER:      pipeline: "builtin.module(cse,divide)",
// REPRODUCER-NEXT:       verify_each: true
// REPRODUCER-NEXT:     },
// REPRODUCER-NEXT:     tenon_reproducer: {
// REPRODUCER-NEXT:       load_pass_plugin: "/{{.*}}/Inputs/faulty_passes.py"
// REPRODUCER-NEXT:     }
// REPRODUCER-NEXT:   }
// REPRODUCER-NEXT: #-}

// MISTAKE: tenon-opt: error outside of Tenon: SemanticsError: pass `mistake`: changed what @negate computes: {{.*}} (registered by faulty_passes)

// INVALID: tenon-opt: error outside of Tenon: InvalidModuleError: pass `drop-return`: left an invalid module: {{.*}} (registered by faulty_passes)

// MISSING: tenon-opt: error: --load-pass-plugin: cannot import '{{.*}}load-pass-plugin.mlir.py' (no such file)
// NO-VALUE: tenon-opt: error: argument --load-pass-plugin: expected one argument
// NO-PASS: tenon-opt: error: --load-pass-plugin: 'colorsys' registers no pass (hint: tenon.register_pass)
func.func @negate(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = graph.neg %x : tensor<2xi32>
  func.return %y : tensor<2xi32>
}
