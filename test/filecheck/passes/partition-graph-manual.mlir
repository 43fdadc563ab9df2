// RUN: tenon-opt -p "propagate-sharding,partition-graph{rank=1}" %s | filecheck %s
// RUN: tenon-run --ranks 2 --compare --print none %s | filecheck %s --check-prefix SAME
// RUN: not tenon-opt -p convert-graph-to-sched %s 2>&1 | filecheck %s --check-prefix WHOLE

// What ranks compute of their parts is written into the program of each: operands are read, and results given, as
// it says, and its collectives get channels of the program.

// SAME: result0: llvm and reference: same bits
// WHOLE: graph.manual_computation: cannot schedule (hint: run propagate-sharding and partition-graph
shard.grid @mesh(shape = 2) {axis_names = ["x"]}

// CHECK-LABEL: func.func @f
func.func @f(%x: tensor<4x8xf32> {tenon.sharding = #shard<axisarray[[], [0]]>}) -> tensor<8xf32> {
  // CHECK-NEXT: %{{.*}} = graph.all_to_all %x on @mesh axes = [0] split_dim = 0 concat_dim = 1 channel = 1
  // CHECK-NEXT: %own = graph.reduce add
  // CHECK-NEXT: %sum = graph.all_reduce add %own on @mesh axes = [0] channel = 2
  %s = graph.manual_computation on @mesh(%x) split [[[0], []]] to [[[]]] : (tensor<4x8xf32>) -> tensor<8xf32> {
  ^bb0(%part: tensor<2x8xf32>):
    %own = graph.reduce add %part axes [0] : tensor<2x8xf32> -> tensor<8xf32>
    %sum = graph.all_reduce add %own on @mesh axes = [0] channel = 1 : tensor<8xf32>
    graph.yield %sum : tensor<8xf32>
  }
  // In a loop, where the parts of what is carried are other ones.
  // CHECK: graph.scan
  %t = graph.scan %i = 3 (%c = %s) : (tensor<8xf32>) -> (tensor<8xf32>) {
    // CHECK: graph.all_reduce max {{.*}} on @mesh axes = [0] channel = 3 : tensor<4xf32>
    %m = graph.manual_computation on @mesh(%c) split [[[0]]] to [[[0]]] : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%part: tensor<4xf32>):
      %greatest = graph.all_reduce max %part on @mesh axes = [0] channel = 1 : tensor<4xf32>
      graph.yield %greatest : tensor<4xf32>
    }
    graph.yield %m : tensor<8xf32>
  }
  func.return %t : tensor<8xf32>
}
