// RUN: tenon-opt -p 'tile-convolutions{vector-nbytes=16}' %s | filecheck %s
// RUN: tenon-opt -p 'tile-convolutions{vector-nbytes=16 l2-nbytes=1024}' %s | filecheck %s --check-prefix LARGE
// RUN: tenon-opt -p 'tile-convolutions{vector-nbytes=16 l2-nbytes=256}' %s | filecheck %s --check-prefix ONE

// Channels last: rows are places, shared out evenly, columns are panels of channels.
// CHECK-LABEL: sched.kernel @channels_last
// CHECK-SAME:    schedule = "tiles of 5 places by 8 output channels side by side"
// CHECK:         sched.axis %y = 8 block {
// CHECK-NEXT:      sched.axis %x = 10 tile(5) {
// CHECK-NEXT:        sched.axis %o = 16 tile(8) vector(4) {
// CHECK-NOT:           tenon.prefetch
// LARGE-LABEL: sched.kernel @channels_last
// LARGE:         sched.axis %o_outer = 2 block {
// LARGE-NEXT:      sched.axis %y = 8 block {
// LARGE-NEXT:        sched.axis %x = 10 tile(5) {
// LARGE:               sched.axis %o_inner = 8 tile(8) prefetch vector(4) {
// LARGE:                 memref.load %w{{.*}} {tenon.prefetch = 1024 : index} : memref<2x3x3x4x8xf32>
sched.kernel @channels_last(%i: memref<10x12x4xf32>, %w: memref<2x3x3x4x8xf32>, %r: memref<8x10x16xf32>) {
  %c8 = arith.constant 8 : index
  sched.axis %y = 8 {
    sched.axis %x = 10 {
      sched.axis %o = 16 {
        %p = arith.divui %o, %c8 : index
        %l = arith.remui %o, %c8 : index
        %s = sched.reduce fma %h = 3 tile_shape [8 in panels] : f32 {
          %yh = arith.addi %y, %h : index
          %t = sched.reduce fma %v = 3 : f32 {
            %xv = arith.addi %x, %v : index
            %u = sched.reduce fma %c = 4 : f32 {
              %a = memref.load %i[%yh, %xv, %c] : memref<10x12x4xf32>
              %b = memref.load %w[%p, %h, %v, %c, %l] : memref<2x3x3x4x8xf32>
              sched.yield %a, %b : f32
            }
            sched.yield %u : f32
          }
          sched.yield %t : f32
        }
        memref.store %s, %r[%y, %x, %o] : memref<8x10x16xf32>
      }
    }
  }
}

// Channels first: the sums are vectors of channels, but are stored as rows of places.
// CHECK-LABEL: sched.kernel @channels_first
// CHECK-SAME:    schedule = "tiles of 8 output channels by 5 places side by side, summed up by channels"
// CHECK:         sched.axis %y = 8 block {
// CHECK-NEXT:      sched.axis %o = 16 tile(8) vector(4) {
// CHECK-NEXT:        sched.axis %x = 10 tile(5) vector(4) {
sched.kernel @channels_first(%i: memref<4x17x21xf32>, %w: memref<2x4x3x3x8xf32>, %r: memref<16x8x10xf32>) {
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  sched.axis %o = 16 {
    %p = arith.divui %o, %c8 : index
    %l = arith.remui %o, %c8 : index
    sched.axis %y = 8 {
      sched.axis %x = 10 {
        %s = sched.reduce fma %c = 4 tile_shape [8 in panels] : f32 {
          %t = sched.reduce fma %h = 3 : f32 {
            %y2 = arith.muli %y, %c2 : index
            %yh = arith.addi %y2, %h : index
            %u = sched.reduce fma %v = 3 : f32 {
              %x2 = arith.muli %x, %c2 : index
              %xv = arith.addi %x2, %v : index
              %a = memref.load %i[%c, %yh, %xv] : memref<4x17x21xf32>
              %b = memref.load %w[%p, %c, %h, %v, %l] : memref<2x4x3x3x8xf32>
              sched.yield %a, %b : f32
            }
            sched.yield %u : f32
          }
          sched.yield %t : f32
        }
        memref.store %s, %r[%o, %y, %x] : memref<16x8x10xf32>
      }
    }
  }
}

