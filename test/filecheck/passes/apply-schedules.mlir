// RUN: tenon-opt -p 'apply-schedules{database="%S/apply-schedules.json" device="test"}' %s | filecheck %s
// RUN: tenon-opt -p 'apply-schedules{database="%S/apply-schedules.json" device="another"}' %s | filecheck %s --check-prefix ANOTHER
// RUN: not tenon-opt -p 'apply-schedules{database="%S/none.json" device="test"}' %s 2>&1 | filecheck %s --check-prefix NONE
// RUN: not tenon-opt -p 'apply-schedules{database="%s" device="test"}' %s 2>&1 | filecheck %s --check-prefix WRONG

// NONE: none.json: cannot read the database (No such file or directory) [in pass `apply-schedules`]
// WRONG: apply-schedules.mlir: no JSON

// The kernel of the entry's text is scheduled, under another name too.
// CHECK-LABEL: sched.kernel @rows(
// CHECK-SAME:    attributes {schedule = "tuned: 1.50 times as fast as the default"} {
// CHECK-NEXT:    sched.axis %i = 64 block(8) {
// CHECK-NEXT:      sched.axis %j = 32 vector(4) {
// ANOTHER-LABEL: sched.kernel @rows(
// ANOTHER-NEXT:    sched.axis %i = 64 {
sched.kernel @rows(%x: memref<64x32xf32>, %y: memref<64x32xf32>) {
  sched.axis %i = 64 {
    sched.axis %j = 32 {
      %v = memref.load %x[%i, %j] : memref<64x32xf32>
      %w = math.exp %v : f32
      memref.store %w, %y[%i, %j] : memref<64x32xf32>
    }
  }
}

// A kernel of another text stays as it is.
// CHECK-LABEL: sched.kernel @other(
// CHECK-NEXT:    sched.axis %i = 63 {
sched.kernel @other(%x: memref<63x32xf32>, %y: memref<63x32xf32>) {
  sched.axis %i = 63 {
    sched.axis %j = 32 {
      %v = memref.load %x[%i, %j] : memref<63x32xf32>
      memref.store %v, %y[%i, %j] : memref<63x32xf32>
    }
  }
}
