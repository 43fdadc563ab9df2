// RUN: tenon-opt -p simplify-low %s | filecheck %s

// Integer constants fold and wrap; neutral elements vanish; powers of two become shifts.
// CHECK-LABEL: func.func @integers
func.func @integers(%i: index, %n: i8) -> (index, index, index, i8, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %big = arith.constant 127 : i8
  %one = arith.constant 1 : i8
  // CHECK-NOT:  arith.muli
  %a = arith.addi %i, %c0 : index
  %b = arith.muli %c1, %a : index
  // CHECK:      %q = arith.shrui %i, %{{.*}} : index
  %q = arith.divui %b, %c8 : index
  // CHECK:      %r = arith.andi %i, %{{.*}} : index
  %r = arith.remui %b, %c8 : index
  // CHECK:      arith.constant -128 : i8
  %w = arith.addi %big, %one : i8
  %z = arith.muli %i, %c0 : index
  func.return %b, %q, %r, %w, %z : index, index, index, i8, index
}

// Comparisons of constants are decided, and what is known of a bit vanishes; -1 is the greatest unsigned number.
// CHECK-LABEL: func.func @comparisons
// CHECK-DAG:   %[[NO:.*]] = arith.constant false
// CHECK-DAG:   %[[YES:.*]] = arith.constant true
// CHECK:       %unknown = arith.cmpi slt, %i, %{{.*}} : index
// CHECK-NEXT:  func.return %[[NO]], %[[YES]], %b, %[[NO]], %b, %[[YES]], %b, %{{c0.*}}, %y, %unknown
func.func @comparisons(%i: index, %b: i1, %x: f32, %y: f32)
    -> (i1, i1, i1, i1, i1, i1, i1, i1, f32, i1) {
  %cm1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %signed = arith.cmpi sge, %cm1, %c0 : index
  %unsigned = arith.cmpi uge, %cm1, %c0 : index
  %and = arith.andi %b, %unsigned : i1
  %and_not = arith.andi %signed, %b : i1
  %or = arith.ori %b, %signed : i1
  %or_yes = arith.ori %b, %unsigned : i1
  %xor = arith.xori %signed, %b : i1
  %bits = arith.cmpi slt, %signed, %unsigned : i1
  %chosen = low.select %and_not, %x, %y : f32
  %unknown = arith.cmpi slt, %i, %c0 : index
  func.return %signed, %unsigned, %and, %and_not, %or, %or_yes, %xor, %bits, %chosen, %unknown
    : i1, i1, i1, i1, i1, i1, i1, i1, f32, i1
}

// A mask of all ones stays where only some of the bits are: 127 is not all ones of an i16. Vectors stay.
// CHECK-LABEL: func.func @bits
// CHECK:       %some = arith.andi %n, %{{.*}} : i16
// CHECK-NEXT:  %flipped = arith.xori %n, %{{.*}} : i16
// CHECK-NEXT:  %lanes = arith.andi %v, %v : vector<4xi1>
// CHECK-NEXT:  func.return %n, %some, %flipped, %lanes
func.func @bits(%n: i16, %v: vector<4xi1>) -> (i16, i16, i16, vector<4xi1>) {
  %ones = arith.constant -1 : i16
  %c127 = arith.constant 127 : i16
  %all = arith.andi %ones, %n : i16
  %some = arith.andi %n, %c127 : i16
  %flipped = arith.xori %n, %ones : i16
  %lanes = arith.andi %v, %v : vector<4xi1>
  func.return %all, %some, %flipped, %lanes : i16, i16, i16, vector<4xi1>
}

// Float rules hold for every value: x + 0.0 is not x where x is -0.0, and 0.0 * x may be NaN.
// CHECK-LABEL: func.func @floats
// CHECK:       %kept = arith.addf %x, %{{.*}} : f32
// CHECK-NEXT:  %zero_times = arith.mulf %x, %{{.*}} : f32
// CHECK-NEXT:  func.return %x, %x, %kept, %zero_times, %x
func.func @floats(%x: f32, %h: f16) -> (f32, f32, f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %minus_zero = arith.constant -0.0 : f32
  %a = arith.mulf %x, %one : f32
  %b = arith.subf %a, %zero : f32
  %c = arith.addf %b, %minus_zero : f32
  %kept = arith.addf %x, %zero : f32
  %zero_times = arith.mulf %x, %zero : f32
  %n = arith.negf %x : f32
  %nn = arith.negf %n : f32
  func.return %b, %c, %kept, %zero_times, %nn : f32, f32, f32, f32, f32
}

// Widening is exact, so narrowing it again is nothing; narrowing first is rounding, and stays.
// CHECK-LABEL: func.func @round_trip
// CHECK-NEXT:  %t = arith.truncf %x : f32 to f16
// CHECK-NEXT:  %e = arith.extf %t : f16 to f32
// CHECK-NEXT:  func.return %h, %e
func.func @round_trip(%h: f16, %x: f32) -> (f16, f32) {
  %w = arith.extf %h : f16 to f32
  %n = arith.truncf %w : f32 to f16
  %t = arith.truncf %x : f32 to f16
  %e = arith.extf %t : f16 to f32
  func.return %n, %e : f16, f32
}

// A stored boolean that is read again; a select that has no choice.
// CHECK-LABEL: func.func @booleans
// CHECK-NEXT:  %ones = arith.constant dense<[0, 1]>
// CHECK-NEXT:  %wide = low.convert extui %v
// CHECK-NEXT:  %are_not = arith.cmpi ne, %wide, %ones
// CHECK-NEXT:  func.return %b, %x, %y, %v, %are_not
func.func @booleans(%b: i1, %x: f32, %y: f32, %v: vector<2xi1>)
    -> (i1, f32, f32, vector<2xi1>, vector<2xi1>) {
  %zeros = arith.constant dense<0> : vector<2xi8>
  %ones = arith.constant dense<[0, 1]> : vector<2xi8>
  %wide = low.convert extui %v : vector<2xi1> to vector<2xi8>
  %are = arith.cmpi ne, %wide, %zeros : vector<2xi8>
  %are_not = arith.cmpi ne, %wide, %ones : vector<2xi8>
  %zero = arith.constant 0 : i8
  %false = arith.constant false
  %w = low.convert extui %b : i1 to i8
  %bit = arith.cmpi ne, %w, %zero : i8
  %same = low.select %b, %x, %x : f32
  %other = low.select %false, %x, %y : f32
  func.return %bit, %same, %other, %are, %are_not : i1, f32, f32, vector<2xi1>, vector<2xi1>
}

// Loops of one iteration and of none go; one of two stays.
// CHECK-LABEL: func.func @loops
// CHECK:       %once = arith.addf %x, %x : f32
// CHECK-NOT:   arith.mulf
// CHECK:       %{{.*}} = scf.for %k = %c0 to %c8 step %c4
func.func @loops(%x: f32) -> (f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %a = scf.for %i = %c0 to %c8 step %c8 iter_args(%s = %x) -> (f32) {
    %once = arith.addf %s, %x : f32
    scf.yield %once : f32
  }
  %b = scf.for %j = %c8 to %c8 step %c4 iter_args(%t = %a) -> (f32) {
    %never = arith.mulf %t, %x : f32
    scf.yield %never : f32
  }
  %c = scf.for %k = %c0 to %c8 step %c4 iter_args(%u = %b) -> (f32) {
    %twice = arith.addf %u, %x : f32
    scf.yield %twice : f32
  }
  func.return %a, %b, %c : f32, f32, f32
}
