"""Reference of tasks with target texts: the targets as the tokenizer writes them, the score of a perfect writer."""

from steeplechase.tasks.labelled.task import DownstreamTask, Examples
from steeplechase.tasks.text_metrics import text_scores
from steeplechase.tasks.tokenizer import Tokenizer


def round_trip_scores(task: DownstreamTask, examples: Examples, tokenizer: Tokenizer) -> dict[str, float]:
    """Return the dev scores, times 100, of the targets encoded and decoded; less than 100 where text is lost."""
    targets = [str(example.second) for example in examples.dev]
    written = [tokenizer.decode(tokens) for tokens in tokenizer.encode(targets)]
    return {**text_scores(task.metrics, written, targets).values}
