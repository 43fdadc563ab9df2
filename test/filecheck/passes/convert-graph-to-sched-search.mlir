// RUN: tenon-opt -p convert-graph-to-sched %s | filecheck %s
// RUN: tenon-opt -p default-pipeline -t llvm-ir %s | filecheck %s --check-prefix=IR

// Two values are searched for at once, by choices without a branch.
// CHECK-LABEL: sched.kernel
// CHECK: %{{.*}}, %{{.*}}, %{{.*}} = scf.for
// CHECK: low.select %{{.*}}, %{{.*}}, %{{.*}} unpredictable : index
// CHECK: low.select %{{.*}}, %{{.*}}, %{{.*}} unpredictable : index
// CHECK: scf.yield
// IR: select i1 %{{.*}}, i64 %{{.*}}, i64 %{{.*}}, !unpredictable !{}
func.func @search(%s: tensor<9xi32>, %x: tensor<2xi32>) -> tensor<2xi64> {
  %y = graph.search_sorted left %s, %x : tensor<9xi32>, tensor<2xi32>
  func.return %y : tensor<2xi64>
}
