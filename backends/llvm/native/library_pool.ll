; The pools that callers of an exported library make, and the weights that they map.
;
;     @pool_open(ptr %executor, i32 %threads)   makes a pool of so many threads, 0 for one for each processor
;     @pool_close(ptr %executor)                ends its workers; nobody may be using it
;     @weights_open(ptr %path, ptr %header, i64 %nbytes, ptr %weights)
;     @weights_close(ptr %weights, i64 %nbytes)
;
; An executor is `{run, context}`: `run(context, function, table, extent, least)` shares a range out. Results
; are the codes of compiler/export/c_interface.py. A file of weights is its header of 64 bytes, which tells
; whose they are, and then so many bytes.

%pool = type { i64, [15 x i64], i64, i32, [29 x i32], i32, [31 x i32], ptr, ptr, i64, i64, i64, i32, [21 x i32], i32, i32, i32, i64, ptr, i64, i64, [10 x i64] }
%executor = type { ptr, ptr }

declare i32 @posix_memalign(ptr, i64, i64)
declare ptr @memset(ptr, i32, i64)
declare void @free(ptr)
declare i32 @pthread_join(i64, ptr)
declare i64 @sysconf(i32)
declare i64 @pool_futex(ptr, i64, i32)
declare void @pool_share(ptr, i32, ptr, ptr, i64, i64)
declare i32 @open(ptr, i32, ...)
declare i64 @lseek(i32, i64, i32)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @close(i32)
declare i32 @memcmp(ptr, ptr, i64)

define internal void @pool_serve(ptr %pool, ptr %function, ptr %table, i64 %extent, i64 %least) nounwind {
  call void @pool_share(ptr %pool, i32 -1, ptr %function, ptr %table, i64 %extent, i64 %least)
  ret void
}

define internal i32 @pool_open(ptr %executor, i32 %threads) nounwind {
entry:
  %made = alloca ptr
  store %executor zeroinitializer, ptr %executor
  %all = icmp eq i32 %threads, 0
  br i1 %all, label %ask, label %check
ask:
  ; _SC_NPROCESSORS_ONLN
  %online = call i64 @sysconf(i32 84)
  %online.short = trunc i64 %online to i32
  %online.least = call i32 @llvm.smax.i32(i32 %online.short, i32 1)
  %online.most = call i32 @llvm.smin.i32(i32 %online.least, i32 1024)
  br label %check
check:
  %count = phi i32 [ %threads, %entry ], [ %online.most, %ask ]
  %less = sub i32 %count, 1
  %wrong = icmp uge i32 %less, 1024
  br i1 %wrong, label %refuse, label %make
refuse:
  ret i32 6
make:
  %wide = zext i32 %count to i64
  %handles.nbytes = mul i64 %wide, 8
  %own = ptrtoint ptr getelementptr (%pool, ptr null, i64 1) to i64
  %nbytes = add i64 %own, %handles.nbytes
  %error = call i32 @posix_memalign(ptr %made, i64 128, i64 %nbytes)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %none, label %fill
none:
  ret i32 4
fill:
  %pool = load ptr, ptr %made
  %r = call ptr @memset(ptr %pool, i32 0, i64 %nbytes)
  %threads.at = getelementptr %pool, ptr %pool, i64 0, i32 15
  store i32 %count, ptr %threads.at
  %handles.at = getelementptr %pool, ptr %pool, i64 0, i32 18
  %handles = getelementptr %pool, ptr %pool, i64 1
  store ptr %handles, ptr %handles.at
  store ptr @pool_serve, ptr %executor
  %context.at = getelementptr %executor, ptr %executor, i64 0, i32 1
  store ptr %pool, ptr %context.at
  ret i32 0
}

declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)

define internal void @pool_close(ptr %executor) nounwind {
entry:
  %context.at = getelementptr %executor, ptr %executor, i64 0, i32 1
  %pool = load ptr, ptr %context.at
  %none = icmp eq ptr %pool, null
  br i1 %none, label %out, label %end
end:
  %started.at = getelementptr %pool, ptr %pool, i64 0, i32 16
  %started = load i32, ptr %started.at
  %handles.at = getelementptr %pool, ptr %pool, i64 0, i32 18
  %handles = load ptr, ptr %handles.at
  %threads.at = getelementptr %pool, ptr %pool, i64 0, i32 15
  store atomic i32 0, ptr %threads.at seq_cst, align 4
  ; A worker that goes to sleep from here on finds another job, of which no part can be claimed.
  %state = load atomic i64, ptr %pool monotonic, align 8
  %closed = or i64 %state, 4294967295
  %next = add i64 %closed, 4294967296
  store atomic i64 %next, ptr %pool seq_cst, align 8
  %word = getelementptr i8, ptr %pool, i64 4
  %r0 = call i64 @pool_futex(ptr %word, i64 129, i32 2147483647)
  %r1 = call i64 @pool_futex(ptr %threads.at, i64 129, i32 2147483647)
  br label %look
look:
  %i = phi i32 [ 0, %end ], [ %i.next, %join ]
  %more = icmp ult i32 %i, %started
  br i1 %more, label %join, label %release
join:
  %place = getelementptr i64, ptr %handles, i32 %i
  %handle = load i64, ptr %place
  %r2 = call i32 @pthread_join(i64 %handle, ptr null)
  %i.next = add i32 %i, 1
  br label %look
release:
  call void @free(ptr %pool)
  store %executor zeroinitializer, ptr %executor
  br label %out
out:
  ret void
}

define internal i32 @weights_open(ptr %path, ptr %header, i64 %nbytes, ptr %weights) nounwind {
entry:
  store ptr null, ptr %weights
  ; O_RDONLY | O_CLOEXEC
  %file = call i32 (ptr, i32, ...) @open(ptr %path, i32 524288)
  %missing = icmp slt i32 %file, 0
  br i1 %missing, label %wrong, label %measure
measure:
  %found = call i64 @lseek(i32 %file, i64 0, i32 2)
  %all = add i64 %nbytes, 64
  %same = icmp eq i64 %found, %all
  br i1 %same, label %map, label %leave
leave:
  %r0 = call i32 @close(i32 %file)
  br label %wrong
map:
  ; PROT_READ, MAP_PRIVATE
  %memory = call ptr @mmap(ptr null, i64 %all, i32 1, i32 2, i32 %file, i64 0)
  %r1 = call i32 @close(i32 %file)
  %unmapped = icmp eq ptr %memory, inttoptr (i64 -1 to ptr)
  br i1 %unmapped, label %none, label %compare
none:
  ret i32 4
compare:
  %difference = call i32 @memcmp(ptr %memory, ptr %header, i64 64)
  %differs = icmp ne i32 %difference, 0
  br i1 %differs, label %unmap, label %done
unmap:
  %r2 = call i32 @munmap(ptr %memory, i64 %all)
  br label %wrong
wrong:
  ret i32 5
done:
  %first = getelementptr i8, ptr %memory, i64 64
  store ptr %first, ptr %weights
  ret i32 0
}

define internal void @weights_close(ptr %weights, i64 %nbytes) nounwind {
entry:
  %none = icmp eq ptr %weights, null
  br i1 %none, label %out, label %unmap
unmap:
  %all = add i64 %nbytes, 64
  %memory = getelementptr i8, ptr %weights, i64 -64
  %r = call i32 @munmap(ptr %memory, i64 %all)
  br label %out
out:
  ret void
}
