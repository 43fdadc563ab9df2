// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// An axis without devices.
// expected-error @+1 {{axis x has extent 0}}
sdy.mesh @mesh = <["x"=0]>

// -----

// An axis twice.
// expected-error @+1 {{an axis is given twice}}
sdy.mesh @mesh = <["x"=2, "x"=2]>

// -----

// A part of an axis that is none.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{axis x has no part 1 after 2}}
  %0 = sdy.sharding_constraint %x <@mesh, [{"x":(2)1}]> : tensor<8xf32>
  func.return
}

// -----

// More axes after what says that there may be more.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{`?` is the last of a dim}}
  %0 = sdy.sharding_constraint %x <@mesh, [{?, "x"}]> : tensor<8xf32>
  func.return
}

// -----

// A keyword twice.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected replicated or unreduced, once}}
  %0 = sdy.sharding_constraint %x <@mesh, [{}], replicated={"x"}, replicated={"y"}> : tensor<8xf32>
  func.return
}

// -----

// An annotation changes no type.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{sdy.reshard: the result is tensor<4xf32>, the operand is not}}
  %0 = "sdy.reshard"(%x) <{sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<8xf32>) -> tensor<4xf32>
  func.return
}

// -----

// Shardings for other operands.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{sdy.manual_computation: 0 in_shardings, expected 1}}
  %0 = sdy.manual_computation(%x) in_shardings=[] out_shardings=[<@mesh, [{}]>] manual_axes={} (%a: tensor<8xf32>) {
    sdy.return %a : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// A region that ends in something else.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{sdy.manual_computation: the region ends in no sdy.return}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={} (%a: tensor<8xf32>) {
    stablehlo.return %a : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// -----

// A type that is none of a function.
func.func @f(%x: tensor<8xf32>) {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={} (%a: tensor<8xf32>) {
    sdy.return %a : tensor<8xf32>
  // expected-error @+1 {{sdy.manual_computation: tensor<8xf32> is no function type}}
  } : tensor<8xf32>
  func.return
}
