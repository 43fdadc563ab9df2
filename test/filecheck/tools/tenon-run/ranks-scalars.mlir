// RUN: tenon-run %s --ranks 2 --compare --print none | filecheck %s
// RUN: tenon-run %s --ranks 2 --compare --print none --backend reference | filecheck %s

// What has no dims is given to all ranks as it is.
// CHECK: result0: {{llvm|reference}} and reference: same bits
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @f(%x: tensor<7xf32> {tenon.sharding = #shard<axisarray[[0]]>}, %s: tensor<f32>) -> tensor<7xf32> {
  %b = graph.broadcast %s : tensor<f32> -> tensor<7xf32>
  %y = graph.add %x, %b : tensor<7xf32>
  func.return %y : tensor<7xf32>
}
