"""What is tried next: a design's arms, a search's proposals, further seeds."""
