"""What is asked: an experiment with its recipe, claims and seeds, and the rules that hold between its parts."""
