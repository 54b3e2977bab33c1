"""What `plan` says, and how it looks."""
