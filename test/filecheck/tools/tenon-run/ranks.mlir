// RUN: tenon-run %s --ranks 4 --compare --print none | filecheck %s --check-prefix LLVM
// RUN: tenon-run %s --ranks 4 --compare --print none --backend reference | filecheck %s --check-prefix GRAPH
// RUN: tenon-run %s --ranks 4 --compare --print none --level sched | filecheck %s --check-prefix GRAPH
// RUN: tenon-run %s --ranks 4 --print summary --explain | filecheck %s --check-prefix EXPLAIN
// RUN: not tenon-run %s --ranks 3 2>&1 | filecheck %s --check-prefix COUNT
// RUN: not tenon-run %s --ranks 4 --stats 2>&1 | filecheck %s --check-prefix FLAGS
// RUN: not tenon-run %s --allow-gather 2>&1 | filecheck %s --check-prefix ALONE

// All ranks of a partitioned program run in one process, and are compared with the whole program.
// LLVM: result0: llvm and reference: {{same bits|agree}}
// GRAPH: result0: reference and reference: {{same bits|agree}}
// EXPLAIN: begin all_reduce add on [2, 2] axes = [1] channel = 1
// EXPLAIN: result0: float32[7, 6]
// COUNT: --ranks 3: @mesh has 2 x 2 ranks
// FLAGS: --ranks runs several programs once, found --stats
// ALONE: --allow-gather is for --ranks only
shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
func.func @f(%a: tensor<7x8xf32> {tenon.sharding = #shard<axisarray[[0], [1]]>}, %b: tensor<8x6xf32> {tenon.sharding = #shard<axisarray[[1], []]>}) -> tensor<7x6xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<7x8xf32>, tensor<8x6xf32> -> tensor<7x6xf32>
  %d = graph.tanh %c : tensor<7x6xf32>
  func.return %d : tensor<7x6xf32>
}
