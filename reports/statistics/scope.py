"""What a verdict is about: the size of the models, the tokens, the passes over the text and the objective."""

from collections.abc import Collection, Iterable

from reports.number_format import short
from reports.statistics.results import Results
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import TokensResult


def scope_text(results: Results, arms: Collection[str]) -> str:
    """Return `236k parameters, 16M tokens (2 passes over the text), masked language model` for the named arms."""
    rows = [arm for arm in results.arms if arm.name in arms]
    sizes = _from_to(short(size) for size in sorted({arm.parameters for arm in rows}))
    objectives = dict.fromkeys(arm.candidate.objective.name for arm in rows)
    passes = passes_text(results, arms)
    read = f" ({passes} {'pass' if passes == '1' else 'passes'} over the text)" if passes else ""
    return f"{sizes} parameters, {tokens_text(results, arms)} tokens{read}, {', '.join(objectives)}"


def tokens_text(results: Results, arms: Collection[str]) -> str:
    """Return the pretraining tokens of the named arms, the lowest and the highest where they differ: `8M to 64M`."""
    return _from_to(map(short, _tokens(results, arms)))


def passes_text(results: Results, arms: Collection[str]) -> str:
    """Return how often the named arms read the training text, to two digits; empty before it is encoded."""
    encoded = [result.train.tokens for _, result in with_results(results.snapshot.shared, TokensResult)]
    return _from_to(f"{tokens / encoded[-1]:.2g}" for tokens in _tokens(results, arms)) if encoded else ""


def _tokens(results: Results, arms: Collection[str]) -> list[int]:
    budget = results.experiment.pretraining.tokens
    return sorted({arm.candidate.recipe.own_tokens(budget) for arm in results.arms if arm.name in arms})


def _from_to(texts: Iterable[str]) -> str:
    """Return the first and the last text, or the only one."""
    first, *others = dict.fromkeys(texts)
    return f"{first} to {others[-1]}" if others else first
