"""Tasks: corpora, tokenizers, objectives, and the downstream tasks that models are fine-tuned on."""
