"""Every section of a report, one file each, and the conditions that the footer states."""
