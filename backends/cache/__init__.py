"""
What a compile makes, kept on disk for later processes: as data only, and never needed.

    place.py        where it is, how large it may get, and whether it is on
    folder.py       reading, writing and bounding one folder of entries
    frame.py        an entry as bytes, with its checksum
    private_files.py    files that nobody else could have written
    fingerprint.py  the versions of everything that compiles
"""
