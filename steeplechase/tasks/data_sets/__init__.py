"""Published data sets: their registry, verification of local copies, and download."""
