// RUN: tenon-opt -p strip-columns %s | filecheck %s
// RUN: tenon-opt -p 'strip-columns{l2-nbytes=65536}' %s | filecheck %s --check-prefix SMALL
// RUN: not tenon-opt -p 'strip-columns{l2-nbytes=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// NONE: error: strip-columns: vector-nbytes 32 and l2-nbytes 0 must be 1 or more

// Both loops read pieces of rows. The sums of a strip lie in a local buffer.
// CHECK-LABEL: sched.kernel @fires
// CHECK-SAME:    attributes {schedule = "j: row by row, in strips of up to 512 columns"} {
// CHECK-NEXT:      %c512 = arith.constant 512 : index
// CHECK-NEXT:      %c2000 = arith.constant 2000 : index
// CHECK-NEXT:      sched.axis %j_outer = 4 {
// CHECK-NEXT:        %base = arith.muli %j_outer, %c512 : index
// CHECK-NEXT:        %left = arith.subi %c2000, %base : index
// CHECK-NEXT:        %s_kept = sched.alloc local : memref<512xf32>
// CHECK-NEXT:        sched.axis %j_inner = 512 count %left {
// CHECK-NEXT:          %j = arith.addi %base, %j_inner : index
// CHECK-NEXT:          %s = sched.reduce addf %i = 1000 : f32 {
// CHECK-NEXT:            %v = memref.load %x[%i, %j] : memref<1000x2000xf32>
// CHECK-NEXT:            sched.yield %v : f32
// CHECK-NEXT:          }
// CHECK-NEXT:          memref.store %s, %s_kept[%j_inner] : memref<512xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        sched.axis %r = 1000 {
// CHECK-NEXT:          sched.axis %j_inner_a = 512 count %left {
// CHECK-NEXT:            %j_1 = arith.addi %base, %j_inner_a : index
// CHECK-NEXT:            %s_1 = memref.load %s_kept[%j_inner_a] : memref<512xf32>
// CHECK-NEXT:            %v_1 = memref.load %x[%r, %j_1] : memref<1000x2000xf32>
// CHECK-NEXT:            %d = arith.subf %v_1, %s_1 : f32
// CHECK-NEXT:            memref.store %d, %y[%r, %j_1] : memref<1000x2000xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
sched.kernel @fires(%x: memref<1000x2000xf32>, %y: memref<1000x2000xf32>) {
  sched.axis %j = 2000 {
    %s = sched.reduce addf %i = 1000 : f32 {
      %v = memref.load %x[%i, %j] : memref<1000x2000xf32>
      sched.yield %v : f32
    }
    sched.axis %r = 1000 {
      %v = memref.load %x[%r, %j] : memref<1000x2000xf32>
      %d = arith.subf %v, %s : f32
      memref.store %d, %y[%r, %j] : memref<1000x2000xf32>
    }
  }
}

