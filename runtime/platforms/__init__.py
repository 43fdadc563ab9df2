"""State that stays on devices."""
