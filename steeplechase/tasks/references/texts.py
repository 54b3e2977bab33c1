"""References of tasks with target texts: the first words of sources, and targets as the tokenizer writes them."""

from statistics import fmean

from steeplechase.tasks.labelled.task import DownstreamTask, Examples
from steeplechase.tasks.text_metrics import text_scores
from steeplechase.tasks.tokenizer import Tokenizer


def lead_scores(task: DownstreamTask, examples: Examples) -> dict[str, float]:
    """Return the dev scores, times 100, of as many first words of each source as a train target has on average."""
    words = round(fmean(len(str(example.second).split()) for example in examples.train))
    leads = [" ".join(example.first.split()[:words]) for example in examples.dev]
    return {**text_scores(task.metrics, leads, [str(example.second) for example in examples.dev]).values}


def round_trip_scores(task: DownstreamTask, examples: Examples, tokenizer: Tokenizer) -> dict[str, float]:
    """Return the dev scores, times 100, of the targets encoded and decoded; less than 100 where text is lost."""
    targets = [str(example.second) for example in examples.dev]
    written = [tokenizer.decode(tokens) for tokens in tokenizer.encode(targets)]
    return {**text_scores(task.metrics, written, targets).values}
