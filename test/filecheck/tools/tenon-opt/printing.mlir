// RUN: tenon-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tenon-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | filecheck %s --check-prefix=CUSTOM
// RUN: tenon-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=DEBUG

// GENERIC: "func.return"() : () -> ()
// CUSTOM: func.return{{$}}
// DEBUG: func.return loc("{{.*}}printing.mlir":[[# @LINE + 2]]:3)
func.func @f() {
  func.return
}
