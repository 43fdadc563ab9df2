// RUN: tenon-reduce %s -p 'verify-stage{absent="graph.exp"}' 2>%t | filecheck %s
// RUN: filecheck %s --check-prefix PROGRESS < %t
// RUN: tenon-reduce %s --test 'grep -q graph.exp' -o %t.mlir 2>/dev/null
// RUN: filecheck %s < %t.mlir
// RUN: tenon-opt %s -p default-pipeline | tenon-reduce --test 'grep -q memref.store' 2>/dev/null | filecheck %s --check-prefix LOW

// PROGRESS:      tenon-reduce: found error in pass `verify-stage`: PassError:
// PROGRESS:      tenon-reduce: 3 ops left after
// PROGRESS:      tenon-reduce: 6 ops were reduced to 3 ops in

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @f(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {
// CHECK-NEXT:     %1 = graph.exp %0 : tensor<1x1xf32>
// CHECK-NEXT:     func.return %1 : tensor<1x1xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }

// LOW:        builtin.module {
// LOW-NEXT:     low.kernel @f_0(%0: memref<1xf32>) grid [1, 1, 1] block [1, 1, 1] {
// LOW-NEXT:       %1 = arith.constant 0.000000e+00 : f32
// LOW-NEXT:       %2 = arith.constant 0 : index
// LOW-NEXT:       memref.store %1, %0[%2] : memref<1xf32>
// LOW-NEXT:     }
// LOW-NEXT:   }


func.func @f(%x: tensor<6x20xf32>, %y: tensor<20xf32>) -> tensor<6x20xf32> {
  %b = graph.broadcast %y : tensor<20xf32> -> tensor<6x20xf32>
  %s = graph.add %x, %b : tensor<6x20xf32>
  %e = graph.exp %s : tensor<6x20xf32>
  %r = graph.abs %e : tensor<6x20xf32>
  func.return %r : tensor<6x20xf32>
}
