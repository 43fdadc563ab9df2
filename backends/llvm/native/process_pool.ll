; The pool of a process, whose workers never end.
;
;     @pool_run(ptr %function, ptr %table, i64 %extent, i64 %least)    shares a range out
;     @pool_execute(ptr %context, ...)                                 the same, as an executor of a library
;     @pool_use(i32 %threads)                                          says how many threads there are
;     @pool_limit(i32 %threads)                                        ... for the calling one; 0 is for no limit

%pool = type { i64, [15 x i64], i64, i32, [29 x i32], i32, [31 x i32], ptr, ptr, i64, i64, i64, i32, [21 x i32], i32, i32, i32, i64, ptr, i64, i64, [10 x i64] }
@pool = internal global %pool zeroinitializer, align 128
; The key of the number of threads that each thread may use, plus 1; 0 while no thread ever set one.
@pool.key = internal global i32 0

declare i32 @pthread_key_create(ptr, ptr)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @pthread_getspecific(i32)
declare i64 @pool_futex(ptr, i64, i32)
declare void @pool_share(ptr, i32, ptr, ptr, i64, i64)

; From now on %threads threads work, the caller among them. Returns how many there were.
define i32 @pool_use(i32 %threads) nounwind {
  %threads.at = getelementptr %pool, ptr @pool, i64 0, i32 15
  %old = atomicrmw xchg ptr %threads.at, i32 %threads seq_cst
  %r = call i64 @pool_futex(ptr %threads.at, i64 129, i32 2147483647)
  ret i32 %old
}

; In the child of a fork: the workers and the callers of the parent are not here.
define void @pool_forget() nounwind {
  %threads.at = getelementptr %pool, ptr @pool, i64 0, i32 15
  %threads = load i32, ptr %threads.at
  store %pool zeroinitializer, ptr @pool
  store i32 %threads, ptr %threads.at
  ret void
}

; Returns 0, or the number of an error of the system. The caller has the interpreter's lock.
define i32 @pool_limit(i32 %threads) nounwind {
entry:
  %key.new = alloca i32
  %known = load i32, ptr @pool.key
  %is.known = icmp ne i32 %known, 0
  br i1 %is.known, label %set, label %make
make:
  %error.made = call i32 @pthread_key_create(ptr %key.new, ptr null)
  %failed = icmp ne i32 %error.made, 0
  br i1 %failed, label %out, label %made
made:
  %new = load i32, ptr %key.new
  %new.known = add i32 %new, 1
  store atomic i32 %new.known, ptr @pool.key release, align 4
  br label %set
set:
  %now.known = phi i32 [ %known, %entry ], [ %new.known, %made ]
  %key = sub i32 %now.known, 1
  %wide = zext i32 %threads to i64
  %value = inttoptr i64 %wide to ptr
  %error.set = call i32 @pthread_setspecific(i32 %key, ptr %value)
  br label %out
out:
  %error = phi i32 [ %error.made, %make ], [ %error.set, %set ]
  ret i32 %error
}

; How many threads the calling one may use.
define internal i32 @pool_own_limit() nounwind {
entry:
  %known = load atomic i32, ptr @pool.key acquire, align 4
  %is.known = icmp ne i32 %known, 0
  br i1 %is.known, label %get, label %none
get:
  %key = sub i32 %known, 1
  %value = call ptr @pthread_getspecific(i32 %key)
  %wide = ptrtoint ptr %value to i64
  %limit = trunc i64 %wide to i32
  %limited = icmp ne i32 %limit, 0
  br i1 %limited, label %own, label %none
own:
  ret i32 %limit
none:
  ret i32 -1
}

define void @pool_run(ptr %function, ptr %table, i64 %extent, i64 %least) nounwind {
  %limit = call i32 @pool_own_limit()
  call void @pool_share(ptr @pool, i32 %limit, ptr %function, ptr %table, i64 %extent, i64 %least)
  ret void
}

define void @pool_execute(ptr %context, ptr %function, ptr %table, i64 %extent, i64 %least) nounwind {
  call void @pool_run(ptr %function, ptr %table, i64 %extent, i64 %least)
  ret void
}
