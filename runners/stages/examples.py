"""Make the examples of one downstream task from text that pretraining never sees, and a plain baseline."""

from pathlib import Path

from runners.stages.declarations import ExamplesStage
from runners.stages.workplace import Workplace
from search_space.declaration import JsonValue
from search_space.refusals import Conflict
from tasks.bag_of_words import bag_of_words_scores
from tasks.corpora.assembly import read_documents
from tasks.downstream import find_task
from tasks.downstream.encoding import EncodedExamples, encode_examples, save_examples
from tasks.downstream.task import DownstreamTask, Example
from tasks.squad.files import identity
from tasks.squad.preparing import Amounts, prepare
from tasks.tokenizer import WordPiece, load_tokenizer

PARTS = ("train", "dev")


def compute(stage: ExamplesStage, workplace: Workplace) -> dict[str, JsonValue]:
    """Write the encoded examples and return how many there are, the chance level and the bag-of-words baseline."""
    task, words = find_task(stage.task), load_tokenizer(workplace.inputs["tokens"])
    workplace.progress(f"making {task.name}", 0.0)
    if task.squad is not None:
        return _windows(stage, task, words, workplace)
    assert task.build is not None
    documents = tuple(read_documents(workplace.inputs["corpus"], "test"))
    examples = task.build(documents, stage.train_examples, stage.dev_examples)
    chance = None if task.form == "span" else task.chance_score  # a blind span presumes that its edges are known
    result: dict[str, JsonValue] = {"task": task.name, "chance": chance}
    parts: tuple[tuple[Example, ...], ...] = (examples.train, examples.dev)
    for part, chosen in zip(PARTS, parts, strict=True):
        workplace.progress(f"encoding {task.name}", 0.3)
        encoded = encode_examples(chosen, task.form, words, stage.sequence_length)
        (workplace.folder / part).mkdir(exist_ok=True)
        save_examples(encoded, workplace.folder / part)
        result[part] = _figures(encoded)
    workplace.progress(f"bag of words on {task.name}", 0.6)
    scores = bag_of_words_scores(task, examples)
    result["bag_of_words"] = None if scores is None else {**scores}
    return result


def _windows(
    stage: ExamplesStage, task: DownstreamTask, words: WordPiece, workplace: Workplace
) -> dict[str, JsonValue]:
    assert task.squad is not None
    assert stage.data is not None
    data = Path(stage.data)
    if identity(task.squad, data) != stage.read:
        raise Conflict(f"{data}: the files of {task.name} are not those that the run began with; run again")
    amounts = Amounts(stage.train_examples, stage.dev_examples, stage.sequence_length)
    figures = prepare(task.squad, data, words, amounts, workplace.folder, workplace.progress)
    return {"task": task.name, "chance": None, "bag_of_words": None, **figures}


def _figures(encoded: EncodedExamples) -> dict[str, JsonValue]:
    return {
        "examples": len(encoded),
        "truncated_share": round(encoded.truncated_share, 4),
        "answers_lost": encoded.answers_lost,
    }
