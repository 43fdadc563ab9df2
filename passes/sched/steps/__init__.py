"""The schedule language: small rewrites of one `sched` kernel, each checked, that change no result."""
