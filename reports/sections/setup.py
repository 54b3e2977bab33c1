"""The setup of every trial: scale, corpus, tokens, seeds and initial weights; conditions of a report."""

from collections.abc import Iterator

from reports.number_format import counted, short, short_range
from reports.section import Section
from reports.statistics.results import Results
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.stage_label import PRETRAIN, StageLabel
from steeplechase.ledger.contamination import contamination_results
from steeplechase.ledger.records import WITHOUT_SCALES, TrialStatus, with_results
from steeplechase.ledger.stage_results import CorpusResult, PretrainResult, TokensResult
from steeplechase.tasks.corpora.text_files import TextFilesCorpus

HASH_DIGITS = 12
SPLITS = ("train", "validation", "test")
MANY_DUPLICATES = 0.1
"""Share of a corpus's documents; the docstrings of Python's packages have 8% that repeat others."""


def scale_of(name: str) -> str:
    """Return the name of a scale; empty if the file has none."""
    return "" if name == WITHOUT_SCALES else name


def _conditions(results: Results) -> Iterator[tuple[str, str]]:
    yield "Scale", scale_of(results.snapshot.scale) or "none declared"
    if not results.experiment.has_trials:
        return
    pretraining = results.experiment.pretraining
    seeds = ", ".join(map(str, first_seeds(pretraining.seeds))) or "none"
    if results.looks.counts:
        seeds += f", then up to {results.looks.counts[-1]} for undecided arms"
    fine_tuning = (
        f"; fine-tuning {', '.join(map(str, results.experiment.fine_tuning.seeds))}" if results.tasks else ""
    )
    yield "Corpus", _corpus(results)
    if results.experiment.data:
        yield "Other data", "; ".join(_other_data(results))
    yield "Tokens per trial", _tokens(results)
    yield "Seeds", f"pretraining {seeds}{fine_tuning}" if results.experiment.pretrains else f"fine-tuning {seeds}"
    begun = {arm.name: results.experiment.initial_checkpoint(arm.candidate) for arm in results.arms}
    folders = dict.fromkeys(filter(None, begun.values()))
    if len(folders) == 1 and None not in begun.values():
        yield "Initial weights", f"every encoder starts from {next(iter(folders))}"
    elif folders:
        named = (f"{', '.join(arm for arm in begun if begun[arm] == folder)} from {folder}" for folder in folders)
        yield "Initial weights", "; ".join(named)


def _corpus(results: Results) -> str:
    corpus = results.experiment.corpus
    by_file = isinstance(corpus, TextFilesCorpus) and corpus.split_by == "file"
    kind = corpus.kind + (", split by file" if by_file else "")
    records = [record for record in results.snapshot.shared if record.label == "corpus"]
    read = [result for _, result in with_results(records, CorpusResult)]
    if not read:
        return f"{kind} (not read yet)"
    found = read[-1]
    counts = [f"{found.splits[name].documents} {name}" for name in SPLITS if name in found.splits]
    sizes = f", documents: {', '.join(counts)}" if counts else ""
    left_out = counted(found.unreadable_files, "file left out that is", "files left out that are")
    unreadable = f", {left_out} not valid Python" if found.unreadable_files else ""
    return f"{kind}{sizes}{_duplicates(found)}{unreadable}, sha256 {found.content_hash[:HASH_DIGITS]}"


def _duplicates(found: CorpusResult) -> str:
    """Return how many documents were left out as repeated ones, if they are many."""
    left_out = found.exact_duplicates + found.near_duplicates
    read = left_out + sum(split.documents for split in found.splits.values())
    if left_out < MANY_DUPLICATES * read:
        return ""
    return f", {left_out:,} of {read:,} left out because their words, without digits, are those of others"


def _other_data(results: Results) -> Iterator[str]:
    """Yield each text and vocabulary that arms have in place of the experiment's, with its arms and its size."""
    shared = results.snapshot.shared_of_data
    read = {record.label: result.train for record, result in with_results(shared, TokensResult)}
    for name, data in results.experiment.data.items():
        arms = [arm.name for arm in results.arms if arm.candidate.data == name]
        parts = ["no finished arm" if not arms else f"of {', '.join(arms)}"]
        parts += [] if data.corpus is None else [f"corpus {data.corpus.kind}, without repeats of held-out documents"]
        parts += [] if data.tokenizer is None else [f"vocabulary {data.tokenizer.kind}"]
        size = read.get(str(StageLabel("tokens", data=name)))
        parts += [] if size is None else [f"{short(size.tokens)} training tokens in {size.documents:,} documents"]
        overlap = contamination_results(each for each in shared if StageLabel.parse(each.label).data == name)
        parts += [f"{each.share_with_interval} of {each.task} in it" for each in overlap]
        yield f"{name}: {', '.join(parts)}"


def _tokens(results: Results) -> str:
    """Return the budget, or the tokens of finished trials, which are rounded up to whole updates."""
    if not results.experiment.pretrains:
        return "0: initial checkpoints are fine-tuned as they are"
    histories = (h for h in results.snapshot.histories if h.status is TrialStatus.FINISHED)
    last = (record for h in histories for record in h.finished(PRETRAIN)[-1:])
    counts = sorted({int(result.tokens) for _, result in with_results(last, PretrainResult)})
    if not counts:
        return f"{short(results.experiment.pretraining.tokens)} planned, no trial has finished"
    return f"{short_range(counts[0], counts[-1])} in finished trials"


SECTION = Section("setup", conditions=_conditions, of_trials=False)
