"""The content of `plan` and its text form."""
