"""Former names of keys and values: errors whose message has the current name. CHANGELOG lists them."""

from collections.abc import Collection, Mapping

KEYS: Mapping[str, str] = {
    "activations_kept": "activation_checkpointing",
    "begins_with": "initial_population",
    "candidates_in_all": "max_candidates",
    "contestants": "tournament_size",
    "covered_share": "mask_token_share",
    "lengthened_sequence_length": "long_sequence_length",
    "lengthening_share": "long_sequence_share",
    "level_within": "equivalence_margin",
    "marks": "rungs",
    "pad_leak": "padding",
    "random_share": "random_token_share",
    "reference": "evaluation_reference",
    "replica": "noise_seed",
    "seeds_at_most": "max_seeds",
    "start": "init_checkpoint",
}
VALUES: Mapping[frozenset[str], Mapping[str, str]] = {
    frozenset({"baseline", "own", "unigram"}): {"shared": "baseline", "follows": "own"},
    frozenset({"none", "selective", "full"}): {
        "all": "none",
        "matrix_products": "selective",
        "block_inputs": "full",
    },
}
"""By the set of currently allowed values."""


def renamed_key(key: str, known: Collection[str]) -> str | None:
    """Return the current name of a key, None unless it is a former name of a key that is allowed here."""
    current = KEYS.get(key)
    return current if current in known else None


def renamed_value(value: str, allowed: Collection[str]) -> str | None:
    """Return the current name of a value, None unless it is a former name of an allowed value."""
    return VALUES.get(frozenset(allowed), {}).get(value)
