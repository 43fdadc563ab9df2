; Calling a program on numpy arrays: a function of the interpreter.
;
;     @program_call(ptr %self, ptr %args, i64 %nargs)                call(arguments, out), METH_FASTCALL
;     @program_run(ptr %call, ptr %items, i64 %count, ptr %out)      the same, of arguments in a row
;     @frame_push(ptr %call, ptr %frame)                             adds a free frame
;
; `self` is an array whose bytes are a record `%call`; `arguments` is a tuple of arrays and `out` an array, a
; tuple of arrays, or None for new ones. It returns the result, or a tuple of them (the very one that is given),
; or null, with an exception set, where a signal ended a loop, or None, without having done anything, where
;
; - an argument is no plain array of the dtype (the very one, or one of the same number and byte order) and
;   shape that the record says, contiguous and aligned;
; - one of `out` is not either, or is not writeable, or overlaps an argument or another one of `out`;
; - their number is another one, a new array cannot be made, there is no free frame, or the record was closed:
;   its number of arguments is -1.
;
; Everything but the steps themselves runs under the interpreter's lock: it guards the list of frames.

; Objects of the interpreter and of numpy, as far as they are looked into:
%object = type { i64, ptr }  ; references, type
; object, count, -, items. Python 3.14 keeps a hash before the items: source.py says how many bytes are skipped.
%tuple = type { %object, i64, [0 x i8], [0 x ptr] }
; data, rank, extents, strides, base, dtype, flags
%ndarray = type { %object, ptr, i32, ptr, ptr, ptr, ptr, i32 }
; scalar type, kind, character, byte order, -, number
%dtype = type { %object, ptr, i8, i8, i8, i8, i32 }

%operand = type {
  ptr,  ; 0: dtype
  i64,  ; 1: rank
  ptr,  ; 2: extents
  i64   ; 3: bytes
}
%patch = type { i64, i64 }  ; a word of the frame is the address of an operand
%frame = type { ptr, ptr }  ; the next free one, the words
%call = type {
  i64,  ; 0: arguments
  i64,  ; 1: results
  i64,  ; 2: patches
  i64,  ; 3: steps
  i64,  ; 4: whether the interpreter's lock is released meanwhile
  i64,  ; 5: calls that run now
  ptr,  ; 6: operands: first the arguments, then the results
  ptr,  ; 7: patches
  ptr,  ; 8: free frames
  ptr,  ; 9: type tuple
  ptr,  ; 10: type numpy.ndarray
  ptr,  ; 11: None
  ptr,  ; 12: PyArray_NewFromDescr of numpy
  i64,  ; 13: from so many bytes on a new array has memory that begins where a line of the cache does
  ptr,  ; 14: PyDataMem_SetHandler of numpy
  ptr,  ; 15: the handler whose memory does
  ptr   ; 16: numpy's own handler: of any other, which is the user's, all arrays are
}

declare void @Py_IncRef(ptr)
declare void @PyErr_Clear()
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i1 @steps_walk(ptr, i64)

; Adds a frame to the free ones of a record. The caller has the interpreter's lock.
define void @frame_push(ptr %call, ptr %frame) nounwind {
  %frames.at = getelementptr %call, ptr %call, i64 0, i32 8
  %frames = load ptr, ptr %frames.at
  store ptr %frames, ptr %frame
  store ptr %frame, ptr %frames.at
  ret void
}