// Weights as they are: their elements are multiplied by vectors of the image. However large they are, there is no
// next panel.
// ONE-LABEL: sched.kernel @natural
// ONE-NOT:     prefetch
// ONE-LABEL: sched.kernel @groups
// CHECK-LABEL: sched.kernel @natural
// CHECK-SAME:    schedule = "tiles of 6 output channels by 8 places side by side"
// CHECK:         sched.axis %o = 16 tile(6) {
// CHECK-NEXT:      sched.axis %x = 10 tile(8) vector(4) {
sched.kernel @natural(%i: memref<4x12xf32>, %w: memref<16x4x3xf32>, %r: memref<16x10xf32>) {
  sched.axis %o = 16 {
    sched.axis %x = 10 {
      %s = sched.reduce fma %c = 4 : f32 {
        %t = sched.reduce fma %v = 3 : f32 {
          %xv = arith.addi %x, %v : index
          %a = memref.load %i[%c, %xv] : memref<4x12xf32>
          %b = memref.load %w[%o, %c, %v] : memref<16x4x3xf32>
          sched.yield %b, %a : f32
        }
        sched.yield %t : f32
      }
      memref.store %s, %r[%o, %x] : memref<16x10xf32>
    }
  }
}

// Groups of output channels see their part of the image only: the axis is split at them.
// CHECK-LABEL: sched.kernel @groups
// CHECK:         sched.axis %o_outer = 2 block {
// CHECK:           sched.axis %o_inner = 8 tile(4) {
// CHECK:             sched.axis %x = 10 tile(8) vector(4) {
sched.kernel @groups(%i: memref<2x4x12xf32>, %w: memref<16x4x3xf32>, %r: memref<16x10xf32>) {
  %c8 = arith.constant 8 : index
  sched.axis %o = 16 {
    %g = arith.divui %o, %c8 : index
    sched.axis %x = 10 {
      %s = sched.reduce fma %c = 4 : f32 {
        %t = sched.reduce fma %v = 3 : f32 {
          %xv = arith.addi %x, %v : index
          %a = memref.load %i[%g, %c, %xv] : memref<2x4x12xf32>
          %b = memref.load %w[%o, %c, %v] : memref<16x4x3xf32>
          sched.yield %b, %a : f32
        }
        sched.yield %t : f32
      }
      memref.store %s, %r[%o, %x] : memref<16x10xf32>
    }
  }
}

// What does not say that its weights lie in panels is no such convolution.
// CHECK-LABEL: sched.kernel @untold
// CHECK-NOT:     tile(
sched.kernel @untold(%i: memref<10x12x4xf32>, %w: memref<2x3x3x4x8xf32>, %r: memref<8x10x16xf32>) {
  %c8 = arith.constant 8 : index
  sched.axis %y = 8 {
    sched.axis %x = 10 {
      sched.axis %o = 16 {
        %p = arith.divui %o, %c8 : index
        %l = arith.remui %o, %c8 : index
        %s = sched.reduce fma %h = 3 : f32 {
          %yh = arith.addi %y, %h : index
          %t = sched.reduce fma %v = 3 : f32 {
            %xv = arith.addi %x, %v : index
            %u = sched.reduce fma %c = 4 : f32 {
              %a = memref.load %i[%yh, %xv, %c] : memref<10x12x4xf32>
              %b = memref.load %w[%p, %h, %v, %c, %l] : memref<2x3x3x4x8xf32>
              sched.yield %a, %b : f32
            }
            sched.yield %u : f32
          }
          sched.yield %t : f32
        }
        memref.store %s, %r[%y, %x, %o] : memref<8x10x16xf32>
      }
    }
  }
}

