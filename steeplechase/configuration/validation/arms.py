"""Rules on the arms: comparable objectives, texts and vocabularies, and the sections that their options need."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from search_space.architecture import Architecture
from search_space.overrides import InvalidOverride, absolute_path, applied
from search_space.released.papers import published
from steeplechase.configuration.designs.point import label
from steeplechase.configuration.experiment import Experiment, objectives_of, searched_objectives
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.errors import Violation, closest, did_you_mean
from steeplechase.tasks.downstream import find_task, task_names


def objective_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms that cannot be compared on the baseline's evaluation set, or not at a matched budget."""
    yield from _evaluation_violations(experiment)
    yield from _evaluation_length_violations(experiment)
    yield from _pruning_violations(experiment)


def _evaluation_length_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield what cannot read the sequences of the evaluation set, whatever the length that it is trained on."""
    reference = experiment.pretraining.evaluation_reference or experiment.baseline
    for name, architecture in architectures_by_positions(experiment).items() if experiment.pretrains else ():
        if reason := architecture.too_long(reference.recipe.sequence_length):
            yield Violation(("design",), f"{name} is evaluated on the same sequences as all arms: {reason}")


POSITION_PATHS = ("architecture", "positions"), ("architecture", "position")
"""Axes that decide how long a sequence may be."""


def architectures_by_positions(experiment: Experiment) -> dict[str, Architecture]:
    """Return the architecture of every arm, and of the baseline with every value of a search's axes of positions."""
    found = {arm.name: arm.candidate.architecture for arm in experiment.accepted_arms}
    space = experiment.search.space if experiment.search else {}
    for path in (path for path in space if absolute_path(path)[:2] in POSITION_PATHS):
        for value in space[path]:
            with suppress(InvalidOverride):  # the design's own violations say why
                found[f"{path} {label(value)}"] = applied(experiment.baseline, {path: value}).architecture
    return found


def _evaluation_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms whose held-out loss is not that of the baseline's evaluation set."""
    evaluated = experiment.baseline.objective.evaluation
    others = [arm.name for arm in experiment.accepted_arms if not arm.candidate.objective.measured_on(evaluated)]
    searched = (each for each in searched_objectives(experiment) if not each.measured_on(evaluated))
    others += dict.fromkeys(each.kind for each in searched)
    if others and experiment.pretraining.evaluation_sets == "by_objective":
        yield from by_objective_violations(experiment)
    elif others:
        verb = "trains" if len(others) == 1 else "train"
        reason = (
            f"{verb} with another objective than the baseline ({evaluated}); held-out losses would not be comparable"
        )
        message = f"{', '.join(others)} {reason}. Give each objective its own scale"
        yield Violation(("design",), f"{message}, or write pretraining.evaluation_sets: by_objective")


def by_objective_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield what needs the held-out losses of arms that have none in common."""
    location = ("pretraining", "evaluation_sets")
    if not experiment.fine_tuning.tasks:
        yield Violation(location, "by_objective compares arms on tasks alone, and fine_tuning.tasks is empty")
    seeds = experiment.pretraining.seeds
    if not isinstance(seeds, tuple) and HELD_OUT_LOSS in seeds.until_decided.margin:
        message = "seeds.until_decided has a margin of held_out_loss, on which by_objective compares no arms"
        yield Violation(location, message)
    search = experiment.search
    if search is not None and HELD_OUT_LOSS in search.objectives:
        message = "held_out_loss is compared over no objectives and vocabularies. Write objectives: [score]"
        yield Violation(("design", "objectives"), message)
    if search is not None and experiment.pretraining.rung_tokens and experiment.pretraining.hurdle.rung_probe is None:
        message = "held-out losses of other objectives and vocabularies are not comparable at rungs"
        yield Violation(("pretraining", "hurdle"), f"{message}; name a probe: {{ task: … }}")


def untrained_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms whose budget ends before the first update of the encoder."""
    tokens = experiment.pretraining.tokens
    for arm in experiment.accepted_arms:
        before = arm.candidate.objective.tokens_before_encoder
        if before and experiment.initial_checkpoint(arm.candidate) is not None:
            message = f"{arm.name} starts its encoder from its generator, which would overwrite the checkpoint"
            yield Violation(("pretraining", "init_checkpoint"), message)
        if before >= tokens and experiment.pretrains:
            message = f"{arm.name} trains its generator alone for {before} tokens; pretraining.tokens is {tokens}"
            yield Violation(("design",), f"{message}, so that its encoder would never be trained")


