// RUN: tenon-opt -p 'propagate-sharding,partition-graph{rank=1},gather-in-pieces,convert-graph-to-sched,schedule-collectives,build-dependencies,plan-memory,convert-sched-to-low' --verify-semantics=2 -o /dev/null %s
// RUN: tenon-opt -p 'propagate-sharding,partition-graph{rank=1},gather-in-pieces' %s | filecheck %s

// CHECK: graph.all_gather %a on @mesh axes = [1, 0] dim = 0 channel = 1 : tensor<6x4xf32> -> tensor<24x4xf32>
// CHECK: graph.contract {{.*}} : tensor<4x6x4xf32>, tensor<4x4x20xf32> -> tensor<6x20xf32>
shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
func.func @f(%a: tensor<6x16xf32> {tenon.sharding = #shard<axisarray[[], [1, 0]]>}, %b: tensor<16x80xf32> {tenon.sharding = #shard<axisarray[[], [1, 0]]>}) -> (tensor<6x80xf32> {tenon.sharding = #shard<axisarray[[], [1, 0]]>}) {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<6x16xf32>, tensor<16x80xf32> -> tensor<6x80xf32>
  func.return %c : tensor<6x80xf32>
}