// A local buffer gets a row for each column of the strip, which is the narrower for it.
// CHECK-LABEL: sched.kernel @buffer
// CHECK-SAME:    attributes {schedule = "j: row by row, in strips of up to 128 columns"} {
// CHECK-NEXT:      %c128 = arith.constant 128 : index
// CHECK-NEXT:      %c2000 = arith.constant 2000 : index
// CHECK-NEXT:      sched.axis %j_outer = 16 {
// CHECK-NEXT:        %base = arith.muli %j_outer, %c128 : index
// CHECK-NEXT:        %left = arith.subi %c2000, %base : index
// CHECK-NEXT:        %kept = sched.alloc local : memref<256x128xf32>
// CHECK-NEXT:        sched.axis %r = 256 {
// CHECK-NEXT:          sched.axis %j_inner = 128 count %left {
// CHECK-NEXT:            %j = arith.addi %base, %j_inner : index
// CHECK-NEXT:            %v = memref.load %x[%r, %j] : memref<256x2000xf32>
// CHECK-NEXT:            %q = arith.mulf %v, %v : f32
// CHECK-NEXT:            memref.store %q, %kept[%r, %j_inner] : memref<256x128xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        %s_kept = sched.alloc local : memref<128xf32>
// CHECK-NEXT:        sched.axis %j_inner_a = 128 count %left {
// CHECK-NEXT:          %j_1 = arith.addi %base, %j_inner_a : index
// CHECK-NEXT:          %s = sched.reduce addf %i = 256 : f32 {
// CHECK-NEXT:            %v_1 = memref.load %kept[%i, %j_inner_a] : memref<256x128xf32>
// CHECK-NEXT:            sched.yield %v_1 : f32
// CHECK-NEXT:          }
// CHECK-NEXT:          memref.store %s, %s_kept[%j_inner_a] : memref<128xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        sched.axis %r_1 = 256 {
// CHECK-NEXT:          sched.axis %j_inner_a_a = 128 count %left {
// CHECK-NEXT:            %j_2 = arith.addi %base, %j_inner_a_a : index
// CHECK-NEXT:            %s_1 = memref.load %s_kept[%j_inner_a_a] : memref<128xf32>
// CHECK-NEXT:            %v_2 = memref.load %kept[%r_1, %j_inner_a_a] : memref<256x128xf32>
// CHECK-NEXT:            %d = arith.divf %v_2, %s_1 : f32
// CHECK-NEXT:            memref.store %d, %y[%r_1, %j_2] : memref<256x2000xf32>
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// SMALL-LABEL: sched.kernel @buffer
// SMALL:         sched.axis %j_outer = 63 {
sched.kernel @buffer(%x: memref<256x2000xf32>, %y: memref<256x2000xf32>) {
  sched.axis %j = 2000 {
    %kept = sched.alloc local : memref<256xf32>
    sched.axis %r = 256 {
      %v = memref.load %x[%r, %j] : memref<256x2000xf32>
      %q = arith.mulf %v, %v : f32
      memref.store %q, %kept[%r] : memref<256xf32>
    }
    %s = sched.reduce addf %i = 256 : f32 {
      %v = memref.load %kept[%i] : memref<256xf32>
      sched.yield %v : f32
    }
    sched.axis %r_1 = 256 {
      %v = memref.load %kept[%r_1] : memref<256xf32>
      %d = arith.divf %v, %s : f32
      memref.store %d, %y[%r_1, %j] : memref<256x2000xf32>
    }
  }
}

// What comes after the last loop stands in a strip of its own; fewer columns than a strip has are one.
// CHECK-LABEL: sched.kernel @edge
// CHECK-SAME:    attributes {schedule = "j: row by row, in strips of up to 100 columns"} {
// CHECK-NEXT:      %s_kept = sched.alloc local : memref<100xf32>
// CHECK-NEXT:      sched.axis %j = 100 {
// CHECK-NEXT:        %s = sched.reduce addf %i = 64 : f32 {
// CHECK-NEXT:          %v = memref.load %x[%i, %j] : memref<64x100xf32>
// CHECK-NEXT:          sched.yield %v : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        memref.store %s, %s_kept[%j] : memref<100xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      sched.axis %r = 64 {
// CHECK-NEXT:        sched.axis %j_a = 100 {
// CHECK-NEXT:          %s_1 = memref.load %s_kept[%j_a] : memref<100xf32>
// CHECK-NEXT:          %v_1 = memref.load %x[%r, %j_a] : memref<64x100xf32>
// CHECK-NEXT:          %d = arith.subf %v_1, %s_1 : f32
// CHECK-NEXT:          memref.store %d, %y[%r, %j_a] : memref<64x100xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      sched.axis %j_a_a = 100 {
// CHECK-NEXT:        %s_2 = memref.load %s_kept[%j_a_a] : memref<100xf32>
// CHECK-NEXT:        memref.store %s_2, %z[%j_a_a] : memref<100xf32>
// CHECK-NEXT:      }
// SMALL-LABEL: sched.kernel @edge
sched.kernel @edge(%x: memref<64x100xf32>, %y: memref<64x100xf32>, %z: memref<100xf32>) {
  sched.axis %j = 100 {
    %s = sched.reduce addf %i = 64 : f32 {
      %v = memref.load %x[%i, %j] : memref<64x100xf32>
      sched.yield %v : f32
    }
    sched.axis %r = 64 {
      %v = memref.load %x[%r, %j] : memref<64x100xf32>
      %d = arith.subf %v, %s : f32
      memref.store %d, %y[%r, %j] : memref<64x100xf32>
    }
    memref.store %s, %z[%j] : memref<100xf32>
  }
}

