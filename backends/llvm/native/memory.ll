; Memory of numpy's arrays that begins where lines of the cache do: the functions of a `PyDataMem_Handler`.
;
;     @lines_malloc(ptr %context, i64 %nbytes)
;     @lines_calloc(ptr %context, i64 %count, i64 %nbytes)
;     @lines_realloc(ptr %context, ptr %memory, i64 %nbytes)
;     @lines_free(ptr %context, ptr %memory, i64 %nbytes)
;
; A block of the C library's has it somewhere, behind the address of the block itself. (Asked for aligned memory
; the library takes larger blocks than it gets back, and finds none of them again.)
;
; What takes 4 MiB and more is asked for in large pages, as numpy does itself. Of 32 MiB and more, which the C
; library would return to the system and take from it again page by page, the last block that was freed is
; kept for the next array of its size, up to 1 GiB. The system may take its pages as soon as it needs them.
;
; The interpreter's lock guards the block that is kept: numpy makes and drops arrays with it.

declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare ptr @memmove(ptr, ptr, i64)

@lines.kept = internal global ptr null
@lines.kept.nbytes = internal global i64 0

define ptr @lines_malloc(ptr %context, i64 %nbytes) nounwind {
entry:
  %is.kept.size = icmp uge i64 %nbytes, 33554432
  br i1 %is.kept.size, label %look, label %make
look:
  %kept = load ptr, ptr @lines.kept
  %kept.nbytes = load i64, ptr @lines.kept.nbytes
  ; As large as this, and no more than a quarter larger.
  %over = sub i64 %kept.nbytes, %nbytes
  %quarter = lshr i64 %nbytes, 2
  %near = icmp ule i64 %over, %quarter
  %enough = icmp uge i64 %kept.nbytes, %nbytes
  %fits = and i1 %enough, %near
  %some = icmp ne ptr %kept, null
  %yes = and i1 %some, %fits
  br i1 %yes, label %take, label %make
take:
  store ptr null, ptr @lines.kept
  ret ptr %kept
make:
  %alignment = call i64 @lines_alignment(i64 %nbytes)
  %wanted = call i64 @lines_block_nbytes(i64 %nbytes)
  %block = call ptr @malloc(i64 %wanted)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %fail, label %made
fail:
  ret ptr null
made:
  %memory = call ptr @lines_in(ptr %block, i64 %alignment)
  %is.large = icmp uge i64 %nbytes, 4194304
  br i1 %is.large, label %pages, label %done
pages:
  call void @lines_advise(ptr %memory, i64 %nbytes, i32 14)  ; MADV_HUGEPAGE
  br label %done
done:
  ret ptr %memory
}

define ptr @lines_calloc(ptr %context, i64 %count, i64 %nbytes) nounwind {
entry:
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %nbytes)
  %overflows = extractvalue { i64, i1 } %product, 1
  br i1 %overflows, label %fail, label %make
make:
  %total = extractvalue { i64, i1 } %product, 0
  %alignment = call i64 @lines_alignment(i64 %total)
  %wanted = call i64 @lines_block_nbytes(i64 %total)
  %block = call ptr @calloc(i64 %wanted, i64 1)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %fail, label %made
fail:
  ret ptr null
made:
  %memory = call ptr @lines_in(ptr %block, i64 %alignment)
  ret ptr %memory
}

define ptr @lines_realloc(ptr %context, ptr %memory, i64 %nbytes) nounwind {
entry:
  %before = call ptr @lines_block(ptr %memory)
  %before.address = ptrtoint ptr %before to i64
  %address = ptrtoint ptr %memory to i64
  %offset = sub i64 %address, %before.address
  ; What is there stays where it is in the block, before it moves to a line.
  %alignment = call i64 @lines_alignment(i64 %nbytes)
  %more = call i64 @lines_block_nbytes(i64 %nbytes)
  %wanted = call i64 @llvm.uadd.sat.i64(i64 %more, i64 %offset)
  %block = call ptr @realloc(ptr %before, i64 %wanted)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %fail, label %moved
fail:
  ret ptr null
moved:
  %from = getelementptr i8, ptr %block, i64 %offset
  %to = call ptr @lines_place(ptr %block, i64 %alignment)
  %r = call ptr @memmove(ptr %to, ptr %from, i64 %nbytes)
  %found = call ptr @lines_in(ptr %block, i64 %alignment)
  ret ptr %found
}

define void @lines_free(ptr %context, ptr %memory, i64 %nbytes) nounwind {
entry:
  %none = icmp eq ptr %memory, null
  br i1 %none, label %done, label %choose
choose:
  %over = sub i64 %nbytes, 33554432
  %is.kept = icmp ule i64 %over, 1040187392
  br i1 %is.kept, label %keep, label %drop
keep:
  %before = load ptr, ptr @lines.kept
  store ptr %memory, ptr @lines.kept
  store i64 %nbytes, ptr @lines.kept.nbytes
  call void @lines_advise(ptr %memory, i64 %nbytes, i32 8)  ; MADV_FREE
  %nothing = icmp eq ptr %before, null
  br i1 %nothing, label %done, label %drop
drop:
  %dropped = phi ptr [ %memory, %choose ], [ %before, %keep ]
  %block = call ptr @lines_block(ptr %dropped)
  call void @free(ptr %block)
  br label %done
done:
  ret void
}

; Large pages of 2 MiB begin where the largest arrays do.
define internal i64 @lines_alignment(i64 %nbytes) nounwind {
  %is.kept.size = icmp uge i64 %nbytes, 33554432
  %alignment = select i1 %is.kept.size, i64 2097152, i64 64
  ret i64 %alignment
}

; The bytes of a block: memory, what is before it, and the address of the block. More than there are of too many.
define internal i64 @lines_block_nbytes(i64 %nbytes) nounwind {
  %alignment = call i64 @lines_alignment(i64 %nbytes)
  %more = add i64 %alignment, 8
  %total = call i64 @llvm.uadd.sat.i64(i64 %nbytes, i64 %more)
  ret i64 %total
}

; Where memory begins in a block, with the address of the block before it.
define internal ptr @lines_place(ptr %block, i64 %alignment) nounwind {
  %address = ptrtoint ptr %block to i64
  %mask = sub i64 0, %alignment
  %before = add i64 %alignment, 7
  %above = add i64 %address, %before
  %first = and i64 %above, %mask
  %memory = inttoptr i64 %first to ptr
  ret ptr %memory
}

; The memory in a block, which knows its block from now on.
define internal ptr @lines_in(ptr %block, i64 %alignment) nounwind {
  %memory = call ptr @lines_place(ptr %block, i64 %alignment)
  %known = getelementptr ptr, ptr %memory, i64 -1
  store ptr %block, ptr %known
  ret ptr %memory
}

; The block that memory lies in.
define internal ptr @lines_block(ptr %memory) nounwind {
  %known = getelementptr ptr, ptr %memory, i64 -1
  %block = load ptr, ptr %known
  ret ptr %block
}

; Tells the system of the whole pages of some memory. What it makes of that does not matter.
define internal void @lines_advise(ptr %memory, i64 %nbytes, i32 %advice) nounwind {
  %address = ptrtoint ptr %memory to i64
  %above = add i64 %address, 4095
  %first = and i64 %above, -4096
  %skipped = sub i64 %first, %address
  %left = sub i64 %nbytes, %skipped
  %whole = and i64 %left, -4096
  %page = inttoptr i64 %first to ptr
  %r = call i32 @madvise(ptr %page, i64 %whole, i32 %advice)
  ret void
}

declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare i64 @llvm.uadd.sat.i64(i64, i64)
