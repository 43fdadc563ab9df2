"""What the ops of `graph` mean, in numpy: shared by constant folding and the interpreters."""
