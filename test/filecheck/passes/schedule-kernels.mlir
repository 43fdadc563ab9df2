// RUN: tenon-opt -p 'schedule-kernels{steps="{\"f\": [{\"step\": \"split\", \"axis\": \"i\", \"factor\": 4}, {\"step\": \"map\", \"axes\": [\"i_inner\"], \"mappings\": [\"vector(4)\"]}], \"g\": []}"}' %s | filecheck %s
// RUN: not tenon-opt -p 'schedule-kernels{steps="{"}' %s 2>&1 | filecheck %s --check-prefix JSON
// RUN: not tenon-opt -p 'schedule-kernels{steps="[]"}' %s 2>&1 | filecheck %s --check-prefix DICT
// RUN: not tenon-opt -p 'schedule-kernels{steps="{\"f\": 3}"}' %s 2>&1 | filecheck %s --check-prefix LIST
// RUN: not tenon-opt -p 'schedule-kernels{steps="{\"h\": []}"}' %s 2>&1 | filecheck %s --check-prefix KERNEL

// JSON: error: schedule-kernels: the steps are no JSON (Expecting property name
// DICT: error: schedule-kernels: the steps are [], expected lists of them by kernel
// LIST: error: schedule-kernels: the steps of @f are 3, expected a list of objects
// KERNEL: error: schedule-kernels: there is no sched.kernel @h (kernels: @f, @g)

// CHECK-LABEL: sched.kernel @f
// CHECK:         sched.axis %i_outer = 2 {
// CHECK:           sched.axis %i_inner = 4 vector(4) {
sched.kernel @f(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 8 {
    memref.store %zero, %x[%i] : memref<8xf32>
  }
}

// CHECK-LABEL: sched.kernel @g
// CHECK:         sched.axis %i = 8 {
sched.kernel @g(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 8 {
    memref.store %zero, %x[%i] : memref<8xf32>
  }
}
