"""The queue of a device."""
