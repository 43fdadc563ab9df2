// RUN: tenon-opt %s -p 'cse,dce' --mlir-pass-statistics 2>&1 >%t | filecheck %s

// CHECK:      ... Pass statistics report ...
// CHECK:      cse
// CHECK-NEXT:   (S)     5 ops - 6 before
// CHECK-NEXT:   (S)    -1 arith.constant
// CHECK-NEXT: dce
// CHECK-NEXT:   (S)     5 ops - 5 before
func.func @twice() -> i32 {
  %one = arith.constant 1 : i32
  %same = arith.constant 1 : i32
  %y = arith.addi %one, %same : i32
  func.return %y : i32
}
