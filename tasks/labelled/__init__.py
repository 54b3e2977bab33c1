"""What all labelled tasks share: their declaration, encoded examples, scores."""
