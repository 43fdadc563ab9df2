// RUN: tenon-opt %s -p carry-older-values | filecheck %s
// RUN: tenon-opt %s -p carry-older-values,double-buffer-loops | filecheck %s --check-prefix TWO

// What an iteration leaves alone is taken from the value of two iterations before.
// CHECK-LABEL: func.func @prefix
// CHECK-NEXT:    %y, %0 = graph.scan %i = 20 (%c = %x, %c_1 = %x) : (tensor<2048xf32>, tensor<2048xf32>) -> (tensor<2048xf32>, tensor<2048xf32>) {
// CHECK:           %m = graph.lt %count, %ends : tensor<2048xi64>
// CHECK-NEXT:      %r = graph.flip %c axes [0] : tensor<2048xf32>
// CHECK-NEXT:      %s = graph.add %c, %r : tensor<2048xf32>
// CHECK-NEXT:      %v = graph.select %m, %s, %c_1 : tensor<2048xf32>
// CHECK-NEXT:      %n = graph.dynamic_update %v[%i], %e : tensor<2048xf32>[tensor<i64>], tensor<1xf32>
// CHECK-NEXT:      graph.yield %n, %c : tensor<2048xf32>, tensor<2048xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %y : tensor<2048xf32>

// The two change places.
// TWO-LABEL: func.func @prefix
// TWO:         graph.scan %i = 10 (%c = %x, %c_1 = %x)
// TWO:           %v = graph.select %m, %s, %c_1
// TWO:           %v_1 = graph.select %m_1, %s_1, %c :
// TWO-NEXT:      %n_1 = graph.dynamic_update %v_1
// TWO-NEXT:      graph.yield %n_1, %n
func.func @prefix(%x: tensor<2048xf32>, %e: tensor<1xf32>) -> tensor<2048xf32> {
  %y = graph.scan %i = 20 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
    %count = graph.iota axis 0 : tensor<2048xi64>
    %ends = graph.broadcast %i : tensor<i64> -> tensor<2048xi64>
    %m = graph.lt %count, %ends : tensor<2048xi64>
    %r = graph.flip %c axes [0] : tensor<2048xf32>
    %s = graph.add %c, %r : tensor<2048xf32>
    %v = graph.select %m, %s, %c : tensor<2048xf32>
    %n = graph.dynamic_update %v[%i], %e : tensor<2048xf32>[tensor<i64>], tensor<1xf32>
    graph.yield %n : tensor<2048xf32>
  }
  func.return %y : tensor<2048xf32>
}

// An update behind what the next iteration changes would be lost.
// CHECK-LABEL: func.func @too_far
// CHECK:         graph.scan %i = 20 (%c = %x) :
func.func @too_far(%x: tensor<2048xf32>, %e: tensor<2xf32>) -> tensor<2048xf32> {
  %y = graph.scan %i = 20 (%c = %x) : (tensor<2048xf32>) -> (tensor<2048xf32>) {
    %count = graph.iota axis 0 : tensor<2048xi64>
    %ends = graph.broadcast %i : tensor<i64> -> tensor<2048xi64>
    %m = graph.lt %count, %ends : tensor<2048xi64>
    %r = graph.flip %c axes [0] : tensor<2048xf32>
    %v = graph.select %m, %r, %c : tensor<2048xf32>
    %n = graph.dynamic_update %v[%i], %e : tensor<2048xf32>[tensor<i64>], tensor<2xf32>
    graph.yield %n : tensor<2048xf32>
  }
  func.return %y : tensor<2048xf32>
}
