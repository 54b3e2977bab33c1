"""What one sees in a terminal."""
