"""What is called otherwise in transformers' configurations and training arguments, and in papers' code.

A suggestion compares letters: `num_attention_heads` is nearer to `attention_biases` than to `heads`.
"""

OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "width": ("hidden_size", "d_model", "n_embd", "dim", "model_dim", "embed_dim"),
    "depth": ("num_hidden_layers", "num_layers", "n_layers", "n_layer", "encoder_layers"),
    "heads": ("num_attention_heads", "num_heads", "n_heads", "n_head", "nhead"),
    "key_value_heads": ("num_key_value_heads", "n_kv_heads"),
    "feed_forward_width": ("intermediate_size", "ffn_dim", "d_ff", "dim_feedforward", "n_inner", "encoder_ffn_dim"),
    "feed_forward_activation": ("hidden_act", "hidden_activation", "activation", "activation_function"),
    "feed_forward_groups": ("num_groups", "groups"),
    "bottleneck_ratio": ("head_ratio", "gamma"),
    "embedding_width": ("embedding_size", "d_emb"),
    "vocabulary_size": ("vocab_size", "n_vocab"),
    "positions": ("max_position_embeddings", "n_positions", "n_ctx"),
    "segments": ("type_vocab_size",),
    "normalisation": ("norm_type", "layer_norm"),
    "convolution.kernel_size": ("conv_kernel_size", "kernel_size"),
    "mask_rate": ("mlm_probability", "mask_prob", "masking_rate"),
    "sequence_length": ("max_seq_length", "max_seq_len", "max_length", "seq_len", "block_size"),
    "batch_sequences": ("per_device_train_batch_size", "train_batch_size", "batch_size"),
    "batch_examples": ("per_device_train_batch_size", "train_batch_size", "batch_size"),
    "micro_batches": ("gradient_accumulation_steps", "accumulate_grad_batches"),
    "peak_learning_rate": ("learning_rate", "lr", "max_lr"),
    "gradient_norm_limit": ("max_grad_norm", "gradient_clip_val", "clip_norm", "grad_clip"),
    "dropout": ("hidden_dropout_prob", "dropout_rate", "dropout_prob", "attention_probs_dropout_prob"),
    "warmup_tokens": ("warmup_steps", "num_warmup_steps"),
    "warmup_share": ("warmup_ratio", "warmup_proportion"),
    "schedule": ("lr_scheduler_type", "lr_scheduler", "scheduler"),
    "optimiser": ("optim", "optimizer"),
    "adam_epsilon": ("eps", "epsilon"),
    "activation_checkpointing": ("gradient_checkpointing",),
    "label_smoothing": ("label_smoothing_factor",),
    "precision": ("bf16", "fp16", "tf32", "dtype", "torch_dtype", "mixed_precision"),
    "compile": ("torch_compile",),
    "tokens": ("max_steps", "max_train_steps", "train_steps", "steps", "total_steps"),
    "evaluations": ("eval_steps", "logging_steps"),
    "epochs": ("num_train_epochs", "num_epochs", "max_epochs"),
    "seeds": ("seed", "random_seed", "manual_seed"),
    "beams": ("num_beams", "beam_size"),
}
"""By the name of a key here."""

OTHER_VALUES: dict[str, tuple[str, ...]] = {
    "cuda": ("gpu",),
    "bfloat16": ("bf16",),
    "masked_language_model": ("mlm",),
    "language_model": ("clm", "causal_lm"),
    "replaced_token_detection": ("rtd",),
    "rotary": ("rope",),
    "pre_norm": ("pre_ln",),
    "post_norm": ("post_ln",),
    "mean": ("avg", "average"),
    "first": ("cls",),
}
"""By a value here: the option of an axis, a device, a precision, a pooling."""
