"""What pretraining text holds of the dev sets: sentences and runs of words that stand in both."""
