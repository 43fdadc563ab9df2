"""One element in, one element out: rules from ops of `graph` to arith and math."""