// Each of the columns that a kernel has.
// CHECK-LABEL: sched.kernel @twice
// CHECK-SAME:    "j: row by row, in strips of up to 100 columns; l: row by row, in strips of up to 200 columns"
// CHECK:         sched.axis %r = 64 {
// CHECK-NEXT:      sched.axis %j_a = 100 {
// CHECK:         sched.axis %q = 32 {
// CHECK-NEXT:      sched.axis %l_a = 200 {
sched.kernel @twice(%x: memref<64x100xf32>, %y: memref<64x100xf32>, %u: memref<32x200xf32>, %v: memref<32x200xf32>) {
  sched.axis %j = 100 {
    %s = sched.reduce addf %i = 64 : f32 {
      %a = memref.load %x[%i, %j] : memref<64x100xf32>
      sched.yield %a : f32
    }
    sched.axis %r = 64 {
      memref.store %s, %y[%r, %j] : memref<64x100xf32>
    }
  }
  sched.axis %l = 200 {
    %s = sched.reduce addf %i = 32 : f32 {
      %a = memref.load %u[%i, %l] : memref<32x200xf32>
      sched.yield %a : f32
    }
    sched.axis %q = 32 {
      memref.store %s, %v[%q, %l] : memref<32x200xf32>
    }
  }
}

// Not where a loop has its neighbours along itself, one loop alone, or fewer columns than any vector has.
// CHECK-LABEL: sched.kernel @rows
// CHECK-NEXT:    sched.axis %j = 100 {
// CHECK-NEXT:      %s =
sched.kernel @rows(%x: memref<100x64xf32>, %y: memref<100x64xf32>) {
  sched.axis %j = 100 {
    %s = sched.reduce addf %i = 64 : f32 {
      %v = memref.load %x[%j, %i] : memref<100x64xf32>
      sched.yield %v : f32
    }
    sched.axis %r = 64 {
      %v = memref.load %x[%j, %r] : memref<100x64xf32>
      %d = arith.subf %v, %s : f32
      memref.store %d, %y[%j, %r] : memref<100x64xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @alone
// CHECK-NEXT:    sched.axis %j = 100 {
// CHECK-NEXT:      %s =
sched.kernel @alone(%x: memref<64x100xf32>, %y: memref<100xf32>) {
  sched.axis %j = 100 {
    %s = sched.reduce addf %i = 64 : f32 {
      %v = memref.load %x[%i, %j] : memref<64x100xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%j] : memref<100xf32>
  }
}

// CHECK-LABEL: sched.kernel @narrow
// CHECK-NEXT:    sched.axis %j = 3 {
// CHECK-NEXT:      %s =
sched.kernel @narrow(%x: memref<64x3xf32>, %y: memref<64x3xf32>) {
  sched.axis %j = 3 {
    %s = sched.reduce addf %i = 64 : f32 {
      %v = memref.load %x[%i, %j] : memref<64x3xf32>
      sched.yield %v : f32
    }
    sched.axis %r = 64 {
      %v = memref.load %x[%r, %j] : memref<64x3xf32>
      %d = arith.subf %v, %s : f32
      memref.store %d, %y[%r, %j] : memref<64x3xf32>
    }
  }
}

// Four columns are a vector, of a part of a register.
// CHECK-LABEL: sched.kernel @four
// CHECK-SAME:    "j: row by row, in strips of up to 4 columns"
// CHECK:         sched.axis %r = 64 {
// CHECK-NEXT:      sched.axis %j_a = 4 {
sched.kernel @four(%x: memref<64x4xf32>, %y: memref<64x4xf32>) {
  sched.axis %j = 4 {
    %s = sched.reduce addf %i = 64 : f32 {
      %v = memref.load %x[%i, %j] : memref<64x4xf32>
      sched.yield %v : f32
    }
    sched.axis %r = 64 {
      %v = memref.load %x[%r, %j] : memref<64x4xf32>
      %d = arith.subf %v, %s : f32
      memref.store %d, %y[%r, %j] : memref<64x4xf32>
    }
  }
}

// Not where the second loop stores what the first one reads of other columns.
// CHECK-LABEL: sched.kernel @hazard
// CHECK-NEXT:    sched.axis %j = 100 {
// CHECK-NEXT:      %c1 =
sched.kernel @hazard(%x: memref<64x101xf32>) {
  sched.axis %j = 100 {
    %c1 = arith.constant 1 : index
    %next = arith.addi %j, %c1 : index
    %s = sched.reduce addf %i = 64 : f32 {
      %v = memref.load %x[%i, %next] : memref<64x101xf32>
      sched.yield %v : f32
    }
    sched.axis %r = 64 {
      memref.store %s, %x[%r, %j] : memref<64x101xf32>
    }
  }
}
