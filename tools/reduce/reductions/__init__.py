"""What makes a module smaller: one kind of reduction per file, and the surgery that keeps it consistent."""
