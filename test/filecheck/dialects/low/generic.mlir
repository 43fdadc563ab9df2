// RUN: tenon-opt --mlir-print-op-generic %s | filecheck %s

// The generic form names every attribute and shows every type.
// CHECK:       "low.kernel"() <{sym_name = "k", grid = #low<dims [2, 1, 1]>, block = #low<dims [64, 1, 1]>}> ({
// CHECK-NEXT:  ^bb0(%x: memref<128xf32>):
// CHECK-NEXT:    %b = "low.block_id"() <{dimension = #low<dimension x>}> : () -> index
// CHECK-NEXT:    %t = "low.thread_id"() <{dimension = #low<dimension y>}> : () -> index
// CHECK-NEXT:    "low.barrier"() : () -> ()
// CHECK-NEXT:    %c = "arith.cmpi"(%b, %t) <{predicate = 2 : i64}> : (index, index) -> i1
// CHECK-NEXT:    %v = "memref.load"(%x, %b) : (memref<128xf32>, index) -> f32
// CHECK-NEXT:    %r = "low.select"(%c, %v, %v) <{unpredictable}> : (i1, f32, f32) -> f32
// CHECK-NEXT:    %n = "low.convert"(%r) <{conversion = #low<conversion fptosi>}> : (f32) -> i32
// CHECK-NEXT:    %m = "low.remf"(%r, %v) : (f32, f32) -> f32
// CHECK-NEXT:  }) : () -> ()
low.kernel @k(%x: memref<128xf32>) grid [2, 1, 1] block [64, 1, 1] {
  %b = low.block_id x
  %t = low.thread_id y
  low.barrier
  %c = arith.cmpi slt, %b, %t : index
  %v = memref.load %x[%b] : memref<128xf32>
  %r = low.select %c, %v, %v unpredictable : f32
  %n = low.convert fptosi %r : f32 to i32
  %m = low.remf %r, %v : f32
}
