; Calling an object that has programs on arrays and on objects that wrap one: a method of the interpreter.
;
;     @object_call(ptr %self, ptr %args, i64 %nargs, ptr %names)    METH_FASTCALL | METH_KEYWORDS
;     @object_call_use(ptr %context)                                 says what the method works with
;
; A slot of `self` holds a tuple of functions made of `program_call`, each with an object that describes its only
; result, and a list of one tuple, of the tests of objects that same_objects.ll describes. The first function whose
; tests hold, and that takes the arguments, gives the values of a new wrapper, which is returned.
; Everything is left to the function `otherwise`, with all arguments, where
;
; - there are arguments by name, or one is neither an array nor a wrapper that has values;
; - the first item of one of the two lists is another object than it is while nothing special goes on;
; - no function takes the arguments, or the slot is empty;
; - there are more arguments than a program may well have.
;
; It runs under the interpreter's lock. What it uses it counts as used: other threads may run meanwhile.

; Objects of the interpreter and of numpy, as far as they are looked into; the same as in call.ll.
%object = type { i64, ptr }  ; references, type
; object, count, -, items. Python 3.14 keeps a hash before the items: source.py says how many bytes are skipped.
%tuple = type { %object, i64, [0 x i8], [0 x ptr] }
; data, rank, extents, strides, base, dtype, flags
%ndarray = type { %object, ptr, i32, ptr, ptr, ptr, ptr, i32 }
%list = type { %object, i64, ptr }  ; count, items
%function = type { %object, ptr, ptr }  ; its description, what it is called with

%context = type {
  ptr,  ; 0: type numpy.ndarray
  ptr,  ; 1: type of wrappers
  i64,  ; 2: where a wrapper keeps its values
  i64,  ; 3: where it keeps what describes them
  i64,  ; 4: where `self` keeps its functions
  ptr,  ; 5: a list
  ptr,  ; 6: its first item while nothing special goes on
  ptr,  ; 7: another list
  ptr,  ; 8: its first item
  ptr,  ; 9: otherwise
  ptr,  ; 10: None
  ptr   ; 11: what same_objects.ll works with
}

