; Whether objects are where they were: a function of the interpreter.
;
;     @same_objects(ptr %self, ptr %tests)                           of one argument, METH_O
;     @objects_are_same(ptr %types, ptr %tests)                      1, 0, or -1 with an exception set
;
; `self` is an array whose bytes are a record `%types`; `tests` is a tuple of an owner, a key and a value, of
; another owner and so on. They are the same where each value is
;
; - what a dict, the owner, has for the key, a string;
; - a tuple of all keys and values of a dict, or of all items of a list, in their order, where the key is None;
; - the attribute of any other owner that the key names.
;
; What fails as an attribute is looked for is another object, unless it is no error that a program may catch.
; Attributes may run anything: nothing is read of a dict or a list once they were asked for another one.

; Objects of the interpreter, as far as they are looked into; the same as in call.ll and method.ll.
%object = type { i64, ptr }  ; references, type
; object, count, -, items. Python 3.14 keeps a hash before the items: source.py says how many bytes are skipped.
%tuple = type { %object, i64, [0 x i8], [0 x ptr] }
; data, rank, extents, strides, base, dtype, flags
%ndarray = type { %object, ptr, i32, ptr, ptr, ptr, ptr, i32 }
%list = type { %object, i64, ptr }  ; count, items

%types = type {
  ptr,  ; 0: type dict
  ptr,  ; 1: type list
  ptr,  ; 2: None
  ptr   ; 3: type Exception
}

