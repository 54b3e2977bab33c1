"""Which stage may run next, and what hurdles decide."""
