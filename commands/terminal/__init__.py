"""Terminal output."""
