// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// Meshes: axes with extents, none at all, devices in another order.
// CHECK:      sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-NEXT: sdy.mesh @empty = <[]>
sdy.mesh @empty = <[]>
// CHECK-NEXT: sdy.mesh @other = <["x"=2], device_ids=[1, 0]> {note = "jax"}
sdy.mesh @other = <["x"=2], device_ids=[1, 0]> {note = "jax"}

// Shardings: several axes, open dims, parts of axes, priorities, axes that split nothing.
// CHECK-LABEL: func.func @shardings(
// CHECK-SAME:    %x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {?}]>}
func.func @shardings(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {?}]>}) {
  // CHECK-NEXT: %0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {"y", ?}p1]> : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %x <@mesh, [{"x"}, {"y", ?}p1]> : tensor<8x8xf32>
  // CHECK-NEXT: %1 = sdy.sharding_constraint %0 <@mesh, [{"y":(1)2}, {}], replicated={"x"}> : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"y":(1)2}, {}], replicated={"x"}> : tensor<8x8xf32>
  // CHECK-NEXT: %2 = sdy.reshard %1 <mesh<["a"=8]>, [{}, {}], unreduced={"a"}> : tensor<8x8xf32>
  %2 = sdy.reshard %1 <mesh<["a"=8]>, [{}, {}], unreduced={"a"}> : tensor<8x8xf32>
  func.return
}

// What each device does.
// CHECK-LABEL: func.func @manual
func.func @manual(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x", "y"} (%part: tensor<4x8xf32>) {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x", "y"} (%part: tensor<4x8xf32>) {
    // CHECK: %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, replica_groups = dense<{{\[\[}}0, 4]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%part init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 4]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK: sdy.return %2 : tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8x8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
