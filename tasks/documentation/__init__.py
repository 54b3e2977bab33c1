"""What the three tasks made of documentation share."""
