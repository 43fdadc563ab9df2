"""
The search for schedules by measuring, and what it found.

    tune.py        `tenon.tune`
    kernels.py     the kernels of a program, each alone, as passes see them before they are scheduled
    candidates.py  the schedules that are tried, and what is tried next
    estimate.py    what a schedule is expected to cost
    bench.py       compiles a kernel alone, runs it, times it
    search.py      what is measured, and what is kept
    report.py      what came of it
    progress.py    what is shown meanwhile
    database.py    writing the file
"""
