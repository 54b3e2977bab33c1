"""Claims of papers with the verdicts of the published reports, or the reason and the cost where none is published.

`claims.toml`, beside the published reports, has each claim with its source and the experiments, scales and arms that
test it. Verdicts are those of the reports (`reports/sections/claims.py`); nothing is decided here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from reports.claim_row import (
    EXAMPLES_LIMIT,
    NOT_RUN,
    TOO_MANY_SEEDS,
    ClaimRow,
    PowerBySeeds,
    judged,
    scope_text,
    shown_claim,
)
from reports.formats.markdown import escape, table_lines
from reports.number_format import NOTHING, fixed, scientific, short
from reports.paper_claims_file import DeclaredTest, read_paper_claims
from reports.searched_claims import searched_claims
from reports.section import difference_in
from reports.sections.claims import claims_table
from reports.sections.latency import measured_on
from reports.statistics.claims import ClaimOutcome, TestedClaim, on_the_single_task, tested_claims
from reports.statistics.latency import OPERATIONS, StatementVerdict, latencies_of, statement_verdicts
from reports.statistics.metrics import Metric
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from reports.table import Row
from reports.views import own_results, shared_results
from steeplechase.configuration.claims import Claim, parse_claim
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.metrics import DESCRIPTIONS
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.yaml import read_file
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.example_tables import ExampleTable, kept_example_tables
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.snapshot import Snapshot, snapshot

OVER_SEEDS_ALONE = "interval over seeds alone"
"""Said of metrics whose values of single examples were not kept: no interval could be over examples too."""


def claim_rows(published: Path, experiments: Path) -> Iterator[ClaimRow]:
    """Yield a test for every claim of a paper, experiment, scale and claim of the experiment."""
    claims = read_paper_claims(published)
    folders = {each.name: _Published(each) for each in sorted(published.iterdir()) if has_export(each)}
    cost = cache(_cost)
    for claim in claims:
        for tested in claim.tested_by:
            for scale in tested.scales:
                named, departure = f"{tested.experiment} {scale}", tested.departure
                if (found := folders.get(f"{tested.experiment}-{scale}")) is not None:
                    told = filter(None, [tested.caveat])
                    tests = _with_caveats(_published_tests(tested, found, folders.values()), (*told,))
                else:
                    planned = cost(experiments / f"{tested.experiment}.yaml", scale)
                    tests = iter([_not_run(tested.claims, "; ".join(filter(None, (tested.not_run, planned))))])
                yield from (replace(test, claim=claim.id, experiment=named, departure=departure) for test in tests)
        yield from (replace(test, claim=claim.id) for test in searched_claims(claim.searched_by, experiments.parent))
        if claim.untested:
            yield ClaimRow(claim.id, NOTHING, NOTHING, NOTHING, claim.untested)


@dataclass(frozen=True)
class _Published:
    """A published folder, read once for all claims."""

    folder: Path

    @cached_property
    def rows(self) -> Snapshot:
        return snapshot(read_export(self.folder))

    @cached_property
    def tables(self) -> Mapping[str, ExampleTable]:
        return kept_example_tables(self.folder)

    @cached_property
    def results(self) -> Results:
        return _compared(self.rows, self.tables)


def _published_tests(tested: DeclaredTest, found: _Published, folders: Iterable[_Published]) -> Iterator[ClaimRow]:
    if found.rows.has_trials:
        yield from _of_training(tested, found, [*_of_study(found, folders)])
    else:
        yield from _of_speed(results_of(found.rows), tested.claims)


def _with_caveats(tests: Iterable[ClaimRow], caveats: tuple[str, ...]) -> Iterator[ClaimRow]:
    return (replace(test, caveats=(*test.caveats, *caveats)) for test in tests)


def _not_run(claims: Iterable[str], reason: str) -> ClaimRow:
    texts = tuple(claims)
    parsed = [parse_claim(text) for text in texts if "(" in text]
    metrics = dict.fromkeys(claim.metric for claim in parsed)
    tests = [shown_claim(claim) for claim in parsed] or [f"`{text}`" for text in texts]
    verdict = f"{NOT_RUN}: {reason}" if reason else NOT_RUN
    return ClaimRow("", NOTHING, ", ".join(metrics) or NOTHING, ", ".join(tests) or NOTHING, verdict)


def _cost(file: Path, scale: str) -> str:
    """Return the trials, tokens and FLOPs of an experiment's pretraining; empty if its arms are not known before."""
    experiment = experiment_in(read_file(file), scale)
    if experiment.search is not None:
        return ""
    seeds, tokens = len(first_seeds(experiment.pretraining.seeds)), experiment.pretraining.tokens
    candidates = [arm.candidate for arm in experiment.arms]
    trained = seeds * sum(each.recipe.own_tokens(tokens) for each in candidates)
    flops = seeds * sum(each.train_flops(tokens, experiment.baseline.architecture) for each in candidates)
    return f"{seeds * len(candidates)} trials, {short(trained)} tokens, {scientific(flops)} FLOPs"


