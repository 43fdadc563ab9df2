// RUN: tenon-opt -p record-recipes,tile-contractions,map-axes %s | filecheck %s
// RUN: tenon-opt -p record-recipes,tile-contractions,map-axes %s | tenon-opt | filecheck %s

// Structure is noted as it changes; how loops are mapped is in the kernel itself.
// CHECK-LABEL: sched.kernel @matmul
// CHECK-SAME:    tenon.recipe = [{step = "reorder", axes = ["i", "j"]}]
// CHECK:         sched.axis %i = 64 {{.*}}tile(
sched.kernel @matmul(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  sched.axis %j = 64 {
    sched.axis %i = 64 {
      %s = sched.reduce fma %k = 64 : f32 {
        %x = memref.load %a[%i, %k] : memref<64x64xf32>
        %y = memref.load %b[%k, %j] : memref<64x64xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<64x64xf32>
    }
  }
}

// What is mapped already is scheduled: nobody notes how.
// CHECK-LABEL: sched.kernel @mapped(%x: memref<8xf32>) {
sched.kernel @mapped(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  sched.axis %i = 8 vector(8) {
    memref.store %zero, %x[%i] : memref<8xf32>
  }
}
