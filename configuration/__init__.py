"""What an experiment file declares, and the rules its values keep. No torch."""