; A new array that is what %operand says; null with an exception set where it cannot be made.
define internal ptr @new_array(ptr %call, ptr %operand) nounwind {
entry:
  %dtype = load ptr, ptr %operand
  %rank.at = getelementptr %operand, ptr %operand, i64 0, i32 1
  %rank = load i64, ptr %rank.at
  %rank.short = trunc i64 %rank to i32
  %extents.at = getelementptr %operand, ptr %operand, i64 0, i32 2
  %extents = load ptr, ptr %extents.at
  %nbytes.at = getelementptr %operand, ptr %operand, i64 0, i32 3
  %nbytes = load i64, ptr %nbytes.at
  %ndarray.at = getelementptr %call, ptr %call, i64 0, i32 10
  %ndarray = load ptr, ptr %ndarray.at
  %function.at = getelementptr %call, ptr %call, i64 0, i32 12
  %function = load ptr, ptr %function.at
  %least.at = getelementptr %call, ptr %call, i64 0, i32 13
  %least = load i64, ptr %least.at
  %set.at = getelementptr %call, ptr %call, i64 0, i32 14
  %set = load ptr, ptr %set.at
  call void @Py_IncRef(ptr %dtype)  ; the new array keeps it
  %is.large = icmp uge i64 %nbytes, %least
  br i1 %is.large, label %choose, label %make
choose:
  %lines.at = getelementptr %call, ptr %call, i64 0, i32 15
  %lines = load ptr, ptr %lines.at
  %chosen = call ptr %set(ptr %lines)
  %refused = icmp eq ptr %chosen, null
  br i1 %refused, label %refuse, label %look
refuse:
  call void @PyErr_Clear()
  br label %make
look:
  %own.at = getelementptr %call, ptr %call, i64 0, i32 16
  %own = load ptr, ptr %own.at
  %is.own = icmp eq ptr %chosen, %own
  br i1 %is.own, label %make, label %restore
restore:
  call void @handler_restore(ptr %set, ptr %chosen)
  br label %make
make:
  %before = phi ptr [ null, %entry ], [ null, %refuse ], [ null, %restore ], [ %chosen, %look ]
  %array = call ptr %function(ptr %ndarray, ptr %dtype, i32 %rank.short, ptr %extents,
                              ptr null, ptr null, i32 0, ptr null)
  %is.plain = icmp eq ptr %before, null
  br i1 %is.plain, label %made, label %put
put:
  call void @handler_restore(ptr %set, ptr %before)
  br label %made
made:
  ret ptr %array
}

; Makes numpy's arrays with a handler again, a reference to which it takes. An exception that is set stays.
define internal void @handler_restore(ptr %set, ptr %before) nounwind {
entry:
  %ours = call ptr %set(ptr %before)
  call void @Py_DecRef(ptr %before)
  %none = icmp eq ptr %ours, null
  br i1 %none, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %ours)
  br label %done
done:
  ret void
}

