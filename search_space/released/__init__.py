"""What papers printed and what their released code sets."""
