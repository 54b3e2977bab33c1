"""The sections of a report, one file each, and the notes that the footer lists as conditions."""
