"""Other libraries doing the same work, one file each."""
