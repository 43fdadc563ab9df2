; Running the steps of a program.
;
; A step is `{ptr function, ptr table, i64 extent, i64 least}`: `function(table, begin, end)` is called for the
; whole range `0 <= i < extent`, or through the pool for parts of at least `least`; `least` 0 is for never.
;
; A negative `least` is a step that says which step is next:
;
;     LOOP      begins a loop: `table` is a `%loop`
;     NEXT      ends an iteration of the loop of `table`, which begins with step `extent`
;     BRANCH    goes on with step `extent` where the byte that `table` points to is 0
;     JUMP      goes on with step `extent`
;     HOST      calls the interpreter's object `function` with the address of `table`, an int
;
;     @steps_walk(ptr %steps, i64 %count)                    runs steps
;     @steps_walk_timed(ptr %steps, i64 %count, ptr %times)  ... and notes for each when, how long and how often
;     @steps_run, @steps_run_timed                           the same, without the interpreter's lock meanwhile
;
; Words are counted from the first step on. `times` begin as zeros. A loop without a count looks every now and
; then whether a signal wants an exception raised. Where one is, or an object that is called raises one, steps
; end early, with true or 1 and the exception set.

%step = type { ptr, ptr, i64, i64 }
%time = type { i64, i64, i64 }  ; when it first began, the sum of what its runs took, runs
%row = type { i64, i64, i64 }  ; the word with the address of the buffer, the row's, bytes to the next row
%loop = type {
  ptr,  ; 0: the counter's buffer
  i64,  ; 1: iterations to come, with the one that runs
  i64,  ; 2: the number of the iteration
  i64,  ; 3: iterations
  i64,  ; 4: the number of the first one
  i64,  ; 5: what the number grows by
  i64,  ; 6: rows
  i64   ; 7: the word that the rows begin with
}

declare i64 @now()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare void @Py_DecRef(ptr)
declare void @pool_run(ptr, ptr, i64, i64)

@signals.looked = internal global i64 0

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

; Puts the rows of a loop, and its counter, where they are in its current iteration.
define internal void @loop_place(ptr %words, ptr %loop) nounwind {
entry:
  %current.at = getelementptr %loop, ptr %loop, i64 0, i32 2
  %current = load i64, ptr %current.at
  %counter = load ptr, ptr %loop
  %counts = icmp ne ptr %counter, null
  br i1 %counts, label %count, label %rows
count:
  store i64 %current, ptr %counter
  br label %rows
rows:
  %n.at = getelementptr %loop, ptr %loop, i64 0, i32 6
  %n = load i64, ptr %n.at
  %rows.at = getelementptr %loop, ptr %loop, i64 0, i32 7
  %rows.number = load i64, ptr %rows.at
  %row.first = getelementptr i64, ptr %words, i64 %rows.number
  br label %row
row:
  %i = phi i64 [ 0, %rows ], [ %next, %place ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %place, label %out
place:
  %row.at = getelementptr %row, ptr %row.first, i64 %i
  %source.number = load i64, ptr %row.at
  %target.at = getelementptr %row, ptr %row.at, i64 0, i32 1
  %target.number = load i64, ptr %target.at
  %stride.at = getelementptr %row, ptr %row.at, i64 0, i32 2
  %stride = load i64, ptr %stride.at
  %source.at = getelementptr i64, ptr %words, i64 %source.number
  %source = load i64, ptr %source.at
  %offset = mul i64 %current, %stride
  %address = add i64 %source, %offset
  %slot = getelementptr i64, ptr %words, i64 %target.number
  store i64 %address, ptr %slot
  %next = add i64 %i, 1
  br label %row
out:
  ret void
}

; Whether a handler of a signal, that of Ctrl-C say, raised an exception. It looks every 20 ms.
define internal i1 @interrupted() nounwind {
  %now = call i64 @now()
  %last = load atomic i64, ptr @signals.looked monotonic, align 8
  %passed = sub i64 %now, %last
  %due = icmp ugt i64 %passed, 20000000
  br i1 %due, label %look, label %go
look:
  store atomic i64 %now, ptr @signals.looked monotonic, align 8
  %state = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %state)
  %stop = icmp ne i32 %raised, 0
  ret i1 %stop
go:
  ret i1 false
}

; Calls an object of the interpreter with a table, and returns whether it raised an exception.
define internal i1 @host_call(ptr %callable, ptr %table) nounwind {
entry:
  %state = call i32 @PyGILState_Ensure()
  %address = call ptr @PyLong_FromVoidPtr(ptr %table)
  %no.address = icmp eq ptr %address, null
  br i1 %no.address, label %raised, label %call
call:
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %callable, ptr %address, ptr null)
  call void @Py_DecRef(ptr %address)
  %no.result = icmp eq ptr %result, null
  br i1 %no.result, label %raised, label %done
done:
  call void @Py_DecRef(ptr %result)
  call void @PyGILState_Release(i32 %state)
  ret i1 false
raised:
  call void @PyGILState_Release(i32 %state)
  ret i1 true
}

