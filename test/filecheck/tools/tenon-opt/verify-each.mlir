// RUN: tenon-opt %s -p cse --verify-each --mlir-timing 2>&1 | filecheck %s
// RUN: tenon-opt %s -p cse --verify-each=0 | filecheck %s
// RUN: tenon-opt %s -p cse --verify-each=false | filecheck %s
// RUN: tenon-opt %s -p cse --disable-verify | filecheck %s

// CHECK: func.func @f
func.func @f() {
  func.return
}
