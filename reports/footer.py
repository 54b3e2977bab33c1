"""The footer of a report: the conditions under which the numbers were measured."""

from collections.abc import Iterable, Iterator

from reports.document import Notes
from reports.grid import Grid
from reports.number_format import counted, short
from reports.sections.constant_predictions import constant_notes
from reports.sections.contamination import leakage_notes
from reports.sections.differences_from_paper import option_notes
from reports.sections.equal_arms import equal_arms_notes
from reports.sections.evaluation_set import evaluation_set_notes, objective_notes, segment_pair_notes
from reports.sections.failures import failures_notes, limit_notes
from reports.sections.post_hoc_additions import addition_notes, known_before
from reports.sections.sampling import sampling_notes
from reports.sections.searched_settings import settings_notes
from reports.sections.squad import squad_notes
from reports.sections.truncation import truncation_notes
from reports.sections.tuning_trials import tuning_footer
from reports.sections.vocabulary import vocabulary_notes
from reports.sections.without_value import without_value_notes
from reports.statistics.results import Results
from search_space.architecture import Architecture
from search_space.architecture_kind import ENCODER
from search_space.candidate import Candidate
from search_space.overrides import difference
from search_space.released.models import PRESETS
from search_space.released.papers import published
from steeplechase.analysis.difference import ALPHA
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.ledger.records import WITHOUT_SCALES, TrialStatus, with_results
from steeplechase.ledger.stage_results import CorpusResult, PretrainResult
from steeplechase.tasks.corpora.text_files import TextFilesCorpus

ORIGIN = "ELECTRA-Small, arXiv 2003.10555, appendix A"
ORIGIN_CORPUS = str(published().corpora["convbert"]["pretraining"])
ORIGIN_TOKENS = PRESETS["electra-small"].tokens
HASH_DIGITS = 12
POINTS_SHOWN = 3
SPLITS = ("train", "validation", "test")


def scale_of(name: str) -> str:
    """Return the name of a scale; empty if the file has none."""
    return "" if name == WITHOUT_SCALES else name


def intervals_note(grids: Iterable[Grid]) -> Notes:
    """Return the number of uncorrected intervals in the grids and how many exclude 0 by chance."""
    count = sum(grid.intervals for grid in grids)
    if count < 2:
        return ()
    text = (
        f"the tables of this report show {count} intervals of a difference at 95%, without correction for multiple "
        f"comparisons; if no arm differed, about {count * ALPHA:.1f} of them would exclude 0 by chance"
    )
    return (("Intervals", text),)


def footer_of(results: Results) -> Notes:
    """Return the conditions under which the numbers were measured."""
    shared = results.snapshot.shared
    return (
        *_setup(results),
        *vocabulary_notes(results.experiment, shared),
        *squad_notes(results.snapshot),
        *([("Objective", results.experiment.baseline.objective.name)] if results.experiment.pretrains else []),
        *evaluation_set_notes(
            shared,
            results.experiment.baseline.objective.evaluation,
            tasks=bool(results.tasks),
            arms=[arm.name for arm in results.arms],
            other_loss=results.snapshot.arms_with_other_loss,
        ),
        *sampling_notes(results),
        *_objectives(results),
        *segment_pair_notes(shared),
        *_differences(results),
        *option_notes(results),
        ("Diverged", _diverged(results)),
        *failures_notes(results),
        *limit_notes(results.snapshot),
        *constant_notes(results),
        *equal_arms_notes(results),
        *without_value_notes(results.snapshot),
        *settings_notes(results),
        *truncation_notes(shared),
        *leakage_notes(shared),
        *_additions(results),
        *_impossible_points(results.snapshot.impossible),
        *(() if results.snapshot.tuning is None else (tuning_footer(results.snapshot.tuning),)),
    )


