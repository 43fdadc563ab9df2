// RUN: tenon-opt %s --split-input-file | filecheck %s

// CHECK:      func.func @f
// CHECK:      // -----
// CHECK-NEXT: builtin.module {
// CHECK-NEXT:   func.func @f
func.func @f() {
  func.return
}

// -----

func.func @f() {
  func.return
}