declare void @Py_DecRef(ptr)
declare ptr @PyBool_FromLong(i64)
declare i64 @PyDict_Size(ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyErr_Occurred()
declare i32 @PyErr_ExceptionMatches(ptr)
declare void @PyErr_Clear()

define ptr @same_objects(ptr %self, ptr %tests) nounwind {
  %types.at = getelementptr %ndarray, ptr %self, i64 0, i32 1
  %types = load ptr, ptr %types.at
  %found = call i32 @objects_are_same(ptr %types, ptr %tests)
  %failed = icmp slt i32 %found, 0
  br i1 %failed, label %raise, label %say
raise:
  ret ptr null
say:
  %number = zext i32 %found to i64
  %said = call ptr @PyBool_FromLong(i64 %number)
  ret ptr %said
}

; Whether a list has the items of a tuple.
define internal i1 @list_is(ptr %list, ptr %wanted) nounwind {
entry:
  %count.at = getelementptr %list, ptr %list, i64 0, i32 1
  %count = load i64, ptr %count.at
  %n.wanted.at = getelementptr %tuple, ptr %wanted, i64 0, i32 1
  %n.wanted = load i64, ptr %n.wanted.at
  %counted = icmp eq i64 %count, %n.wanted
  %items.at = getelementptr %list, ptr %list, i64 0, i32 2
  %items = load ptr, ptr %items.at
  br i1 %counted, label %each, label %no
each:
  %i = phi i64 [ 0, %entry ], [ %i.next, %look ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %item.at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %item.at
  %value.at = getelementptr %tuple, ptr %wanted, i64 0, i32 3, i64 %i
  %value = load ptr, ptr %value.at
  %same = icmp eq ptr %item, %value
  %i.next = add i64 %i, 1
  br i1 %same, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a dict has the keys and the values of a tuple.
define internal i1 @dict_is(ptr %dict, ptr %wanted) nounwind {
entry:
  %position = alloca i64
  %key.found = alloca ptr
  %value.found = alloca ptr
  store i64 0, ptr %position
  %size = call i64 @PyDict_Size(ptr %dict)
  %size.both = mul i64 %size, 2
  %n.wanted.at = getelementptr %tuple, ptr %wanted, i64 0, i32 1
  %n.wanted = load i64, ptr %n.wanted.at
  %counted = icmp eq i64 %size.both, %n.wanted
  br i1 %counted, label %each, label %no
each:
  %i = phi i64 [ 0, %entry ], [ %i.next, %look.value ]
  %more = icmp ult i64 %i, %n.wanted
  br i1 %more, label %next, label %yes
next:
  %has = call i32 @PyDict_Next(ptr %dict, ptr %position, ptr %key.found, ptr %value.found)
  %none.left = icmp eq i32 %has, 0
  br i1 %none.left, label %no, label %look.key
look.key:
  %key = load ptr, ptr %key.found
  %key.at = getelementptr %tuple, ptr %wanted, i64 0, i32 3, i64 %i
  %key.wanted = load ptr, ptr %key.at
  %key.same = icmp eq ptr %key, %key.wanted
  %value.number = add i64 %i, 1
  br i1 %key.same, label %look.value, label %no
look.value:
  %value = load ptr, ptr %value.found
  %value.at = getelementptr %tuple, ptr %wanted, i64 0, i32 3, i64 %value.number
  %value.wanted = load ptr, ptr %value.at
  %same = icmp eq ptr %value, %value.wanted
  %i.next = add i64 %i, 2
  br i1 %same, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define i32 @objects_are_same(ptr %types, ptr %tests) nounwind {
begin:
  %dict = load ptr, ptr %types
  %list.at = getelementptr %types, ptr %types, i64 0, i32 1
  %list = load ptr, ptr %list.at
  %none.at = getelementptr %types, ptr %types, i64 0, i32 2
  %none = load ptr, ptr %none.at
  %count.at = getelementptr %tuple, ptr %tests, i64 0, i32 1
  %count = load i64, ptr %count.at
  br label %test
test:
  %i = phi i64 [ 0, %begin ], [ %i.next, %same ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %owner.at = getelementptr %tuple, ptr %tests, i64 0, i32 3, i64 %i
  %owner = load ptr, ptr %owner.at
  %key.at = getelementptr ptr, ptr %owner.at, i64 1
  %key = load ptr, ptr %key.at
  %wanted.at = getelementptr ptr, ptr %owner.at, i64 2
  %wanted = load ptr, ptr %wanted.at
  %i.next = add i64 %i, 3
  %type.at = getelementptr %object, ptr %owner, i64 0, i32 1
  %type = load ptr, ptr %type.at
  %whole = icmp eq ptr %key, %none
  %is.dict = icmp eq ptr %type, %dict
  br i1 %is.dict, label %of.dict, label %other
of.dict:
  br i1 %whole, label %all.of.dict, label %item
all.of.dict:
  %dict.same = call i1 @dict_is(ptr %owner, ptr %wanted)
  br i1 %dict.same, label %same, label %no
item:
  %item.found = call ptr @PyDict_GetItemWithError(ptr %owner, ptr %key)
  %item.same = icmp eq ptr %item.found, %wanted
  br i1 %item.same, label %same, label %item.other
item.other:
  %item.gone = icmp eq ptr %item.found, null
  br i1 %item.gone, label %error, label %no
other:
  %is.list = icmp eq ptr %type, %list
  br i1 %is.list, label %all.of.list, label %attribute
all.of.list:
  %list.same = call i1 @list_is(ptr %owner, ptr %wanted)
  br i1 %list.same, label %same, label %no
attribute:
  %found = call ptr @PyObject_GetAttr(ptr %owner, ptr %key)
  %gone = icmp eq ptr %found, null
  br i1 %gone, label %error, label %attribute.look
attribute.look:
  call void @Py_DecRef(ptr %found)  ; only its address is looked at
  %attribute.same = icmp eq ptr %found, %wanted
  br i1 %attribute.same, label %same, label %no
same:
  br label %test

error:
  ; A key that is not there sets no exception at all.
  %set = call ptr @PyErr_Occurred()
  %unset = icmp eq ptr %set, null
  br i1 %unset, label %no, label %raised
raised:
  %exception.at = getelementptr %types, ptr %types, i64 0, i32 3
  %exception = load ptr, ptr %exception.at
  %matches = call i32 @PyErr_ExceptionMatches(ptr %exception)
  %caught = icmp ne i32 %matches, 0
  br i1 %caught, label %clear, label %raise
clear:
  call void @PyErr_Clear()
  ret i32 0
raise:
  ret i32 -1
yes:
  ret i32 1
no:
  ret i32 0
}

