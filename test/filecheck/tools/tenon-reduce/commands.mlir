// RUN: tenon-reduce %s -p 'verify-stage{absent="graph.exp"}' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix PROGRESS < %t

// PROGRESS:      tenon-reduce: found error in pass `verify-stage`: PassError:
// PROGRESS:      tenon-reduce: 3 ops left after
// PROGRESS:      tenon-reduce: 6 ops were reduced to 3 ops in

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @f(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {
// CHECK-NEXT:     %1 = graph.exp %0 : tensor<1x1xf32>
// CHECK-NEXT:     func.return %1 : tensor<1x1xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }



func.func @f(%x: tensor<6x20xf32>, %y: tensor<20xf32>) -> tensor<6x20xf32> {
  %b = graph.broadcast %y : tensor<20xf32> -> tensor<6x20xf32>
  %s = graph.add %x, %b : tensor<6x20xf32>
  %e = graph.exp %s : tensor<6x20xf32>
  %r = graph.abs %e : tensor<6x20xf32>
  func.return %r : tensor<6x20xf32>
}
