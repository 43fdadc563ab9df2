"""From `graph` to `sched`, and from `sched` to `sched`."""
