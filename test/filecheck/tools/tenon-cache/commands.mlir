// RUN: rm -rf %t
// RUN: env TENON_CACHE=1 TENON_CACHE_DIR=%t tenon-run %s --print none
// RUN: env TENON_CACHE_DIR=%t python -m tenon.tools.tenon_cache stats | filecheck %s --check-prefix STATS
// RUN: python -m tenon.tools.tenon_cache ls --dir %t | filecheck %s --check-prefix LS
// RUN: python -m tenon.tools.tenon_cache verify --dir %t | filecheck %s --check-prefix VERIFY
// RUN: python -m tenon.tools.tenon_cache clear --dir %t | filecheck %s --check-prefix CLEAR
// RUN: python -m tenon.tools.tenon_cache ls --dir %t | filecheck %s --check-prefix EMPTY --allow-empty

// STATS:      folder:   {{.*}} (off, TENON_CACHE is 0)
// STATS-NEXT: programs: 1
// STATS-NEXT: code:     1
// STATS-NEXT: size:     {{[0-9]+}} of at most {{[0-9]+}} bytes
// LS:         @double for {{.*}}: 1 kernels, 1 launches
// VERIFY:     3 files, 0 damaged
// CLEAR:      3 files removed from
// EMPTY-NOT:  @double
func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