; Whether %array is what %operand says, with all %flags.
define internal i1 @fits(ptr %array, ptr %operand, ptr %ndarray, i32 %flags) nounwind {
entry:
  %type.at = getelementptr %object, ptr %array, i64 0, i32 1
  %type = load ptr, ptr %type.at
  %plain = icmp eq ptr %type, %ndarray
  br i1 %plain, label %check.flags, label %no
check.flags:
  %flags.at = getelementptr %ndarray, ptr %array, i64 0, i32 7
  %flags.all = load i32, ptr %flags.at
  %flags.found = and i32 %flags.all, %flags
  %flagged = icmp eq i32 %flags.found, %flags
  br i1 %flagged, label %check.dtype, label %no
check.dtype:
  %dtype.at = getelementptr %ndarray, ptr %array, i64 0, i32 6
  %dtype = load ptr, ptr %dtype.at
  %expected = load ptr, ptr %operand
  %same = icmp eq ptr %dtype, %expected
  br i1 %same, label %check.rank, label %check.number
check.number:
  %number.at = getelementptr %dtype, ptr %dtype, i64 0, i32 6
  %number = load i32, ptr %number.at
  %number.wanted.at = getelementptr %dtype, ptr %expected, i64 0, i32 6
  %number.wanted = load i32, ptr %number.wanted.at
  %number.same = icmp eq i32 %number, %number.wanted
  %order.at = getelementptr %dtype, ptr %dtype, i64 0, i32 4
  %order = load i8, ptr %order.at
  %order.wanted.at = getelementptr %dtype, ptr %expected, i64 0, i32 4
  %order.wanted = load i8, ptr %order.wanted.at
  %order.same = icmp eq i8 %order, %order.wanted
  %equal = and i1 %number.same, %order.same
  br i1 %equal, label %check.rank, label %no
check.rank:
  %rank.at = getelementptr %ndarray, ptr %array, i64 0, i32 2
  %rank.short = load i32, ptr %rank.at
  %rank = zext i32 %rank.short to i64
  %rank.wanted.at = getelementptr %operand, ptr %operand, i64 0, i32 1
  %rank.wanted = load i64, ptr %rank.wanted.at
  %rank.same = icmp eq i64 %rank, %rank.wanted
  br i1 %rank.same, label %check.shape, label %no
check.shape:
  %extents.at = getelementptr %ndarray, ptr %array, i64 0, i32 3
  %extents = load ptr, ptr %extents.at
  %wanted.at = getelementptr %operand, ptr %operand, i64 0, i32 2
  %wanted = load ptr, ptr %wanted.at
  br label %axis
axis:
  %i = phi i64 [ 0, %check.shape ], [ %i.next, %axis.same ]
  %more = icmp ult i64 %i, %rank
  br i1 %more, label %axis.check, label %yes
axis.check:
  %extent.at = getelementptr i64, ptr %extents, i64 %i
  %extent = load i64, ptr %extent.at
  %extent.wanted.at = getelementptr i64, ptr %wanted, i64 %i
  %extent.wanted = load i64, ptr %extent.wanted.at
  %extent.same = icmp eq i64 %extent, %extent.wanted
  br i1 %extent.same, label %axis.same, label %no
axis.same:
  %i.next = add i64 %i, 1
  br label %axis
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether the bytes of result %number overlap those of an operand before it. No bytes overlap nothing.
define internal i1 @overlaps(ptr %operands, ptr %addresses, i64 %number) nounwind {
entry:
  %begin.at = getelementptr i64, ptr %addresses, i64 %number
  %begin = load i64, ptr %begin.at
  %nbytes.at = getelementptr %operand, ptr %operands, i64 %number, i32 3
  %nbytes = load i64, ptr %nbytes.at
  %end = add i64 %begin, %nbytes
  %empty = icmp eq i64 %nbytes, 0
  br i1 %empty, label %no, label %other
other:
  %i = phi i64 [ 0, %entry ], [ %i.next, %check ]
  %more = icmp ult i64 %i, %number
  br i1 %more, label %check, label %no
check:
  %i.next = add i64 %i, 1
  %other.begin.at = getelementptr i64, ptr %addresses, i64 %i
  %other.begin = load i64, ptr %other.begin.at
  %other.nbytes.at = getelementptr %operand, ptr %operands, i64 %i, i32 3
  %other.nbytes = load i64, ptr %other.nbytes.at
  %other.end = add i64 %other.begin, %other.nbytes
  %before = icmp ult i64 %begin, %other.end
  %after = icmp ult i64 %other.begin, %end
  %apart.not = and i1 %before, %after
  %some = icmp ne i64 %other.nbytes, 0
  %both = and i1 %apart.not, %some
  br i1 %both, label %yes, label %other
yes:
  ret i1 true
no:
  ret i1 false
}

define ptr @program_call(ptr %self, ptr %args, i64 %nargs) nounwind {
begin:
  %call.at = getelementptr %ndarray, ptr %self, i64 0, i32 1
  %call = load ptr, ptr %call.at
  %two = icmp eq i64 %nargs, 2
  br i1 %two, label %arguments.look, label %refuse
arguments.look:
  %arguments = load ptr, ptr %args
  %out.at = getelementptr ptr, ptr %args, i64 1
  %out = load ptr, ptr %out.at
  %tuple.type.at = getelementptr %call, ptr %call, i64 0, i32 9
  %tuple.type = load ptr, ptr %tuple.type.at
  %arguments.type.at = getelementptr %object, ptr %arguments, i64 0, i32 1
  %arguments.type = load ptr, ptr %arguments.type.at
  %arguments.tuple = icmp eq ptr %arguments.type, %tuple.type
  br i1 %arguments.tuple, label %arguments.run, label %refuse
arguments.run:
  %count.at = getelementptr %tuple, ptr %arguments, i64 0, i32 1
  %count = load i64, ptr %count.at
  %items = getelementptr %tuple, ptr %arguments, i64 0, i32 3
  %result = call ptr @program_run(ptr %call, ptr %items, i64 %count, ptr %out)
  ret ptr %result

refuse:
  %none.at = getelementptr %call, ptr %call, i64 0, i32 11
  %none = load ptr, ptr %none.at
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}

define ptr @program_run(ptr %call, ptr %arguments, i64 %count, ptr %out) nounwind {
begin:
  %none.at = getelementptr %call, ptr %call, i64 0, i32 11
  %none = load ptr, ptr %none.at
  %tuple.type.at = getelementptr %call, ptr %call, i64 0, i32 9
  %tuple.type = load ptr, ptr %tuple.type.at
  %n.arguments = load i64, ptr %call
  %n.results.at = getelementptr %call, ptr %call, i64 0, i32 1
  %n.results = load i64, ptr %n.results.at
  %n.operands = add i64 %n.arguments, %n.results
  %counted = icmp eq i64 %count, %n.arguments
  br i1 %counted, label %arguments.start, label %refuse
arguments.start:
  %operands.at = getelementptr %call, ptr %call, i64 0, i32 6
  %operands = load ptr, ptr %operands.at
  %ndarray.at = getelementptr %call, ptr %call, i64 0, i32 10
  %ndarray = load ptr, ptr %ndarray.at
  %addresses = alloca i64, i64 %n.operands
  %made = alloca ptr, i64 %n.results
  br label %argument

argument:
  %i = phi i64 [ 0, %arguments.start ], [ %i.next, %argument.fits ]
  %i.more = icmp ult i64 %i, %n.arguments
  br i1 %i.more, label %argument.check, label %out.look
argument.check:
  %argument.at = getelementptr ptr, ptr %arguments, i64 %i
  %array = load ptr, ptr %argument.at
  %operand = getelementptr %operand, ptr %operands, i64 %i
  %fit = call i1 @fits(ptr %array, ptr %operand, ptr %ndarray, i32 257)
  br i1 %fit, label %argument.fits, label %refuse
argument.fits:
  %data.at = getelementptr %ndarray, ptr %array, i64 0, i32 1
  %data = load i64, ptr %data.at
  %address.at = getelementptr i64, ptr %addresses, i64 %i
  store i64 %data, ptr %address.at
  %i.next = add i64 %i, 1
  br label %argument

out.look:
  %is.new = icmp eq ptr %out, %none
  br i1 %is.new, label %frame.look, label %out.given
out.given:
  %out.type.at = getelementptr %object, ptr %out, i64 0, i32 1
  %out.type = load ptr, ptr %out.type.at
  %out.is.tuple = icmp eq ptr %out.type, %tuple.type
  br i1 %out.is.tuple, label %out.tuple, label %out.single
out.tuple:
  %out.count.at = getelementptr %tuple, ptr %out, i64 0, i32 1
  %out.count = load i64, ptr %out.count.at
  %out.counted = icmp eq i64 %out.count, %n.results
  br i1 %out.counted, label %out.items, label %refuse
out.items:
  %out.items.at = getelementptr %tuple, ptr %out, i64 0, i32 3
  br label %result
out.single:
  %single = icmp eq i64 %n.results, 1
  br i1 %single, label %out.item, label %refuse
out.item:
  %out.alone = alloca ptr
  store ptr %out, ptr %out.alone
  br label %result
result:
  %items = phi ptr [ %out.items.at, %out.items ], [ %out.alone, %out.item ], [ %items, %result.apart ]
  %j = phi i64 [ 0, %out.items ], [ 0, %out.item ], [ %j.next, %result.apart ]
  %j.more = icmp ult i64 %j, %n.results
  br i1 %j.more, label %result.check, label %frame.look
result.check:
  %result.at = getelementptr ptr, ptr %items, i64 %j
  %result.array = load ptr, ptr %result.at
  %result.number = add i64 %n.arguments, %j
  %result.operand = getelementptr %operand, ptr %operands, i64 %result.number
  %result.fit = call i1 @fits(ptr %result.array, ptr %result.operand, ptr %ndarray, i32 1281)
  br i1 %result.fit, label %result.fits, label %refuse
result.fits:
  %result.data.at = getelementptr %ndarray, ptr %result.array, i64 0, i32 1
  %result.data = load i64, ptr %result.data.at
  %result.address.at = getelementptr i64, ptr %addresses, i64 %result.number
  store i64 %result.data, ptr %result.address.at
  %overlap = call i1 @overlaps(ptr %operands, ptr %addresses, i64 %result.number)
  br i1 %overlap, label %refuse, label %result.apart
result.apart:
  %j.next = add i64 %j, 1
  br label %result

frame.look:
  %items.given = phi ptr [ null, %out.look ], [ %items, %result ]
  %frames.at = getelementptr %call, ptr %call, i64 0, i32 8
  %frame = load ptr, ptr %frames.at
  %frameless = icmp eq ptr %frame, null
  br i1 %frameless, label %refuse, label %frame.take
frame.take:
  %frames.next = load ptr, ptr %frame
  store ptr %frames.next, ptr %frames.at
  br i1 %is.new, label %new, label %start

new:
  %k = phi i64 [ 0, %frame.take ], [ %k.next, %new.made ]
  %k.more = icmp ult i64 %k, %n.results
  br i1 %k.more, label %new.make, label %new.check
new.make:
  %new.number = add i64 %n.arguments, %k
  %new.operand = getelementptr %operand, ptr %operands, i64 %new.number
  %new.array = call ptr @new_array(ptr %call, ptr %new.operand)
  %new.failed = icmp eq ptr %new.array, null
  br i1 %new.failed, label %new.fail, label %new.made
new.made:
  %made.at = getelementptr ptr, ptr %made, i64 %k
  store ptr %new.array, ptr %made.at
  %new.data.at = getelementptr %ndarray, ptr %new.array, i64 0, i32 1
  %new.data = load i64, ptr %new.data.at
  %new.address.at = getelementptr i64, ptr %addresses, i64 %new.number
  store i64 %new.data, ptr %new.address.at
  %k.next = add i64 %k, 1
  br label %new
new.check:
  ; Whatever the interpreter ran meanwhile, a finalizer say, may have closed the record.
  %n.arguments.now = load i64, ptr %call
  %open = icmp eq i64 %n.arguments.now, %n.arguments
  br i1 %open, label %start, label %new.undo
new.fail:
  call void @PyErr_Clear()
  br label %new.undo
new.undo:
  call void @frame_push(ptr %call, ptr %frame)
  br label %undo
undo:
  %u = phi i64 [ %k, %new.undo ], [ %n.results, %return.fail ], [ %u.next, %undo.one ]
  %u.done = icmp eq i64 %u, 0
  br i1 %u.done, label %refuse, label %undo.one
undo.one:
  %u.next = sub i64 %u, 1
  %undo.at = getelementptr ptr, ptr %made, i64 %u.next
  %undo.array = load ptr, ptr %undo.at
  call void @Py_DecRef(ptr %undo.array)
  br label %undo

start:
  %words.at = getelementptr %frame, ptr %frame, i64 0, i32 1
  %words = load ptr, ptr %words.at
  %n.patches.at = getelementptr %call, ptr %call, i64 0, i32 2
  %n.patches = load i64, ptr %n.patches.at
  %patches.at = getelementptr %call, ptr %call, i64 0, i32 7
  %patches = load ptr, ptr %patches.at
  br label %patch
patch:
  %p = phi i64 [ 0, %start ], [ %p.next, %patch.write ]
  %p.more = icmp ult i64 %p, %n.patches
  br i1 %p.more, label %patch.write, label %run
patch.write:
  %patched.at = getelementptr %patch, ptr %patches, i64 %p
  %patched = load i64, ptr %patched.at
  %word.at = getelementptr %patch, ptr %patches, i64 %p, i32 1
  %word = load i64, ptr %word.at
  %source.at = getelementptr i64, ptr %addresses, i64 %patched
  %source = load i64, ptr %source.at
  %slot = getelementptr i64, ptr %words, i64 %word
  store i64 %source, ptr %slot
  %p.next = add i64 %p, 1
  br label %patch

run:
  %n.steps.at = getelementptr %call, ptr %call, i64 0, i32 3
  %n.steps = load i64, ptr %n.steps.at
  %release.at = getelementptr %call, ptr %call, i64 0, i32 4
  %release = load i64, ptr %release.at
  %held = icmp eq i64 %release, 0
  br i1 %held, label %run.held, label %run.free
run.held:
  %stopped.held = call i1 @steps_walk(ptr %words, i64 %n.steps)
  br label %ran
run.free:
  %running.at = getelementptr %call, ptr %call, i64 0, i32 5
  %running = load i64, ptr %running.at
  %running.more = add i64 %running, 1
  store i64 %running.more, ptr %running.at
  %thread = call ptr @PyEval_SaveThread()
  %stopped.free = call i1 @steps_walk(ptr %words, i64 %n.steps)
  call void @PyEval_RestoreThread(ptr %thread)
  %running.then = load i64, ptr %running.at
  %running.less = sub i64 %running.then, 1
  store i64 %running.less, ptr %running.at
  br label %ran
ran:
  %stopped = phi i1 [ %stopped.held, %run.held ], [ %stopped.free, %run.free ]
  call void @frame_push(ptr %call, ptr %frame)
  br i1 %stopped, label %stop, label %return
stop:
  %n.made = select i1 %is.new, i64 %n.results, i64 0
  br label %drop
drop:
  %d = phi i64 [ %n.made, %stop ], [ %d.next, %drop.one ]
  %dropped = icmp eq i64 %d, 0
  br i1 %dropped, label %raise, label %drop.one
drop.one:
  %d.next = sub i64 %d, 1
  %drop.at = getelementptr ptr, ptr %made, i64 %d.next
  %drop.array = load ptr, ptr %drop.at
  call void @Py_DecRef(ptr %drop.array)
  br label %drop
raise:
  ret ptr null
return:
  %one = icmp eq i64 %n.results, 1
  br i1 %is.new, label %return.new, label %return.given
return.given:
  ; A tuple is given back itself, but of one array the array.
  br i1 %one, label %return.only, label %return.all
return.only:
  %out.returned = load ptr, ptr %items.given
  call void @Py_IncRef(ptr %out.returned)
  ret ptr %out.returned
return.all:
  call void @Py_IncRef(ptr %out)
  ret ptr %out
return.new:
  br i1 %one, label %return.one, label %return.tuple
return.one:
  %only = load ptr, ptr %made
  ret ptr %only
return.tuple:
  %tuple = call ptr @PyTuple_New(i64 %n.results)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %return.fail, label %return.item
return.fail:
  call void @PyErr_Clear()
  br label %undo
return.item:
  %t = phi i64 [ 0, %return.tuple ], [ %t.next, %return.set ]
  %t.more = icmp ult i64 %t, %n.results
  br i1 %t.more, label %return.set, label %return.filled
return.set:
  %item.at = getelementptr ptr, ptr %made, i64 %t
  %item = load ptr, ptr %item.at
  %set = call i32 @PyTuple_SetItem(ptr %tuple, i64 %t, ptr %item)
  %t.next = add i64 %t, 1
  br label %return.item
return.filled:
  ret ptr %tuple

refuse:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}
