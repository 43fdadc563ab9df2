// RUN: rm -rf %t
// RUN: tenon-opt %s -p 'cse,canonicalize' --mlir-print-ir-tree-dir=%t
// RUN: filecheck %s --check-prefix=INPUT < %t/00-input.mlir
// RUN: filecheck %s --check-prefix=CSE < %t/01-cse.mlir
// RUN: filecheck %s --check-prefix=CANONICAL < %t/02-canonicalize.mlir

// INPUT-COUNT-2: arith.constant 1 : i32

// CSE:     arith.constant 1 : i32
// CSE-NOT: arith.constant 1 : i32

// CANONICAL: arith.constant 2 : i32
func.func @twice() -> i32 {
  %one = arith.constant 1 : i32
  %same = arith.constant 1 : i32
  %y = arith.addi %one, %same : i32
  func.return %y : i32
}
