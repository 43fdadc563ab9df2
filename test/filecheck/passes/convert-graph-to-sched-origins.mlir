// RUN: tenon-opt -p 'convert-graph-to-sched{origins=true}' %s | filecheck %s
// RUN: tenon-opt -p convert-graph-to-sched %s | filecheck %s --check-prefix NONE

// A launch says what it computes, in the order of the text, and why; a transfer what it is for.
// CHECK:      sched.launch @f_0(%x, %e) after() {origins = [
// CHECK-SAME:   #sched.origin<"%e", "exp", "8xf32", materialized, "read by 2 kernels", "several-consumers", "{{.*}}origins.mlir:18:8">
// CHECK-SAME: ]} : memref<8xf32>, memref<8xf32>
// CHECK:      sched.launch @f_1({{.*}}) after() {origins = [
// CHECK-SAME:   #sched.origin<"%s", "reduce add", "f32", materialized, "returned by the function", "needed", "{{.*}}">
// CHECK-SAME: ]}
// CHECK:      sched.launch @f_2({{.*}}) after() {origins = [
// CHECK-SAME:   #sched.origin<"%0", "neg", "8xf32", virtual, "computed where it is read", "inline", "{{.*}}">, #sched.origin<"%e_1", "abs", "8xf32", materialized, "returned by the function", "needed", "{{.*}}">
// CHECK-SAME: ]}
// CHECK:      sched.transfer %x to %{{.*}} after() {why = "what is returned has a buffer of its own, and no kernel computes it there"} : memref<8xf32>
// NONE-NOT:   origin
// NONE-NOT:   why
func.func @f(%x: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<8xf32>) {
  %e = graph.exp %x : tensor<8xf32>
  %s = graph.reduce add %e axes [0] : tensor<8xf32> -> tensor<f32>
  %0 = graph.neg %e : tensor<8xf32>
  %e_1 = graph.abs %0 : tensor<8xf32>
  func.return %s, %e_1, %x : tensor<f32>, tensor<8xf32>, tensor<8xf32>
}
