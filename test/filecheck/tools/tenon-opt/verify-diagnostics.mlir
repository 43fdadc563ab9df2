// RUN: tenon-opt %s --split-input-file --verify-diagnostics -p 'verify-stage{absent=scf}' | filecheck %s

// A parse error, on its own line.
func.func @parse() {
  arith.nothing // expected-error {{arith.nothing}}
}

// -----

// A verify error.
func.func @verify(%x: f32) -> i32 {
  // expected-error@+1 {{func.return}}
  func.return %x : f32
}

// -----

// An error of a pass.
// expected-error@below {{ops remain that this stage must not have: scf.for (1), scf.yield (1)}}
builtin.module {
  func.func @refused(%n: index) {
    scf.for %i = %n to %n step %n {
      scf.yield
    }
    func.return
  }
}

// -----

// What has no error is printed.
// CHECK: func.func @fine
func.func @fine() {
  func.return
}
