// RUN: tenon-opt %s -p 'cse,dce' --mlir-timing 2>&1 >%t | filecheck %s
// RUN: tenon-opt %s -p 'cse,dce' --time-passes 2>&1 >%t | filecheck %s

// CHECK:      ===-----{{-*}}===
// CHECK-NEXT: {{ *}}... Execution time report ...
// CHECK-NEXT: ===-----{{-*}}===
// CHECK-NEXT:   Total Execution Time: {{[0-9.]+}} seconds
// CHECK:        ----Wall Time----  ----Name----
// CHECK-DAG:    {{[0-9.]+ +\( *[0-9.]+%\)}}  parser
// CHECK-DAG:    {{[0-9.]+ +\( *[0-9.]+%\)}}  cse
// CHECK-DAG:    {{[0-9.]+ +\( *[0-9.]+%\)}}  dce
// CHECK-DAG:    {{[0-9.]+ +\( *[0-9.]+%\)}}  verifier
// CHECK-DAG:    {{[0-9.]+ +\( *[0-9.]+%\)}}  output
// CHECK:        (100.0%)  Total
func.func @f() {
  func.return
}
