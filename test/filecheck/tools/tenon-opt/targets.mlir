// RUN: tenon-opt %s -p default-pipeline -t llvm-ir --target=x86-64-v3 | filecheck %s --check-prefix=LLVM
// RUN: tenon-opt %s -p default-pipeline -t asm --target=x86-64-v3 | filecheck %s --check-prefix=ASM
// RUN: tenon-opt %s -p default-pipeline -t opencl-c | filecheck %s --check-prefix=OPENCL
// RUN: tenon-opt %s -p default-pipeline -t mlir | filecheck %s --check-prefix=LOW

// LLVM: define void @{{.*}}double
// ASM: double
// OPENCL: kernel void {{.*}}double
// LOW: low.kernel @{{.*}}double
func.func @double(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = graph.add %x, %x : tensor<16xf32>
  func.return %y : tensor<16xf32>
}
