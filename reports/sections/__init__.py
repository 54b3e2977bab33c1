"""Every table of a report, one file each."""
