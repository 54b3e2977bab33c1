"""Every figure of a report as data, and what draws it."""
