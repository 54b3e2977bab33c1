"""Labelled tasks: declaration, encoded examples, scores."""
