"""Rules of `measure.perplexity`: the files are there, and every arm is a language model."""

from collections.abc import Iterator

from search_space.objective import LanguageModel
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation

SPECIAL_TOKENS = 2  # [CLS] and [SEP] of a window


def perplexity_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms without a probability of the text, and more new tokens than a window has."""
    measure, location = experiment.measure.perplexity, ("measure", "perplexity")
    if measure is None:
        return
    if experiment.search is not None:
        yield Violation(location, "candidates of a search are not measured; measure selected ones in a list design")
        return
    inside = experiment.baseline.recipe.sequence_length - SPECIAL_TOKENS
    if measure.new_tokens is not None and measure.new_tokens > inside:
        message = f"{measure.new_tokens} is more than the {inside} tokens of a window without [CLS] and [SEP]"
        yield Violation((*location, "new_tokens"), message)
    others = [arm.name for arm in experiment.accepted_arms if not isinstance(arm.candidate.objective, LanguageModel)]
    if others:
        message = (
            f"{', '.join(others)}: no language model, so that a text has no probability; allowed: language_model"
        )
        yield Violation(location, message)
