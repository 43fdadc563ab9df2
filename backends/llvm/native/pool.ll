; The thread pool: parallel ranges of work-groups, shared out in chunks.
;
;     @pool_share(ptr %pool, i32 %limit, ptr %function, ptr %table, i64 %extent, i64 %least)
;
; calls `function(table, begin, end)` for parts that make up `0 <= i < extent`, each of at least `least` but the
; last one, on `limit` threads at most. The caller claims parts as the workers do, and waits only for parts that a worker has claimed: never
; for a worker to wake up. One caller has the pool at a time; another one meanwhile runs its range alone.
;
; Workers look for work for a while after the last piece, then sleep; one that finds itself on the caller's
; processor sleeps at once. A caller watches the parts that workers have claimed for a while, then sleeps until
; they are done, so that its processor is free for the worker. One that waited longer than it worked itself (its
; worker lost the processor to another process) runs everything alone for as long, a second at most. Where it loses
; the processor again soon, that is twice as long as the last time, up to eight times as long as it waited: threads
; that another library leaves spinning are gone after some milliseconds, another process is not.
; Workers start when first needed, block all signals but those of faults, and end when the pool's number of
; threads is 0. A pool is zeros to begin with; process_pool.ll has the one of a process, library_pool.ll those
; that callers of a library make.
;
; On systems other than Linux, or processors whose `futex` is not known, serial_pool.ll stands in for this file and
; process_pool.ll. Its number and the way to pause are filled in by source.py.

; The fields of a pool; those that different threads write are two cache lines apart:
;
;     0   the job's number << 32 | the next part     12  the caller's processor
;     2   parts that are done                        13  first the threads that the job may use
;     3   whether the caller sleeps until all are    14  whether a caller has the pool
;     5   workers asleep                             15  threads to use, with the caller
;     7   function                                   16  workers that were started
;     8   table                                      17  until when callers work alone
;     9   extent                                     18  where the handles of workers go that end; null where
;     10  work-groups in a part                          they never do
;     11  parts                                      19  the numbers that workers have taken
;                                                    20  for how long callers worked alone the last time
%pool = type { i64, [15 x i64], i64, i32, [29 x i32], i32, [31 x i32], ptr, ptr, i64, i64, i64, i32, [21 x i32], i32, i32, i32, i64, ptr, i64, i64, [10 x i64] }

@signals = internal constant [16 x i64] [i64 -1273, i64 -1, i64 -1, i64 -1, i64 -1, i64 -1, i64 -1, i64 -1,
                                         i64 -1, i64 -1, i64 -1, i64 -1, i64 -1, i64 -1, i64 -1, i64 -1]

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare i64 @now()

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

; How a thread that looks again and again says so.
declare void @pause()
@futex.number = external global i8

; Sleeps while the word has a value (operation 128), or wakes that many sleepers (129).
define internal i64 @pool_futex(ptr %word, i64 %operation, i32 %value) nounwind {
  %r = call i64 (i64, ...) @syscall(i64 ptrtoint (ptr @futex.number to i64),
                                    ptr %word, i64 %operation, i32 %value, ptr null)
  ret i64 %r
}

; Claims parts of job %job until none is left.
define internal void @pool_drain(ptr %pool, i64 %job) nounwind {
entry:
  %done = getelementptr %pool, ptr %pool, i64 0, i32 2
  br label %look
look:
  %state = load atomic i64, ptr %pool acquire, align 8
  %now = lshr i64 %state, 32
  %same = icmp eq i64 %now, %job
  br i1 %same, label %current, label %out
current:
  ; These belong to %job if the exchange below succeeds: they change only while no part can be claimed. The
  ; fences, here and in @pool_run, see to it that who reads a new one finds the new %state too.
  %function.at = getelementptr %pool, ptr %pool, i64 0, i32 7
  %function = load atomic ptr, ptr %function.at monotonic, align 8
  %table.at = getelementptr %pool, ptr %pool, i64 0, i32 8
  %table = load atomic ptr, ptr %table.at monotonic, align 8
  %extent.at = getelementptr %pool, ptr %pool, i64 0, i32 9
  %extent = load atomic i64, ptr %extent.at monotonic, align 8
  %size.at = getelementptr %pool, ptr %pool, i64 0, i32 10
  %size = load atomic i64, ptr %size.at monotonic, align 8
  %parts.at = getelementptr %pool, ptr %pool, i64 0, i32 11
  %parts = load atomic i64, ptr %parts.at monotonic, align 8
  %part = and i64 %state, 4294967295
  %more = icmp ult i64 %part, %parts
  br i1 %more, label %claim, label %out
claim:
  %next = add i64 %state, 1
  fence acquire
  %swapped = cmpxchg ptr %pool, i64 %state, i64 %next acq_rel monotonic
  %claimed = extractvalue { i64, i1 } %swapped, 1
  br i1 %claimed, label %work, label %look
work:
  %begin = mul i64 %part, %size
  %full = add i64 %begin, %size
  %past = icmp ugt i64 %full, %extent
  %end = select i1 %past, i64 %extent, i64 %full
  call void %function(ptr %table, i64 %begin, i64 %end)
  %before = atomicrmw add ptr %done, i64 1 seq_cst
  %waiting.at = getelementptr %pool, ptr %pool, i64 0, i32 3
  %waiting = load atomic i32, ptr %waiting.at seq_cst, align 4
  %awaited = icmp ne i32 %waiting, 0
  br i1 %awaited, label %wake, label %look
wake:
  %r = call i64 @pool_futex(ptr %done, i64 129, i32 1)
  br label %look
out:
  ret void
}

