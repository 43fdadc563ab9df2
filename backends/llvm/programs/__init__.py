"""Programs of many steps as machine code runs them: their steps as data, and calls of the interpreter."""
