"""From `sched` to `low`, and from `low` to `low`."""
