; What steps and pools ask of the system.
;
;     @now()                                         nanoseconds of the monotonic clock
;     @copy_part(ptr %table, i64 %begin, i64 %end)   a step's function: bytes of table[1] to table[0]

%timespec = type { i64, i64 }

; Asked for the time of the monotonic clock, whose number source.py fills in.
declare i32 @clock_gettime(i32, ptr)
@clock.number = external global i8

declare ptr @memmove(ptr, ptr, i64)

define internal i64 @now() nounwind {
  %time = alloca %timespec
  %r = call i32 @clock_gettime(i32 ptrtoint (ptr @clock.number to i32), ptr %time)
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
