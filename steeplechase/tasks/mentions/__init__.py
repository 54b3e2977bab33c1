"""Mentions of typed entities in the pretraining text: where they are, and what else may be written there."""
