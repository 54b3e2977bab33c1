"""Generation: a decoder under way, and the searches for its most probable continuation."""