def _of_study(found: _Published, folders: Iterable[_Published]) -> Iterator[TestedClaim]:
    """Yield the claims in other published folders of the same study; none if the experiment declares no study."""
    study = found.rows.document.get("study")
    for other in folders if study else ():
        if other != found and other.rows.document.get("study") == study:
            yield from tested_claims(other.results)


def _compared(rows: Snapshot, tables: Mapping[str, ExampleTable]) -> Results:
    """Return the results at every arm's own recipe, where it was tuned, else at the shared one."""
    return own_results(rows, None, tables) or shared_results(rows, None, tables)


def _of_training(tested: DeclaredTest, found: _Published, of_study: Sequence[TestedClaim]) -> Iterator[ClaimRow]:
    """Yield the tests of an experiment that trains; a tuned one is tested at each arm's own recipe."""
    as_run = found.results
    tuned = ("each arm at its own recipe",) if own_results(found.rows) else ()
    declared = {str(row["claim"]): row for row in claims_table(as_run, of_study).rows}
    tasks = as_run.experiment.fine_tuning.tasks
    claims = [on_the_single_task(parse_claim(text), tasks) for text in tested.claims]
    added = [text for text in map(str, claims) if text not in declared]
    results = _compared(_with_claims(found.rows, added), found.tables) if added else as_run
    verdicts = {str(row["claim"]): row for row in claims_table(results, of_study).rows} | declared
    family_as_run, family_with_added = (_family_size(judged, of_study) for judged in (as_run, results))
    for claim in claims:
        missing = _missing(results, claim)
        if missing:
            yield _not_run([str(claim)], f"the published run has no {missing}")
        else:
            undeclared = () if str(claim) in declared else ("not declared before the run",)
            size = family_as_run if str(claim) in declared else family_with_added
            level = (1 - max(map(results.confidence, claim.arms))) / size
            yield _of_claim(claim, verdicts[str(claim)], results, level, (*tuned, *undeclared))


def _family_size(results: Results, of_study: Sequence[TestedClaim]) -> int:
    """Return the number of tests that a claim is corrected for."""
    family = (*tested_claims(results), *of_study)
    return max(1, len({each.key for each in family if each.is_random}))


def _with_claims(rows: Snapshot, claims: Iterable[str]) -> Snapshot:
    """Return the snapshot with more claims in its experiment, so that its report tests them too."""
    known = rows.document.get("claims")
    texts = [*known] if isinstance(known, list) else []
    return replace(rows, document={**rows.document, "claims": [*texts, *claims]})


def _missing(results: Results, claim: Claim) -> str:
    """Return what a published run lacks of a claim's arms and metric; empty if nothing."""
    arms = [arm for arm in claim.arms if arm not in results.measured_values]
    if arms:
        return " and ".join(arms)
    measured = (results.measured_values[arm].get(claim.metric) for arm in claim.arms)
    return "" if all(measured) else claim.metric


def _of_claim(claim: Claim, verdict: Row, results: Results, level: float, caveats: tuple[str, ...]) -> ClaimRow:
    metric = Metric(claim.metric)
    found, decimals = results.estimate(claim.first, claim.second, metric), results.decimals(metric)
    difference = difference_in(verdict)
    afterwards = (f"added {verdict['afterwards']}",) if verdict["afterwards"] else ()
    departures = (str(verdict["departure"]),) if verdict["departure"] else ()
    undecided = verdict["verdict"] == ClaimOutcome.UNDECIDED
    over_seeds = results.contrasts.over_seeds({claim.first: 1.0, claim.second: -1.0}, metric.name)
    power = PowerBySeeds(claim, found, difference.n, level, over_seeds)
    needed = (_seeds_text(claim, results, power),) if undecided else ()
    of_examples = claim.metric not in DESCRIPTIONS
    alone = (OVER_SEEDS_ALONE,) if of_examples and results.over_seeds_alone(claim.arms, metric) else ()
    row = judged(claim, str(verdict["verdict"]), found, difference, level, decimals)
    row = replace(row, scope=scope_text(results, claim.arms))
    if verdict["reason"]:  # no difference of means is tested
        return replace(row, caveats=(str(verdict["reason"]), *caveats), estimate=None, detectable=NOTHING)
    return replace(row, caveats=(*needed, *caveats, *afterwards, *departures, *alone))


