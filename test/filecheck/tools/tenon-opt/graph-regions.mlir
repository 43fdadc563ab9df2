// RUN: tenon-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect | filecheck %s

// In a module, and in the regions of an op that nobody knows, ops stand in no order.
// CHECK:      %a = arith.addi %b, %b : i32
// CHECK-NEXT: %b = arith.constant 1 : i32
%a = arith.addi %b, %b : i32
%b = arith.constant 1 : i32

// CHECK:        %c = arith.addi %d, %a : i32
// CHECK-NEXT:   %d = arith.constant 2 : i32
"other.op"() ({
  %c = arith.addi %d, %a : i32
  %d = arith.constant 2 : i32
}) : () -> ()

// -----

// In a function they do, and in what stands in it.
func.func @f(%n: index, %n_1: i32) {
  // expected-error-re@below {{arith.addi: operand {{[0-9]}} is used before it is defined (%b)}}
  %a = arith.addi %n_1, %b : i32
  %b = arith.constant 1 : i32
  scf.for %i = %n to %n step %n {
    // expected-error@below {{arith.addi: operand 1 is used before it is defined (%d)}}
    %e = arith.addi %b, %d : i32
    %d = arith.constant 1 : i32
    scf.yield
  }
  func.return
}

// -----

// So they do in several blocks, whoever they belong to: what comes in another block is not looked at.
"other.op"() ({
  %a = arith.constant 1 : i32
  "other.br"()[^two] : () -> ()
^two:
  %b = arith.addi %a, %a : i32
  "other.end"() : () -> ()
}) : () -> ()
