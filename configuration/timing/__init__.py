"""Declaration of a timing experiment."""