define internal ptr @pool_worker(ptr %pool) nounwind {
entry:
  %masked = call i32 @pthread_sigmask(i32 2, ptr @signals, ptr null)
  %taken.at = getelementptr %pool, ptr %pool, i64 0, i32 19
  %taken = atomicrmw add ptr %taken.at, i64 1 monotonic
  %id = add i64 %taken, 1
  %word = getelementptr i8, ptr %pool, i64 4
  %sleepers = getelementptr %pool, ptr %pool, i64 0, i32 5
  %caller.at = getelementptr %pool, ptr %pool, i64 0, i32 12
  %threads.at = getelementptr %pool, ptr %pool, i64 0, i32 15
  br label %top
top:
  %last = phi i32 [ 0, %entry ], [ %last, %parked ], [ %last, %asleep ],
                  [ %job, %found ], [ %job, %allowed ], [ %job, %join ]
  %threads = load atomic i32, ptr %threads.at acquire, align 4
  %ended = icmp eq i32 %threads, 0
  br i1 %ended, label %end, label %staffed
end:
  ret ptr null
staffed:
  %threads.wide = zext i32 %threads to i64
  %used = icmp ult i64 %id, %threads.wide
  br i1 %used, label %spin, label %parked
parked:
  %r0 = call i64 @pool_futex(ptr %threads.at, i64 128, i32 %threads)
  br label %top
spin:
  %count = phi i64 [ 0, %staffed ], [ %count.next, %pause ], [ %count.next, %patient ]
  %since = phi i64 [ 0, %staffed ], [ %since, %pause ], [ %start, %patient ]
  %job = load atomic i32, ptr %word acquire, align 4
  %none = icmp eq i32 %job, %last
  br i1 %none, label %pause, label %found
pause:
  call void @pause()
  %count.next = add i64 %count, 1
  %low = and i64 %count.next, 31
  %check = icmp eq i64 %low, 0
  br i1 %check, label %clock, label %spin
clock:
  %now = call i64 @now()
  %first = icmp eq i64 %since, 0
  %start = select i1 %first, i64 %now, i64 %since
  %elapsed = sub i64 %now, %start
  ; How many nanoseconds a worker without work looks for some before it sleeps.
  %long = icmp ugt i64 %elapsed, 200000
  br i1 %long, label %asleep, label %patient
patient:
  ; On the caller's own processor a worker is in its way.
  %here = call i32 @sched_getcpu()
  %caller = load atomic i32, ptr %caller.at monotonic, align 4
  %in.the.way = icmp eq i32 %here, %caller
  br i1 %in.the.way, label %asleep, label %spin
asleep:
  %s0 = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %r1 = call i64 @pool_futex(ptr %word, i64 128, i32 %last)
  %s1 = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %top
found:
  ; There may be fewer threads since this one began to look.
  %threads.now = load atomic i32, ptr %threads.at acquire, align 4
  %threads.now.wide = zext i32 %threads.now to i64
  %still = icmp ult i64 %id, %threads.now.wide
  br i1 %still, label %allowed, label %top
allowed:
  ; This may be what a later job allows: of %job no part can be claimed then.
  %limit.at = getelementptr %pool, ptr %pool, i64 0, i32 13, i64 0
  %limit = load atomic i32, ptr %limit.at monotonic, align 4
  %limit.wide = zext i32 %limit to i64
  %welcome = icmp ult i64 %id, %limit.wide
  br i1 %welcome, label %join, label %top
join:
  %job.wide = zext i32 %job to i64
  call void @pool_drain(ptr %pool, i64 %job.wide)
  br label %top
}