def _pruning_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield a matched budget with pruned arms, whose sizes are known after the run only."""
    if experiment.match is None:
        return
    pruned = [arm.name for arm in experiment.accepted_arms if arm.candidate.recipe.pruning is not None]
    if pruned:
        message = f"{', '.join(pruned)} are pruned to a size of their own; a matched budget needs arms of fixed sizes"
        yield Violation(("match",), message)


FIELD = ("architecture", "supersenses")


def lexicon_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms, and a search's axis, with supersense embeddings in an experiment without a lexicon."""
    if experiment.lexicon is not None:
        return
    reason = "the experiment's lexicon, the supersenses of words. Write lexicon: { path: … }"
    if size := experiment.baseline.architecture.supersenses:
        yield Violation(("baseline", *FIELD), f"{size} needs {reason}")
        return
    names = [arm.name for arm in experiment.accepted_arms if arm.candidate.architecture.supersenses]
    search = experiment.search
    if search is not None:
        names += [path for path in search.space if absolute_path(path) == FIELD]
    if names:
        yield Violation(("design",), f"supersenses of {', '.join(names)} need {reason}")


def mention_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield that an objective reads mentions in an experiment without any."""
    if experiment.mentions is not None:
        return
    needing = {each.kind for each in objectives_of(experiment) if each.packing.reads_mentions}
    reason = "needs the experiment's mentions, where the text names entities. Write mentions: { kind: file, path: … }"
    if (kind := experiment.baseline.objective.kind) in needing:
        yield Violation(("baseline", "objective"), f"{kind} {reason}")
    elif needing:
        yield Violation(("design",), f"{', '.join(sorted(needing))} {reason}")


LINEAR_PROBE = "linear_probe"


def module_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the parts of the experiment that a module without named blocks cannot take part in."""
    arms = [arm.name for arm in experiment.accepted_arms if arm.candidate.architecture.is_counted]
    if not arms:
        return
    reason = f"needs the encoder's blocks; the architecture of {arms[0]} is of kind module"
    if experiment.measure.attention_diagonal is not None:
        yield Violation(("measure", "attention_diagonal"), reason)
    if experiment.initial_checkpoint(experiment.baseline) is not None:
        yield Violation(("pretraining", "init_checkpoint"), reason)
    if experiment.fine_tuning.layer_rate_decay != 1:
        yield Violation(("fine_tuning", "layer_rate_decay"), reason)
    for position, task in enumerate(experiment.fine_tuning.tasks):
        if task in task_names() and find_task(task).method == LINEAR_PROBE:
            yield Violation(("fine_tuning", "tasks", position), f"{task} {reason}")


def paper_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield unknown tables, rows and arms."""
    paper = experiment.paper
    if paper is None or (paper.table is None and not paper.rows):
        return
    if paper.table is None:
        yield Violation(("paper", "rows"), "rows need paper.table, the published table that they are in")
        return
    tables = published().tables
    if paper.table not in tables:
        message = f"{paper.table!r} is not a published table. Allowed: {', '.join(tables)}"
        yield Violation(("paper", "table"), f"{message}.{did_you_mean(paper.table, list(tables))}")
        return
    arms = [arm.name for arm in experiment.accepted_arms]
    if not arms:
        return
    rows = list(tables[paper.table].rows)
    for arm, row in paper.rows.items():
        yield from (Violation(("paper", "rows", arm), message) for message in unknown_arms([arm], arms))
        if row not in rows:
            message = f"{row!r} is not a row of {paper.table}. Allowed: {', '.join(rows)}.{did_you_mean(row, rows)}"
            yield Violation(("paper", "rows", arm), message)


AXIS = "data"


def data_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield unknown and idle names of data, and vocabularies over which arms could not be compared."""
    if (name := experiment.baseline.data) is not None:
        message = f"{name} of the baseline: it has the experiment's corpus and tokenizer; leave it out"
        yield Violation(("baseline", AXIS), message)
    used = _users(experiment)
    for name, users in used.items():
        if name not in experiment.data:
            known = ", ".join(experiment.data) or "none; declare it as data: { NAME: { corpus: … } }"
            message = f"{', '.join(users)}: {name!r} is not declared.{did_you_mean(name, experiment.data)}"
            yield Violation(("design",), f"{message} Allowed: {known}")
    for name, data in experiment.data.items():
        if data.corpus is None and data.tokenizer is None:
            yield Violation((AXIS, name), "changes nothing; name a corpus, a tokenizer or both")
        elif name not in used:
            yield Violation(
                (AXIS, name), f"no arm has it. Write data: {name} in an arm, or an axis data of the design"
            )
        if data.corpus is not None and experiment.mentions is not None:
            yield Violation((AXIS, name, "corpus"), "mentions are of the experiment's text; leave one of them out")
    if used and not experiment.pretrains:
        yield Violation((AXIS,), "nothing is pretrained, so that no arm reads another text; leave it out")
    yield from _vocabulary_violations(experiment, used)
    yield from _small_vocabularies(experiment)


