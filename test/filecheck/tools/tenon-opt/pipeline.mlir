// RUN: tenon-opt %s -p 'cse,dce' | filecheck %s
// RUN: tenon-opt -p cse -o %t %s && filecheck %s < %t
// RUN: tenon-opt --passes=cse %s | filecheck %s
// RUN: tenon-opt --pass-pipeline='builtin.module(cse, dce)' %s | filecheck %s
// RUN: tenon-opt -pass-pipeline='builtin.module(cse)' %s | filecheck %s
// RUN: tenon-opt - -p cse < %s | filecheck %s
// RUN: tenon-opt -p cse < %s | filecheck %s

// CHECK:      func.func @twice() -> i32 {
// CHECK-NEXT:   %one = arith.constant 1 : i32
// CHECK-NEXT:   %y = arith.addi %one, %one : i32
// CHECK-NEXT:   func.return %y : i32
func.func @twice() -> i32 {
  %one = arith.constant 1 : i32
  %same = arith.constant 1 : i32
  %y = arith.addi %one, %same : i32
  func.return %y : i32
}