; Starts the workers that are missing. Uses as many as there are where the system gives no more.
define internal void @pool_start(ptr %pool, i32 %workers) nounwind noinline {
entry:
  %thread = alloca i64
  %started.at = getelementptr %pool, ptr %pool, i64 0, i32 16
  %handles.at = getelementptr %pool, ptr %pool, i64 0, i32 18
  br label %look
look:
  %started = load i32, ptr %started.at
  %enough = icmp uge i32 %started, %workers
  br i1 %enough, label %out, label %create
create:
  %id = add i32 %started, 1
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @pool_worker, ptr %pool)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %fewer, label %created
created:
  store i32 %id, ptr %started.at
  %handle = load i64, ptr %thread
  %handles = load ptr, ptr %handles.at
  %never.ends = icmp eq ptr %handles, null
  br i1 %never.ends, label %detach, label %note
detach:
  %detached = call i32 @pthread_detach(i64 %handle)
  br label %look
note:
  %place = getelementptr i64, ptr %handles, i32 %started
  store i64 %handle, ptr %place
  br label %look
fewer:
  %threads.at = getelementptr %pool, ptr %pool, i64 0, i32 15
  %threads = add i32 %workers, 1
  %lowered = cmpxchg ptr %threads.at, i32 %threads, i32 %id seq_cst monotonic
  br label %out
out:
  ret void
}

