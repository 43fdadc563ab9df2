"""Programs of traces, and which one a call takes."""
