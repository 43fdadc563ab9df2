; The functions of process_pool.ll for systems where there is no pool: all runs in the caller's thread.

define i32 @pool_use(i32 %threads) nounwind {
  ret i32 1
}

define void @pool_forget() nounwind {
  ret void
}

define i32 @pool_limit(i32 %threads) nounwind {
  ret i32 0
}

define void @pool_run(ptr %function, ptr %table, i64 %extent, i64 %least) nounwind {
  call void %function(ptr %table, i64 0, i64 %extent)
  ret void
}

define void @pool_execute(ptr %context, ptr %function, ptr %table, i64 %extent, i64 %least) nounwind {
  call void %function(ptr %table, i64 0, i64 %extent)
  ret void
}
