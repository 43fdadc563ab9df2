// RUN: tenon-opt -p hoist-invariant-ops %s | filecheck %s

// What depends on no index leaves both loops, what depends on the outer one leaves the inner one.
// CHECK-LABEL: func.func @hoists
// CHECK-NEXT:    %a = arith.muli %m, %n : index
// CHECK-NEXT:    %b = arith.addi %a, %n : index
// CHECK-NEXT:    scf.for %i = %m to %n step %m {
// CHECK-NEXT:      %c = arith.addi %b, %i : index
// CHECK-NEXT:      scf.for %j = %m to %n step %m {
// CHECK-NEXT:        %d = arith.addi %c, %j : index
// CHECK-NEXT:        "test.op"(%d) : (index) -> ()
func.func @hoists(%m: index, %n: index) {
  scf.for %i = %m to %n step %m {
    scf.for %j = %m to %n step %m {
      %a = arith.muli %m, %n : index
      %b = arith.addi %a, %n : index
      %c = arith.addi %b, %i : index
      %d = arith.addi %c, %j : index
      "test.op"(%d) : (index) -> ()
    }
  }
  func.return
}

// Not what reads or writes memory, is carried, or may fault where the loop does not run.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    scf.for %i = %m to %n step %m iter_args(%s = %x) -> (f32) {
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      arith.divui
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      arith.addf
func.func @stays(%m: index, %n: index, %b: memref<8xf32>, %x: f32) {
  %r = scf.for %i = %m to %n step %m iter_args(%s = %x) -> (f32) {
    %v = memref.load %b[%m] : memref<8xf32>
    %q = arith.divui %n, %m : index
    memref.store %v, %b[%q] : memref<8xf32>
    %t = arith.addf %s, %s : f32
    scf.yield %t : f32
  }
  func.return
}

// An op with regions moves where nothing in it depends on the loop.
// CHECK-LABEL: func.func @regions
// CHECK-NEXT:    %a = scf.if %p -> (index) {
// CHECK:         scf.for %i
// CHECK-NEXT:      %b = scf.if %p -> (index) {
func.func @regions(%m: index, %n: index, %p: i1) {
  scf.for %i = %m to %n step %m {
    %a = scf.if %p -> (index) {
      %c = arith.addi %m, %n : index
      scf.yield %c : index
    } else {
      scf.yield %m : index
    }
    %b = scf.if %p -> (index) {
      %d = arith.addi %m, %i : index
      scf.yield %d : index
    } else {
      scf.yield %a : index
    }
    "test.op"(%b) : (index) -> ()
  }
  func.return
}