@object.context = internal global ptr null

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyMem_Malloc(i64)
declare void @PyMem_Free(ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @program_run(ptr, ptr, i64, ptr)
declare i32 @objects_are_same(ptr, ptr)

define void @object_call_use(ptr %context) nounwind {
  store ptr %context, ptr @object.context
  ret void
}

; Whether the first item of a list is %wanted.
define internal i1 @first_is(ptr %list, ptr %wanted) nounwind {
  %items.at = getelementptr %list, ptr %list, i64 0, i32 2
  %items = load ptr, ptr %items.at
  %first = load ptr, ptr %items
  %same = icmp eq ptr %first, %wanted
  ret i1 %same
}

; Calls `otherwise` with all arguments, `self` before them.
define internal ptr @call_otherwise(ptr %context, ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %otherwise.at = getelementptr %context, ptr %context, i64 0, i32 9
  %otherwise = load ptr, ptr %otherwise.at
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %counted, label %named
named:
  %n.names.at = getelementptr %tuple, ptr %names, i64 0, i32 1
  %n.names = load i64, ptr %n.names.at
  br label %counted
counted:
  %more = phi i64 [ 0, %entry ], [ %n.names, %named ]
  %count = add i64 %nargs, %more
  %room = add i64 %count, 1
  %bytes = mul i64 %room, 8
  %all = call ptr @PyMem_Malloc(i64 %bytes)  ; not on the stack, which a caller may give more than it holds
  %no.room = icmp eq ptr %all, null
  br i1 %no.room, label %full, label %first
full:
  %raised = call ptr @PyErr_NoMemory()
  ret ptr %raised
first:
  store ptr %self, ptr %all
  br label %each
each:
  %i = phi i64 [ 0, %first ], [ %i.next, %copy ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %copy, label %call
copy:
  %from = getelementptr ptr, ptr %args, i64 %i
  %argument = load ptr, ptr %from
  %i.next = add i64 %i, 1
  %to = getelementptr ptr, ptr %all, i64 %i.next
  store ptr %argument, ptr %to
  br label %each
call:
  %positional = add i64 %nargs, 1
  %result = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %all, i64 %positional, ptr %names)
  call void @PyMem_Free(ptr %all)
  ret ptr %result
}

define ptr @object_call(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
begin:
  %context = load ptr, ptr @object.context
  %unnamed = icmp eq ptr %names, null
  %few = icmp ule i64 %nargs, 1024
  %simple = and i1 %unnamed, %few
  br i1 %simple, label %lists, label %otherwise
lists:
  %list.at = getelementptr %context, ptr %context, i64 0, i32 5
  %list = load ptr, ptr %list.at
  %wanted.at = getelementptr %context, ptr %context, i64 0, i32 6
  %wanted = load ptr, ptr %wanted.at
  %quiet = call i1 @first_is(ptr %list, ptr %wanted)
  %other.list.at = getelementptr %context, ptr %context, i64 0, i32 7
  %other.list = load ptr, ptr %other.list.at
  %other.wanted.at = getelementptr %context, ptr %context, i64 0, i32 8
  %other.wanted = load ptr, ptr %other.wanted.at
  %other.quiet = call i1 @first_is(ptr %other.list, ptr %other.wanted)
  %both = and i1 %quiet, %other.quiet
  br i1 %both, label %slot, label %otherwise
slot:
  %slot.offset.at = getelementptr %context, ptr %context, i64 0, i32 4
  %slot.offset = load i64, ptr %slot.offset.at
  %slot.at = getelementptr i8, ptr %self, i64 %slot.offset
  %functions = load ptr, ptr %slot.at
  %empty = icmp eq ptr %functions, null
  br i1 %empty, label %otherwise, label %arguments
arguments:
  %ndarray = load ptr, ptr %context
  %wrapper.at = getelementptr %context, ptr %context, i64 0, i32 1
  %wrapper = load ptr, ptr %wrapper.at
  %values.offset.at = getelementptr %context, ptr %context, i64 0, i32 2
  %values.offset = load i64, ptr %values.offset.at
  %values = alloca ptr, i64 %nargs
  br label %argument

argument:
  %i = phi i64 [ 0, %arguments ], [ %i.next, %argument.note ]
  %i.more = icmp ult i64 %i, %nargs
  br i1 %i.more, label %argument.look, label %hold
argument.look:
  %argument.at = getelementptr ptr, ptr %args, i64 %i
  %given = load ptr, ptr %argument.at
  %type.at = getelementptr %object, ptr %given, i64 0, i32 1
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %argument.note, label %argument.wrapper
argument.wrapper:
  %is.wrapper = icmp eq ptr %type, %wrapper
  br i1 %is.wrapper, label %argument.values, label %otherwise
argument.values:
  %wrapped.at = getelementptr i8, ptr %given, i64 %values.offset
  %wrapped = load ptr, ptr %wrapped.at
  %gone = icmp eq ptr %wrapped, null
  br i1 %gone, label %otherwise, label %argument.note
argument.note:
  %array = phi ptr [ %given, %argument.look ], [ %wrapped, %argument.values ]
  %value.at = getelementptr ptr, ptr %values, i64 %i
  store ptr %array, ptr %value.at
  %i.next = add i64 %i, 1
  br label %argument

hold:
  call void @Py_IncRef(ptr %functions)
  br label %hold.each
hold.each:
  %h = phi i64 [ 0, %hold ], [ %h.next, %hold.one ]
  %h.more = icmp ult i64 %h, %nargs
  br i1 %h.more, label %hold.one, label %try.first
hold.one:
  %hold.at = getelementptr ptr, ptr %values, i64 %h
  %held = load ptr, ptr %hold.at
  call void @Py_IncRef(ptr %held)
  %h.next = add i64 %h, 1
  br label %hold.each

try.first:
  %none.at = getelementptr %context, ptr %context, i64 0, i32 10
  %none = load ptr, ptr %none.at
  %n.functions.at = getelementptr %tuple, ptr %functions, i64 0, i32 1
  %n.functions = load i64, ptr %n.functions.at
  br label %try
try:
  %t = phi i64 [ 0, %try.first ], [ %t.next, %refused ], [ %t.untested, %try.next ]
  %t.more = icmp ult i64 %t, %n.functions
  br i1 %t.more, label %try.test, label %let.go
try.test:
  %cell.number = add i64 %t, 2
  %cell.at = getelementptr %tuple, ptr %functions, i64 0, i32 3, i64 %cell.number
  %cell = load ptr, ptr %cell.at
  %cell.items.at = getelementptr %list, ptr %cell, i64 0, i32 2
  %cell.items = load ptr, ptr %cell.items.at
  %tests = load ptr, ptr %cell.items
  %types.at = getelementptr %context, ptr %context, i64 0, i32 11
  %types = load ptr, ptr %types.at
  call void @Py_IncRef(ptr %tests)
  %same = call i32 @objects_are_same(ptr %types, ptr %tests)
  call void @Py_DecRef(ptr %tests)
  %test.failed = icmp slt i32 %same, 0
  br i1 %test.failed, label %let.go, label %try.tested
try.tested:
  %holds = icmp ne i32 %same, 0
  br i1 %holds, label %try.call, label %try.next
try.next:
  %t.untested = add i64 %t, 3
  br label %try
try.call:
  %function.at = getelementptr %tuple, ptr %functions, i64 0, i32 3, i64 %t
  %function = load ptr, ptr %function.at
  %record.at = getelementptr %function, ptr %function, i64 0, i32 2
  %record = load ptr, ptr %record.at
  %call.at = getelementptr %ndarray, ptr %record, i64 0, i32 1
  %call = load ptr, ptr %call.at
  %result = call ptr @program_run(ptr %call, ptr %values, i64 %nargs, ptr %none)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %let.go, label %try.look
try.look:
  %is.none = icmp eq ptr %result, %none
  br i1 %is.none, label %refused, label %wrap
refused:
  call void @Py_DecRef(ptr %result)
  %t.next = add i64 %t, 3
  br label %try

wrap:
  %made = call ptr @PyType_GenericAlloc(ptr %wrapper, i64 0)
  %unmade = icmp eq ptr %made, null
  br i1 %unmade, label %drop, label %fill
drop:
  call void @Py_DecRef(ptr %result)
  br label %let.go
fill:
  %made.values.at = getelementptr i8, ptr %made, i64 %values.offset
  store ptr %result, ptr %made.values.at
  %about.number = add i64 %t, 1
  %about.at = getelementptr %tuple, ptr %functions, i64 0, i32 3, i64 %about.number
  %about = load ptr, ptr %about.at
  call void @Py_IncRef(ptr %about)
  %about.offset.at = getelementptr %context, ptr %context, i64 0, i32 3
  %about.offset = load i64, ptr %about.offset.at
  %made.about.at = getelementptr i8, ptr %made, i64 %about.offset
  store ptr %about, ptr %made.about.at
  br label %let.go

let.go:
  %is.refused = phi i1 [ true, %try ], [ false, %try.test ], [ false, %try.call ], [ false, %drop ], [ false, %fill ]
  %returned = phi ptr [ null, %try ], [ null, %try.test ], [ null, %try.call ], [ null, %drop ], [ %made, %fill ]
  call void @Py_DecRef(ptr %functions)
  br label %let.go.each
let.go.each:
  %g = phi i64 [ 0, %let.go ], [ %g.next, %let.go.one ]
  %g.more = icmp ult i64 %g, %nargs
  br i1 %g.more, label %let.go.one, label %end
let.go.one:
  %let.go.at = getelementptr ptr, ptr %values, i64 %g
  %let.go.value = load ptr, ptr %let.go.at
  call void @Py_DecRef(ptr %let.go.value)
  %g.next = add i64 %g, 1
  br label %let.go.each
end:
  br i1 %is.refused, label %otherwise, label %done
done:
  ret ptr %returned

otherwise:
  %left = call ptr @call_otherwise(ptr %context, ptr %self, ptr %args, i64 %nargs, ptr %names)
  ret ptr %left
}