// A product of matrices is no convolution, nor is a kernel whose axes are mapped, nor one over few channels.
// CHECK-LABEL: sched.kernel @product
// CHECK-NOT:     tile(
sched.kernel @product(%i: memref<10x4xf32>, %w: memref<4x16xf32>, %r: memref<10x16xf32>) {
  sched.axis %x = 10 {
    sched.axis %o = 16 {
      %s = sched.reduce fma %c = 4 : f32 {
        %a = memref.load %i[%x, %c] : memref<10x4xf32>
        %b = memref.load %w[%c, %o] : memref<4x16xf32>
        sched.yield %a, %b : f32
      }
      memref.store %s, %r[%x, %o] : memref<10x16xf32>
    }
  }
}
sched.kernel @few_channels(%i: memref<12xf32>, %w: memref<3x4xf32>, %r: memref<10x4xf32>) {
  sched.axis %x = 10 {
    sched.axis %o = 4 {
      %s = sched.reduce fma %v = 3 : f32 {
        %xv = arith.addi %x, %v : index
        %a = memref.load %i[%xv] : memref<12xf32>
        %b = memref.load %w[%v, %o] : memref<3x4xf32>
        sched.yield %a, %b : f32
      }
      memref.store %s, %r[%x, %o] : memref<10x4xf32>
    }
  }
}

