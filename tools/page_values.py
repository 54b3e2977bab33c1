"""The functions of the page templates: numbers of published reports as text, from their rows.

Folders are those of `reports/published`. Numbers have the decimals of the folder's report, differences its 95%
interval and n. An unknown folder, arm, metric, claim, table or column is a ConfigurationError with the closest name.
"""

from functools import cache
from pathlib import Path

from reports.claim_row import passes_text, scope_text, tokens_text
from reports.formats.terminal import draw
from reports.number_format import difference_text, fixed, p_text, short
from reports.sections.tokens_to_loss import loss_text, ratio_text
from reports.statistics.held_out_losses import furthest_curves
from reports.statistics.metrics import Metric
from reports.statistics.tokens_to_loss import tokens_to_loss_of
from reports.summary import brief
from reports.table import number
from steeplechase.analysis.difference import Difference
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.metrics import HELD_OUT_LOSS
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.records import shared_evaluation_set, with_results
from steeplechase.ledger.stage_results import TokensResult
from tools.published_folder import Folder, known_name
from tools.repetitions import repetitions

COLUMNS = 80


class Published:
    """The published folders of one place; its public methods are the functions of the templates."""

    def __init__(self, place: Path) -> None:
        self._known = [path.name for path in sorted(place.iterdir()) if has_export(path)]
        self._read = cache(lambda name: Folder(place / name))

    def _folder(self, name: str) -> Folder:
        return self._read(known_name(name, "a published folder", self._known))

    def difference(self, folder: str, metric: str, arm: str, other: str = BASELINE, **shown: bool) -> str:
        """Return an arm minus another one: `−0.972 nats [−1.124, −0.819], n = 8`.

        `interval=False` and `n=False` leave these out.
        """
        found = self._folder(folder)
        measured = found.metric(metric)
        return found.shown(found.results.difference(found.arm(arm), found.arm(other), measured), measured, **shown)

    def above(self, folder: str, metric: str, arm: str, other: str = BASELINE, **shown: bool) -> str:
        """Return by how much an arm's mean is above another's: `0.972 nats [0.819, 1.124], n = 8`.

        Raises ConfigurationError if it is not above, so that a sentence cannot state the other direction.
        """
        text = self.difference(folder, metric, arm, other, **shown)
        if not text.startswith("+"):
            raise ConfigurationError(f"{metric} of {arm} is not above that of {other}: {text}")
        return text.replace("+", "")

    def below(self, folder: str, metric: str, arm: str, other: str = BASELINE, **shown: bool) -> str:
        """Return by how much an arm's mean is below another's, as `above` does."""
        return self.above(folder, metric, other, arm, **shown)

    def mean(self, folder: str, metric: str, arm: str, *, n: bool = True) -> str:
        """Return mean and standard deviation over pretraining seeds: `3.68 ± 0.15 (n = 5)`."""
        found = self._folder(folder)
        measured = found.metric(metric)
        effect, decimals = found.results.effect(found.arm(arm), measured), found.results.decimals(measured)
        if effect.mean is None and arm in found.results.partly_learning:
            return f"{found.results.partly_learning[arm]} seeds began to learn"
        if effect.mean is None:
            raise ConfigurationError(f"{arm} has no {metric}")
        spread = "" if effect.sd is None else f" ± {fixed(effect.sd, decimals)}"
        return f"{fixed(effect.mean, decimals)}{spread}{f' (n = {effect.n})' if n else ''}"

    def extremes(self, folder: str, metric: str, *arms: str) -> str:
        """Return the lowest and the highest seed of the named arms, or of all: `3.68 to 4.09`."""
        found = self._folder(folder)
        measured = found.metric(metric)
        values = [value for arm in found.arms(arms) for value in found.results.measured_values[arm][metric].values()]
        return " to ".join(fixed(value, found.results.decimals(measured)) for value in (min(values), max(values)))

    def verdict(self, folder: str, metric: str, arm: str) -> str:
        """Return the report's verdict on an arm against the baseline: helps, hurts, no difference or undecided."""
        found = self._folder(folder)
        return str(found.results.comparison(found.arm(arm), found.metric(metric)).verdict)

    def outcome(self, folder: str, claim: str) -> str:
        """Return the outcome of a claim of the report: as stated, opposite, open here, or not testable."""
        return str(self._folder(folder).claim(claim).outcome)

    def claim(self, folder: str, claim: str, **shown: bool) -> str:
        """Return a claim's outcome with its difference: `as stated here: Δ −0.972 nats [−1.124, −0.819], n = 8`."""
        found = self._folder(folder)
        judged = found.claim(claim)
        tested = judged.tested
        return f"{judged.outcome}: Δ {found.shown(tested.difference, Metric(tested.claim.metric), **shown)}"

    def reached(self, folder: str, arm: str, loss: float) -> str:
        """Return by which tokens an arm's held-out loss was first measured below a level, and in how many seeds."""
        found = self._folder(folder)
        curves = furthest_curves(found.results, found.arm(arm))
        if not curves:
            raise ConfigurationError(f"{arm} has no curve that compares with the baseline's")
        first = [min((at for at, value in curve.items() if value < loss), default=None) for curve in curves]
        at = [f"{tokens / 1e6:.1f}M" for tokens in sorted(tokens for tokens in first if tokens is not None)]
        tokens = " to ".join(dict.fromkeys((at[0], at[-1]))) if at else "no number of"
        return f"{tokens} tokens in {len(at)} of {len(curves)} seeds"

    def cell(self, folder: str, table: str, column: str, **where: object) -> object:
        """Return one value of the one row of a table of the report that has these values."""
        row = self._folder(folder).row(table, where)
        return row[known_name(column, "a column", row)]

    def row(self, folder: str, table: str, *, decimals: int, **where: object) -> str:
        """Return the difference in the one row of a table that has these values: `−0.972 [−1.124, −0.819]`."""
        row = self._folder(folder).row(table, where)
        return difference_text(Difference(0, *(number(row[name]) for name in ("delta", "low", "high"))), decimals)

    def span(self, folder: str, table: str, column: str, *, decimals: int, **where: object) -> str:
        """Return the lowest and the highest value of the rows of a table that have these values: `1.05 to 1.36`."""
        found = self._folder(folder).rows(table, where)
        values = [float(str(row[known_name(column, "a column", row)])) for row in found]
        return " to ".join(fixed(value, decimals) for value in (min(values), max(values)))

    def exits(self, folder: str, arm: str) -> str:
        """Return after how many tokens an arm's seeds leave the plateau of all arms: `0.4M to 0.5M`.

        Raises ConfigurationError if one of them never does, so that a sentence cannot be about the others alone.
        """
        found = self._folder(folder)
        learning = found.results.learning.get(found.arm(arm))
        exits = [at for at in learning.exits.values() if at is not None] if learning else []
        if not exits or len(exits) != self.seeds(folder):
            raise ConfigurationError(f"{len(exits)} seeds of {arm} leave the plateau, of {self.seeds(folder)}")
        return " to ".join(f"{at / 1e6:.1f}M" for at in (min(exits), max(exits)))

    def tokens_ratio(self, folder: str, arm: str) -> str:
        """Return an arm's tokens to a loss as a ratio to the baseline's: `0.115 [0.098, 0.135], n = 8`.

        Raises ConfigurationError where not every seed of both reaches it.
        """
        found = self._folder(folder)
        reached = found.results.once(tokens_to_loss_of)
        ratios = {each.arm: each.tokens_ratio for each in reached.arms} if reached else {}
        ratio = ratios.get(found.arm(arm))
        if ratio is None or ratio.n != self.seeds(folder):
            raise ConfigurationError(f"{folder}: not every seed of {arm} and of the baseline reaches the loss")
        return f"{ratio_text(ratio)}, n = {ratio.n}"

    def target_loss(self, folder: str) -> str:
        """Return the loss of that table: `4.165`."""
        reached = self._folder(folder).results.once(tokens_to_loss_of)
        if reached is None:
            raise ConfigurationError(f"{folder}: no loss that every seed of the baseline reaches")
        return loss_text(reached)

    def printed(self, folder: str) -> str:
        """Return what `steeplechase report` prints of the folder in 80 columns."""
        report = brief(self._folder(folder).report, f"steeplechase report {folder} --all")
        return draw(report, COLUMNS, colour=False)

    def scales(self, experiment: str) -> list[str]:
        """Return the folders of an experiment, one a scale."""
        return [folder for folder in self._known if folder.rpartition("-")[0] == experiment]

    def repeated(self, *folders: str, arm: str, metric: str = HELD_OUT_LOSS) -> str:
        """Return how an arm's difference from the baseline varies over folders with as many seeds each.

        `mean −0.13 nats [−0.15, −0.11], n = 5, standard deviation 0.02, from seeds alone 0.02, p 0.401`.
        """
        over = [self._folder(folder) for folder in folders]
        measured = over[0].metric(metric)
        found = repetitions([each.results for each in over], metric, arm)
        sd, expected = (fixed(each, over[0].results.decimals(measured)) for each in (found.sd, found.sd_of_seeds))
        mean = over[0].shown(found.difference, measured)
        return f"mean {mean}, standard deviation {sd}, from seeds alone {expected}, p {p_text(found.p)}"

    def seeds(self, folder: str) -> int:
        """Return the number of pretraining seeds of an arm."""
        return self._folder(folder).results.seeds_in_all

    def scope(self, folder: str, *arms: str) -> str:
        """Return what numbers of the named arms, or of all, are about: parameters, tokens, passes, objective."""
        return scope_text(self._folder(folder).results, self._folder(folder).arms(arms))

    def tokens(self, folder: str, *arms: str) -> str:
        """Return the tokens that the named arms, or all, are pretrained on: `16M`, `8M to 64M`."""
        return tokens_text(self._folder(folder).results, self._folder(folder).arms(arms))

    def passes(self, folder: str, *arms: str) -> str:
        """Return how often the named arms, or all, read the training text: `2`, `1 to 8`."""
        return passes_text(self._folder(folder).results, self._folder(folder).arms(arms))

    def layers(self, folder: str, arm: str = BASELINE) -> str:
        """Return the layers of an arm's encoder and their width: `2 layers of 64`."""
        found = self._folder(folder)
        architecture = {row.name: row.candidate.architecture for row in found.results.arms}[found.arm(arm)]
        return f"{architecture.depth} layers of {architecture.width}"

    def parameters(self, folder: str, arm: str) -> str:
        """Return the parameters of an arm's encoder: `236k`."""
        found = self._folder(folder)
        return short({row.name: row.parameters for row in found.results.arms}[found.arm(arm)])

    def predictions(self, folder: str) -> str:
        """Return the number of held-out predictions that every arm is evaluated on: `16,384`."""
        made = shared_evaluation_set(self._folder(folder).results.snapshot.shared)
        if made is None:
            raise ConfigurationError(f"{folder} has no evaluation set")
        return f"{made.questions:,}"

    def entropy(self, folder: str) -> float:
        """Return the loss in nats of the frequencies of tokens on validation text: the level of the first plateau."""
        shared = self._folder(folder).results.snapshot.shared
        encoded = [result.validation_unigram_entropy for _, result in with_results(shared, TokensResult)]
        if not encoded or encoded[-1] is None:
            raise ConfigurationError(f"{folder} has no entropy of token frequencies")
        return encoded[-1]

    def sampled(self, folder: str) -> str:
        """Return what the intervals of the held-out loss are over: seeds alone, or seeds and examples."""
        results = self._folder(folder).results
        measured = [arm for arm, by_metric in results.values.items() if len(by_metric.get(HELD_OUT_LOSS, ())) > 1]
        return "seeds" if results.over_seeds_alone(measured, Metric(HELD_OUT_LOSS)) else "seeds and examples"
