// RUN: tenon-opt -p 'propagate-sharding,partition-graph{rank=2},convert-graph-to-sched,schedule-collectives,build-dependencies,plan-memory,convert-sched-to-low' --verify-semantics=2 %s | filecheck %s

// All ranks run after each pass, though the text is that of one.
// CHECK: tenon.rank = 2
// CHECK: sched.collective all_reduce add
shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
func.func @f(%a: tensor<7x8xf32> {tenon.sharding = #shard<axisarray[[0], [1]]>}, %b: tensor<8x6xf32> {tenon.sharding = #shard<axisarray[[1], []]>}) -> tensor<7x6xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<7x8xf32>, tensor<8x6xf32> -> tensor<7x6xf32>
  %d = graph.tanh %c : tensor<7x6xf32>
  func.return %d : tensor<7x6xf32>
}