// Places in a number that varies: as many rows as there are registers for; of few at most, no more than those.
// CHECK-LABEL: sched.kernel @named
// CHECK-SAME:    schedule = "tiles of {{[0-9]+}} places by 8 output channels side by side"
// CHECK:         sched.axis %n = b block {
// CHECK-NEXT:      sched.axis %x = w tile({{[0-9]+}}) {
// CHECK-NEXT:        sched.axis %o = 8 tile(8) vector(4) {
// CHECK-LABEL: sched.kernel @named_channels
// CHECK-NOT:     tile(
graph.dim @b min 1 max 4
graph.dim @w min 1 max 100
sched.kernel @named(%b: index, %w: index, %i: memref<?x?x4xf32, {dims = #graph.dims<b, w + 2, 4>}>, %v: memref<3x4x8xf32>, %r: memref<?x?x8xf32, {dims = #graph.dims<b, w, 8>}>) dims [b, w] {
  sched.axis %n = b {
    sched.axis %x = w {
      sched.axis %o = 8 {
        %s = sched.reduce fma %h = 3 : f32 {
          %at = arith.addi %x, %h : index
          %t = sched.reduce fma %c = 4 : f32 {
            %a = memref.load %i[%n, %at, %c] : memref<?x?x4xf32, {dims = #graph.dims<b, w + 2, 4>}>
            %k = memref.load %v[%h, %c, %o] : memref<3x4x8xf32>
            sched.yield %a, %k : f32
          }
          sched.yield %t : f32
        }
        memref.store %s, %r[%n, %x, %o] : memref<?x?x8xf32, {dims = #graph.dims<b, w, 8>}>
      }
    }
  }
}
sched.kernel @named_channels(%w: index, %i: memref<12x4xf32>, %v: memref<3x4x?xf32, {dims = #graph.dims<3, 4, w>}>, %r: memref<10x?xf32, {dims = #graph.dims<10, w>}>) dims [w] {
  sched.axis %x = 10 {
    sched.axis %o = w {
      %s = sched.reduce fma %h = 3 : f32 {
        %at = arith.addi %x, %h : index
        %t = sched.reduce fma %c = 4 : f32 {
          %a = memref.load %i[%at, %c] : memref<12x4xf32>
          %k = memref.load %v[%h, %c, %o] : memref<3x4x?xf32, {dims = #graph.dims<3, 4, w>}>
          sched.yield %a, %k : f32
        }
        sched.yield %t : f32
      }
      memref.store %s, %r[%x, %o] : memref<10x?xf32, {dims = #graph.dims<10, w>}>
    }
  }
}

// Summands that do not lie at even distances are no tile's: here those of two rows in each of two channels.
// CHECK-LABEL: sched.kernel @two_dims_in_one
// CHECK-NOT:     tile(
sched.kernel @two_dims_in_one(%i: memref<2x3x3x2xf32>, %w: memref<16x4xf32>, %r: memref<16x2x2xf32>) {
  %c2 = arith.constant 2 : index
  sched.axis %o = 16 {
    sched.axis %y = 2 {
      %y2 = arith.muli %y, %c2 : index
      sched.axis %x = 2 {
        %s = sched.reduce fma %k = 4 : f32 {
          %c = arith.divui %k, %c2 : index
          %u = arith.remui %k, %c2 : index
          %a = memref.load %i[%c, %u, %y2, %x] : memref<2x3x3x2xf32>
          %b = memref.load %w[%o, %k] : memref<16x4xf32>
          sched.yield %a, %b : f32
        }
        memref.store %s, %r[%o, %y, %x] : memref<16x2x2xf32>
      }
    }
  }
}

// Where the result has an axis for the panels, it stays around the tiles: outermost for weights that are large, of
// which the next panel is fetched meanwhile. How many images there are need not be a number.
// CHECK-LABEL: sched.kernel @panels_in_the_result
// CHECK:         sched.axis %b = n block {
// CHECK-NEXT:      sched.axis %p = 2 block {
// CHECK-NEXT:        sched.axis %y = 2 {
// CHECK-NEXT:          sched.axis %o = 8 tile(8) vector(4) {
// CHECK-NEXT:            sched.axis %x = 7 tile(4) vector(4) {
// LARGE-LABEL: sched.kernel @panels_in_the_result
// LARGE:         sched.axis %p = 2 block {
// LARGE-NEXT:      sched.axis %b = n block {
// LARGE-NEXT:        sched.axis %y = 2 {
// LARGE-NEXT:          sched.axis %o = 8 tile(8) prefetch vector(4) {
graph.dim @n min 1 max 4
sched.kernel @panels_in_the_result(%n: index, %i: memref<?x4x4x9xf32, {dims = #graph.dims<n, 4, 4, 9>}>, %w: memref<2x3x3x4x8xf32>, %r: memref<?x2x8x2x7xf32, {dims = #graph.dims<n, 2, 8, 2, 7>}>) dims [n] {
  sched.axis %b = n {
    sched.axis %p = 2 {
      sched.axis %o = 8 {
        sched.axis %y = 2 {
          sched.axis %x = 7 {
            %s = sched.reduce fma %h = 3 tile_shape [8 in panels] : f32 {
              %yh = arith.addi %y, %h : index
              %t = sched.reduce fma %v = 3 : f32 {
                %xv = arith.addi %x, %v : index
                %u = sched.reduce fma %c = 4 : f32 {
                  %a = memref.load %i[%b, %c, %yh, %xv] : memref<?x4x4x9xf32, {dims = #graph.dims<n, 4, 4, 9>}>
                  %e = memref.load %w[%p, %h, %v, %c, %o] : memref<2x3x3x4x8xf32>
                  sched.yield %a, %e : f32
                }
                sched.yield %u : f32
              }
              sched.yield %t : f32
            }
            memref.store %s, %r[%b, %p, %o, %y, %x] : memref<?x2x8x2x7xf32, {dims = #graph.dims<n, 2, 8, 2, 7>}>
          }
        }
      }
    }
  }
}

// Channels that do not lie side by side within panels have no tiles.
// CHECK-LABEL: sched.kernel @channels_apart
// CHECK-NOT:     tile(
sched.kernel @channels_apart(%i: memref<12xf32>, %w: memref<2x16x3xf32>, %r: memref<10x2x16xf32>) {
  sched.axis %x = 10 {
    sched.axis %p = 2 {
      sched.axis %o = 16 {
        %s = sched.reduce fma %v = 3 : f32 {
          %xv = arith.addi %x, %v : index
          %a = memref.load %i[%xv] : memref<12xf32>
          %b = memref.load %w[%p, %o, %v] : memref<2x16x3xf32>
          sched.yield %a, %b : f32
        }
        memref.store %s, %r[%x, %p, %o] : memref<10x2x16xf32>
      }
    }
  }
}

// RUN: not tenon-opt -p 'tile-convolutions{l2-nbytes=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// NONE: error: tile-convolutions: vector-nbytes 32 and l2-nbytes 0 must be 1 or more