; Does what control step %i says, and returns the number of the step to go on with; -1 to stop.
define internal i64 @step_control(ptr %words, ptr %this, i64 %i) nounwind {
entry:
  %next = add i64 %i, 1
  %table.at = getelementptr %step, ptr %this, i64 0, i32 1
  %table = load ptr, ptr %table.at
  %extent.at = getelementptr %step, ptr %this, i64 0, i32 2
  %extent = load i64, ptr %extent.at
  %kind.at = getelementptr %step, ptr %this, i64 0, i32 3
  %kind = load i64, ptr %kind.at
  %left.at = getelementptr %loop, ptr %table, i64 0, i32 1
  %current.at = getelementptr %loop, ptr %table, i64 0, i32 2
  %count.at = getelementptr %loop, ptr %table, i64 0, i32 3
  %first.at = getelementptr %loop, ptr %table, i64 0, i32 4
  %by.at = getelementptr %loop, ptr %table, i64 0, i32 5
  switch i64 %kind, label %jump [ i64 -1, label %begin
                                  i64 -2, label %turn
                                  i64 -3, label %branch
                                  i64 -5, label %host ]
begin:
  %count = load i64, ptr %count.at
  store i64 %count, ptr %left.at
  %first = load i64, ptr %first.at
  store i64 %first, ptr %current.at
  call void @loop_place(ptr %words, ptr %table)
  ret i64 %next
turn:
  %left = load i64, ptr %left.at
  %left.now = sub i64 %left, 1
  store i64 %left.now, ptr %left.at
  %done = icmp eq i64 %left.now, 0
  br i1 %done, label %leave, label %again
leave:
  ret i64 %next
again:
  %current = load i64, ptr %current.at
  %by = load i64, ptr %by.at
  %current.now = add i64 %current, %by
  store i64 %current.now, ptr %current.at
  call void @loop_place(ptr %words, ptr %table)
  ret i64 %extent
branch:
  %condition = load ptr, ptr %table
  %value = load i8, ptr %condition
  %holds = icmp ne i8 %value, 0
  %chosen = select i1 %holds, i64 %next, i64 %extent
  ret i64 %chosen
host:
  %callable = load ptr, ptr %this
  %raised = call i1 @host_call(ptr %callable, ptr %table)
  br i1 %raised, label %interrupt, label %called
called:
  ret i64 %next
jump:
  %back = icmp ule i64 %extent, %i
  br i1 %back, label %look, label %go
look:
  %stop = call i1 @interrupted()
  br i1 %stop, label %interrupt, label %go
interrupt:
  ret i64 -1
go:
  ret i64 %extent
}

define internal i1 @steps_walk(ptr %steps, i64 %count) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %body ], [ %chosen, %control ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %which, label %out
which:
  %this = getelementptr %step, ptr %steps, i64 %i
  %least.at = getelementptr %step, ptr %this, i64 0, i32 3
  %least = load i64, ptr %least.at
  %controls = icmp slt i64 %least, 0
  br i1 %controls, label %control, label %body
control:
  %chosen = call i64 @step_control(ptr %steps, ptr %this, i64 %i)
  br label %look
body:
  call void @step_run(ptr %this)
  %next = add i64 %i, 1
  br label %look
out:
  %stopped = icmp eq i64 %i, -1
  ret i1 %stopped
}

define internal i1 @steps_walk_timed(ptr %steps, i64 %count, ptr %times) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %add ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %which, label %out
which:
  %this = getelementptr %step, ptr %steps, i64 %i
  %least.at = getelementptr %step, ptr %this, i64 0, i32 3
  %least = load i64, ptr %least.at
  %begin = call i64 @now()
  %controls = icmp slt i64 %least, 0
  br i1 %controls, label %control, label %body
control:
  %chosen = call i64 @step_control(ptr %steps, ptr %this, i64 %i)
  br label %note
body:
  call void @step_run(ptr %this)
  %following = add i64 %i, 1
  br label %note
note:
  %next = phi i64 [ %chosen, %control ], [ %following, %body ]
  %end = call i64 @now()
  %taken = sub i64 %end, %begin
  %time = getelementptr %time, ptr %times, i64 %i
  %sum.at = getelementptr %time, ptr %time, i64 0, i32 1
  %runs.at = getelementptr %time, ptr %time, i64 0, i32 2
  %runs = load i64, ptr %runs.at
  %is.first = icmp eq i64 %runs, 0
  br i1 %is.first, label %first, label %add
first:
  store i64 %begin, ptr %time
  br label %add
add:
  %sum = load i64, ptr %sum.at
  %sum.now = add i64 %sum, %taken
  store i64 %sum.now, ptr %sum.at
  %runs.now = add i64 %runs, 1
  store i64 %runs.now, ptr %runs.at
  br label %look
out:
  %stopped = icmp eq i64 %i, -1
  ret i1 %stopped
}

define i32 @steps_run(ptr %steps, i64 %count) nounwind {
  %thread = call ptr @PyEval_SaveThread()
  %stopped = call i1 @steps_walk(ptr %steps, i64 %count)
  call void @PyEval_RestoreThread(ptr %thread)
  %result = zext i1 %stopped to i32
  ret i32 %result
}

define i32 @steps_run_timed(ptr %steps, i64 %count, ptr %times) nounwind {
  %thread = call ptr @PyEval_SaveThread()
  %stopped = call i1 @steps_walk_timed(ptr %steps, i64 %count, ptr %times)
  call void @PyEval_RestoreThread(ptr %thread)
  %result = zext i1 %stopped to i32
  ret i32 %result
}