define internal void @pool_share(ptr %pool, i32 %limit, ptr %function, ptr %table, i64 %extent, i64 %least) nounwind {
entry:
  %threads.at = getelementptr %pool, ptr %pool, i64 0, i32 15
  %threads.0 = load atomic i32, ptr %threads.at acquire, align 4
  %is.less = icmp ult i32 %limit, %threads.0
  %threads.1 = select i1 %is.less, i32 %limit, i32 %threads.0
  %several = icmp ugt i32 %threads.1, 1
  %long = icmp ugt i64 %extent, %least
  %wanted = and i1 %several, %long
  br i1 %wanted, label %lock, label %alone
alone:
  call void %function(ptr %table, i64 0, i64 %extent)
  ret void
lock:
  %busy.at = getelementptr %pool, ptr %pool, i64 0, i32 14
  %taken = cmpxchg ptr %busy.at, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %taken, 1
  br i1 %free, label %locked, label %alone
locked:
  %begun = call i64 @now()
  %until.at = getelementptr %pool, ptr %pool, i64 0, i32 17
  %until = load i64, ptr %until.at
  %avoid = icmp ult i64 %begun, %until
  br i1 %avoid, label %unlock, label %staff
unlock:
  store atomic i32 0, ptr %busy.at release, align 4
  br label %alone
staff:
  %started.at = getelementptr %pool, ptr %pool, i64 0, i32 16
  %started = load i32, ptr %started.at
  %workers = sub i32 %threads.0, 1
  %missing = icmp ult i32 %started, %workers
  br i1 %missing, label %start, label %share
start:
  call void @pool_start(ptr %pool, i32 %workers)
  br label %share
share:
  %threads = zext i32 %threads.1 to i64
  ; Eight parts for each thread.
  %wish = mul i64 %threads, 8
  %wish.less = sub i64 %wish, 1
  %even.0 = add i64 %extent, %wish.less
  %even = udiv i64 %even.0, %wish
  %small = icmp ult i64 %even, %least
  %size = select i1 %small, i64 %least, i64 %even
  %size.less = sub i64 %size, 1
  %parts.0 = add i64 %extent, %size.less
  %parts = udiv i64 %parts.0, %size
  ; No part of the last job can be claimed while its record is overwritten.
  %state = load atomic i64, ptr %pool monotonic, align 8
  %closed = or i64 %state, 4294967295
  store atomic i64 %closed, ptr %pool seq_cst, align 8
  fence release
  %done.at = getelementptr %pool, ptr %pool, i64 0, i32 2
  store atomic i64 0, ptr %done.at monotonic, align 8
  %function.at = getelementptr %pool, ptr %pool, i64 0, i32 7
  store atomic ptr %function, ptr %function.at monotonic, align 8
  %table.at = getelementptr %pool, ptr %pool, i64 0, i32 8
  store atomic ptr %table, ptr %table.at monotonic, align 8
  %extent.at = getelementptr %pool, ptr %pool, i64 0, i32 9
  store atomic i64 %extent, ptr %extent.at monotonic, align 8
  %size.at = getelementptr %pool, ptr %pool, i64 0, i32 10
  store atomic i64 %size, ptr %size.at monotonic, align 8
  %parts.at = getelementptr %pool, ptr %pool, i64 0, i32 11
  store atomic i64 %parts, ptr %parts.at monotonic, align 8
  %limit.at = getelementptr %pool, ptr %pool, i64 0, i32 13, i64 0
  store atomic i32 %threads.1, ptr %limit.at monotonic, align 4
  %here = call i32 @sched_getcpu()
  %caller.at = getelementptr %pool, ptr %pool, i64 0, i32 12
  store atomic i32 %here, ptr %caller.at monotonic, align 4
  %opened = add i64 %closed, 1
  store atomic i64 %opened, ptr %pool seq_cst, align 8
  %sleepers.at = getelementptr %pool, ptr %pool, i64 0, i32 5
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %work
wake:
  %word = getelementptr i8, ptr %pool, i64 4
  %r = call i64 @pool_futex(ptr %word, i64 129, i32 2147483647)
  br label %work
work:
  %job = lshr i64 %opened, 32
  call void @pool_drain(ptr %pool, i64 %job)
  %done.0 = load atomic i64, ptr %done.at acquire, align 8
  %all.0 = icmp eq i64 %done.0, %parts
  br i1 %all.0, label %out, label %late
late:
  %worked = call i64 @now()
  br label %wait
wait:
  %count = phi i64 [ 0, %late ], [ %count.next, %pause ], [ %count.next, %check ]
  %done.1 = load atomic i64, ptr %done.at acquire, align 8
  %all.1 = icmp eq i64 %done.1, %parts
  br i1 %all.1, label %waited, label %pause
pause:
  call void @pause()
  %count.next = add i64 %count, 1
  %low = and i64 %count.next, 31
  %is.time = icmp eq i64 %low, 0
  br i1 %is.time, label %check, label %wait
check:
  %now = call i64 @now()
  %elapsed = sub i64 %now, %worked
  ; How many nanoseconds a caller watches the parts of others before it sleeps.
  %patient = icmp ult i64 %elapsed, 50000
  br i1 %patient, label %wait, label %sleep
sleep:
  %waiting.at = getelementptr %pool, ptr %pool, i64 0, i32 3
  store atomic i32 1, ptr %waiting.at seq_cst, align 4
  br label %nap
nap:
  %done.2 = load atomic i64, ptr %done.at seq_cst, align 8
  %all.2 = icmp eq i64 %done.2, %parts
  br i1 %all.2, label %woken, label %napping
napping:
  %done.short = trunc i64 %done.2 to i32
  %n = call i64 @pool_futex(ptr %done.at, i64 128, i32 %done.short)
  br label %nap
woken:
  store atomic i32 0, ptr %waiting.at seq_cst, align 4
  br label %waited
waited:
  %checked = icmp ugt i64 %count, 31
  br i1 %checked, label %judge, label %out
judge:
  %end = call i64 @now()
  %lost = sub i64 %end, %worked
  %own = sub i64 %worked, %begun
  %worse = icmp ugt i64 %lost, %own
  ; As long as it watched.
  %much = icmp ugt i64 %lost, 50000
  %stalled = and i1 %worse, %much
  br i1 %stalled, label %penalty, label %out
penalty:
  %last.at = getelementptr %pool, ptr %pool, i64 0, i32 20
  %last = load i64, ptr %last.at
  %since = sub i64 %end, %until
  %last.4 = shl i64 %last, 2
  %soon = icmp ult i64 %since, %last.4
  %last.2 = shl i64 %last, 1
  %lost.8 = shl i64 %lost, 3
  %doubled = call i64 @llvm.umin.i64(i64 %last.2, i64 %lost.8)
  %again = call i64 @llvm.umax.i64(i64 %doubled, i64 %lost)
  %penalty.0 = select i1 %soon, i64 %again, i64 %lost
  ; At most a second: a process that was stopped for an hour has lost no processor.
  %penalty.1 = call i64 @llvm.umin.i64(i64 %penalty.0, i64 1000000000)
  store i64 %penalty.1, ptr %last.at
  %penalty.end = add i64 %end, %penalty.1
  store i64 %penalty.end, ptr %until.at
  br label %out
out:
  store atomic i32 0, ptr %busy.at release, align 4
  ret void
}