def _seeds_text(claim: Claim, results: Results, power: PowerBySeeds) -> str:
    """Return what would decide a claim if the true difference and variances were the observed ones, with its cost."""
    seeds = power.seeds_needed
    if seeds is None:
        return EXAMPLES_LIMIT if power.limited_by_examples else TOO_MANY_SEEDS
    tokens = results.experiment.pretraining.tokens
    of_seed = sum(arm.candidate.recipe.own_tokens(tokens) for arm in results.arms if arm.name in claim.arms)
    return f"{seeds} seeds would decide it ({short(seeds * of_seed)} tokens)"


def _of_speed(results: Results, texts: Iterable[str]) -> Iterator[ClaimRow]:
    """Yield the tests of a paper's orderings: each at all lengths, on FLOPs and on time."""
    evidence = results.once(latencies_of)
    assert evidence is not None
    width = evidence.architectures[evidence.timing.baseline].width
    scope = f"{measured_on(evidence)}, width {width}"
    found = list(statement_verdicts(evidence))
    for text in texts:
        for measure in dict.fromkeys(each.measure for each in found):
            tested = [each for each in found if (each.statement, each.measure) == (text, measure)]
            if tested:
                yield _claim_row(text, measure, tested, scope)


def _claim_row(text: str, measure: str, tested: list[StatementVerdict], scope: str) -> ClaimRow:
    verdicts = [str(each.verdict) for each in tested]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    ratios = sorted(each.ratio.value for each in tested)
    rounds = [] if measure == OPERATIONS else [each.ratio.n for each in tested]
    return ClaimRow(
        claim="",
        experiment="",
        metric=measure,
        test=f"`{text}`",
        verdict=", ".join(f"{verdict} at {count} of {len(tested)} lengths" for verdict, count in counts.items()),
        scope=scope,
        n=min(rounds, default=None),
        replicates="rounds" if rounds else "",
        difference=f"{fixed(ratios[0], 3)}x to {fixed(ratios[-1], 3)}x",
    )


HEADINGS = ("claim", "experiment", "metric", "test", "n", "Δ [95%]", "detectable", "verdict")
ALIGNMENTS = ("---", "---", "---", "---", "--:", "---", "--:", "---")
HEAD = (
    "# The papers' claims\n\nWhat papers state of larger models, and what the published reports say of it at their "
    "size. Below the table stands what its verdicts and columns mean."
)
NOTE = (
    "A verdict is about models of the size, the training and the text beside it, and says nothing of others. It is "
    "that of the report: as stated here if a difference outside the claimed range, first minus second, is rejected "
    "at 5%, opposite here if one inside it is, open here otherwise, and not testable at this size on a task whose "
    "references the arms do not exceed, on arms that have not begun to learn, unless it is shown by how many of "
    "their seeds have, and of about level with a power below 50%, unless it is opposite; by Holm's correction over "
    "all claims of the experiment, tested or not, of all experiments that declare the same study, or of all "
    "searches that test one claim; a claim that was not declared before the run is corrected for the declared ones "
    "and for all others that were not. Margins (within) are this project's. Δ has its own 95% interval, over seeds "
    "and held-out sequences or dev examples, or, where it says so, over seeds alone: too narrow, because the "
    "sampling error of the examples is not in it; chosen_final is the final loss of the candidate that a search "
    "chose, in nats. n: pretraining seeds, where it says nothing else. Passes over the text: pretraining tokens "
    "over those of the training text. Detectable: the true difference from 0 that is significant after the "
    "correction with a probability of 0.8 at this n and spread, whatever the family's other claims show. Seeds that "
    "would decide: of both sides, for that probability if the true difference and spread are the observed ones; "
    "where more examples are needed too, no number of seeds would do. "
    "Costs: all pretraining of the experiment, no cache."
)


def markdown(published: Path, tests: Iterable[ClaimRow]) -> str:
    """Return the claims with their sources and the table of their tests, those of `claim_rows`, as Markdown."""
    claims = read_paper_claims(published)
    listed = [f"- **{claim.id}** {escape(claim.statement)} ({escape(claim.source)})" for claim in claims]
    rows = [HEADINGS, ALIGNMENTS, *map(_cells, tests)]
    return "\n\n".join((HEAD, "\n".join(listed), "\n".join(table_lines(rows)), NOTE)) + "\n"


def _cells(test: ClaimRow) -> tuple[str, ...]:
    n = NOTHING if test.n is None else f"{test.n} {test.replicates}".rstrip()
    verdict = "; ".join(filter(None, (test.verdict, test.scope, *test.caveats, test.departure)))
    texts = map(escape, (n, test.difference, test.detectable, verdict))
    return (test.claim, escape(test.experiment), escape(test.metric), test.test, *texts)