def _setup(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the setup of every trial: scale, corpus, tokens, seeds, initial weights."""
    pretraining = results.experiment.pretraining
    seeds = ", ".join(map(str, first_seeds(pretraining.seeds))) or "none"
    if results.looks.counts:
        seeds += f", then up to {results.looks.counts[-1]} for undecided arms"
    fine_tuning = (
        f"; fine-tuning {', '.join(map(str, results.experiment.fine_tuning.seeds))}" if results.tasks else ""
    )
    yield "Scale", scale_of(results.snapshot.scale) or "none declared"
    yield "Corpus", _corpus(results)
    yield "Tokens per trial", _tokens(results)
    yield "Seeds", f"pretraining {seeds}{fine_tuning}" if results.experiment.pretrains else f"fine-tuning {seeds}"
    begun = {arm.name: results.experiment.initial_checkpoint(arm.candidate) for arm in results.arms}
    folders = dict.fromkeys(filter(None, begun.values()))
    if len(folders) == 1 and None not in begun.values():
        yield "Initial weights", f"every encoder starts from {next(iter(folders))}"
    elif folders:
        named = (f"{', '.join(arm for arm in begun if begun[arm] == folder)} from {folder}" for folder in folders)
        yield "Initial weights", "; ".join(named)


def _additions(results: Results) -> Iterator[tuple[str, str]]:
    """Yield results that existed before the experiment started, and arms and claims added after results."""
    if results.is_search:
        return
    if known := known_before(results):
        yield "Results before the start", known
    if added := list(addition_notes(results)):
        yield "Added after results", "; ".join(added)


def _objectives(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the arms of an ablation that are trained by another objective than the one they are measured on."""
    if not results.is_search:
        candidates = {arm.name: arm.candidate for arm in results.arms}
        yield from objective_notes(candidates, results.snapshot.arms_with_other_loss)


def _impossible_points(points: tuple[tuple[str, ...], ...]) -> Iterator[tuple[str, str]]:
    if points:
        examples = "; ".join(f"{name}: {', '.join(reasons)}" for name, *reasons in points[:POINTS_SHOWN])
        more = "; …" if len(points) > POINTS_SHOWN else ""
        yield "Impossible points left out", f"{len(points)}: {examples}{more}"


def _corpus(results: Results) -> str:
    corpus = results.experiment.corpus
    by_file = isinstance(corpus, TextFilesCorpus) and corpus.split_by == "file"
    kind = corpus.kind + (", split by file" if by_file else "")
    records = [record for record in results.snapshot.shared if record.label == "corpus"]
    read = [result for _, result in with_results(records, CorpusResult)]
    if not read:
        return f"{kind} (not read yet)"
    sizes = f"{_split_sizes(read[-1])}{_unreadable(read[-1].unreadable_files)}"
    return f"{kind}{sizes}, sha256 {read[-1].content_hash[:HASH_DIGITS]}"


def _unreadable(files: int) -> str:
    """Return the number of documentation files left out because they are not readable as Python."""
    left_out = counted(files, "file left out that is", "files left out that are")
    return f", {left_out} not valid Python" if files else ""


def _split_sizes(read: CorpusResult) -> str:
    counts = [f"{read.splits[name].documents} {name}" for name in SPLITS if name in read.splits]
    return f", documents: {', '.join(counts)}" if counts else ""


def _tokens(results: Results) -> str:
    """Return the budget, or the tokens of finished trials, which are rounded up to whole updates."""
    if not results.experiment.pretrains:
        return "0: initial checkpoints are fine-tuned as they are"
    histories = (h for h in results.snapshot.histories if h.status is TrialStatus.FINISHED)
    last = (record for h in histories for record in h.finished(PRETRAIN)[-1:])
    counts = sorted({int(result.tokens) for _, result in with_results(last, PretrainResult)})
    if not counts:
        return f"{short(results.experiment.pretraining.tokens)} planned, no trial has finished"
    tokens = short(counts[0]) if counts[0] == counts[-1] else f"{short(counts[0])} to {short(counts[-1])}"
    return f"{tokens} in finished trials"


def _differences(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the differences of corpus, budget and baseline from the papers' values, the defaults of Candidate.

    If the experiment names a table of the paper, the section on differences lists them by arm instead.
    """
    origin, experiment = Candidate(), results.experiment
    if experiment.paper is None or experiment.paper.table:
        return
    parts = [f"corpus {experiment.corpus.kind} (ConvBERT: {ORIGIN_CORPUS})"]
    parts.append(f"{short(experiment.pretraining.tokens)} tokens ({short(ORIGIN_TOKENS)})")
    for path in difference(origin, experiment.baseline):
        name = path.removeprefix("recipe.").replace("_", " ")
        parts.append(f"{name} {_plain(experiment.baseline, path)} ({_plain(origin, path)})")
    yield "Differences from the papers", f"{', '.join(parts)}; in brackets: {ORIGIN}"


def _plain(candidate: Candidate, path: str) -> str:
    whole = path.partition(".")[0] in ("architecture", "objective", "recipe")
    value: object = candidate if whole else candidate.architecture
    for name in path.split("."):
        value = getattr(value, name)
    return str(getattr(value, "kind", ENCODER if isinstance(value, Architecture) else value))


def _diverged(results: Results) -> str:
    counts = {
        arm.name: sum(history.status is TrialStatus.DIVERGED for history in results.trials[arm.name])
        for arm in results.arms
    }
    by_arm = [f"{arm} {count} of {len(results.trials[arm])}" for arm, count in counts.items() if count]
    if not by_arm:
        return "no trial"
    remark = f"; the {BASELINE} is one of them" if counts.get(BASELINE) else ""
    return f"{', '.join(by_arm)} trials, left out of all means{remark}"