def _small_vocabularies(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms, and a search's axis, with fewer tokens than the vocabulary that is learned for the baseline."""
    size = experiment.baseline.architecture.vocabulary_size
    if experiment.tokenizer.is_given or not experiment.has_trials:
        return
    names = [arm.name for arm in experiment.accepted_arms if arm.candidate.architecture.vocabulary_size < size]
    for path, values in experiment.search.space.items() if experiment.search else ():
        if absolute_path(path) == ("architecture", "vocabulary_size"):
            names += [f"{path} {value}" for value in values if isinstance(value, int) and value < size]
    if names:
        message = f"{', '.join(names)}: a vocabulary below the baseline's, {size}, in which all arms read their texts"
        yield Violation(("design",), f"{message}. Leave it out, or change baseline.architecture.vocabulary_size")


def _users(experiment: Experiment) -> dict[str, list[str]]:
    """Return the arms with data of each name; a search's axis counts as one."""
    used: dict[str, list[str]] = {}
    for arm in experiment.accepted_arms:
        if arm.candidate.data is not None and arm.candidate != experiment.baseline:
            used.setdefault(arm.candidate.data, []).append(arm.name)
    search = experiment.search
    for value in () if search is None else search.space.get(AXIS, ()):
        if value is not None:
            used.setdefault(str(value), []).append(f"design.space.{AXIS}")
    return used


def _vocabulary_violations(experiment: Experiment, used: dict[str, list[str]]) -> Iterator[Violation]:
    """Yield arms with a vocabulary of their own where losses per token would be compared with those of another."""
    own = {name for name, data in experiment.data.items() if data.tokenizer is not None and name in used}
    if not own:
        return
    users = ", ".join(dict.fromkeys(user for name in sorted(own) for user in used[name]))
    if experiment.initial_checkpoint(experiment.baseline) is not None:
        yield Violation((AXIS,), f"{users}: an initial checkpoint has its own vocabulary; leave data's tokenizer out")
    if experiment.pretraining.evaluation_sets != "by_objective":
        reason = "held-out losses per token of two vocabularies are not comparable"
        remedy = "write pretraining.evaluation_sets: by_objective to compare on tasks alone"
        language_models = "measure.perplexity has bits per character of language models"
        yield Violation(("design",), f"{users}: {reason}; {remedy}. {language_models}")
    else:
        yield from by_objective_violations(experiment)


def unknown_arms(names: Iterable[str], arms: Iterable[str]) -> list[str]:
    """Return a message for every name that is not an arm."""
    known = list(arms)
    allowed = ", ".join(sorted(known))
    return [
        f"{name!r} is not an arm. Allowed: {allowed}.{_meant(name, known)}" for name in names if name not in known
    ]


def _meant(name: str, arms: Sequence[str]) -> str:
    """Return the end of a message that suggests an arm; of a name of choices, only an arm with these very choices.

    The order of the choices does not matter, nor how much of a path is written before its last part.
    """
    wanted = _choices(name)
    if wanted is None:
        return did_you_mean(name, arms)
    by_arm = {arm: choices for arm in arms if (choices := _choices(arm)) is not None}
    known = sorted({part for choices in by_arm.values() for part in choices})
    corrected = {closest(part, known) or part: value for part, value in wanted.items()}
    same = [arm for arm, choices in by_arm.items() if choices == corrected]
    return f" Did you mean {(closest(name, same) or same[0])!r}?" if same else ""


def _choices(name: str) -> dict[str, str] | None:
    """Return the values in the name of a point by the last parts of their paths; None of a name of another kind."""
    pairs = [part.partition("=") for part in re.split(r",(?! )", name)]
    return {path.rpartition(".")[2]: value for path, _, value in pairs} if all(sign for _, sign, _ in pairs) else None
