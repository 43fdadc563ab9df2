"""
Tells what the passes did with a program.

    explain.py     runs the passes again and watches them
    recorder.py    what each pass changed
    program.py     the host program: its steps, what kernels hand over, its memory
    schedule.py    the schedule of a kernel as a tree of words
    words.py       the words
"""
