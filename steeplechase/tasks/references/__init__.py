"""References of downstream tasks: scores without a pretrained model, beside which those of models are read."""
