"""From a program over a mesh to the program of one rank."""
