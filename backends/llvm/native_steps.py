"""
Running the steps of a program, as LLVM IR.

A step is `{ptr function, ptr table, i64 extent, i64 least}`: `function(table, begin, end)` is called for the
whole range `0 <= i < extent`, or through the pool for parts of at least `least`; `least` 0 is for never.

    @steps_run(ptr %steps, i64 %count)                    runs steps one after the other
    @steps_run_timed(ptr %steps, i64 %count, ptr %times)  ... and writes when each began and ended, in ns
    @copy_part(ptr %table, i64 %begin, i64 %end)          a step's function: bytes of table[1] to table[0]
"""

STEP_NBYTES = 32

_TEXT = """
%step = type { ptr, ptr, i64, i64 }
%timespec = type { i64, i64 }

declare i32 @clock_gettime(i32, ptr)
declare ptr @memmove(ptr, ptr, i64)

define internal i64 @now() nounwind {
  %time = alloca %timespec
  %r = call i32 @clock_gettime(i32 <clock>, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr %timespec, ptr %time, i64 0, i32 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

define void @copy_part(ptr %table, i64 %begin, i64 %end) nounwind {
  %target = load ptr, ptr %table
  %source.at = getelementptr ptr, ptr %table, i64 1
  %source = load ptr, ptr %source.at
  %to = getelementptr i8, ptr %target, i64 %begin
  %from = getelementptr i8, ptr %source, i64 %begin
  %nbytes = sub i64 %end, %begin
  %r = call ptr @memmove(ptr %to, ptr %from, i64 %nbytes)
  ret void
}

define internal void @step_run(ptr %this) nounwind {
  %function = load ptr, ptr %this
  %table.at = getelementptr %step, ptr %this, i64 0, i32 1
  %table = load ptr, ptr %table.at
  %extent.at = getelementptr %step, ptr %this, i64 0, i32 2
  %extent = load i64, ptr %extent.at
  %least.at = getelementptr %step, ptr %this, i64 0, i32 3
  %least = load i64, ptr %least.at
  %serial = icmp eq i64 %least, 0
  br i1 %serial, label %alone, label %together
alone:
  call void %function(ptr %table, i64 0, i64 %extent)
  ret void
together:
  call void @pool_run(ptr %function, ptr %table, i64 %extent, i64 %least)
  ret void
}

define void @steps_run(ptr %steps, i64 %count) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %out
body:
  %this = getelementptr %step, ptr %steps, i64 %i
  call void @step_run(ptr %this)
  %next = add i64 %i, 1
  br label %look
out:
  ret void
}

define void @steps_run_timed(ptr %steps, i64 %count, ptr %times) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %out
body:
  %this = getelementptr %step, ptr %steps, i64 %i
  %begin = call i64 @now()
  call void @step_run(ptr %this)
  %end = call i64 @now()
  %begin.at = getelementptr { i64, i64 }, ptr %times, i64 %i, i32 0
  store i64 %begin, ptr %begin.at
  %end.at = getelementptr { i64, i64 }, ptr %times, i64 %i, i32 1
  store i64 %end, ptr %end.at
  %next = add i64 %i, 1
  br label %look
out:
  ret void
}
"""


def steps_text(clock: int) -> str:
    """Returns the functions, which ask the clock of number `clock` for the time."""
    return _TEXT.replace("<clock>", str(clock))
