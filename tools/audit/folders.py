"""The audit of one published folder: its tables and figures as CSV, report.json, report.csv and report.md."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from pathlib import Path

from tools.audit import (
    budgets,
    claims,
    contrasts,
    descriptions,
    examples,
    generated_texts,
    latencies,
    perplexities,
    plateaus,
    search_costs,
    searches,
    shapley,
    task_pilots,
    tuned,
    verdicts,
)
from tools.audit.compare import Difference, Outcome, compare_table, json_cells
from tools.audit.exports import Row, read_csv, read_export
from tools.audit.prose import Triple, check_prose, triples_of
from tools.audit.rule import Rule
from tools.audit.study import Study

TRAINING: Mapping[str, Rule] = {
    **verdicts.RULES,
    **contrasts.RULES,
    **shapley.RULES,
    **claims.RULES,
    **searches.RULES,
    **search_costs.RULES,
    **plateaus.RULES,
    **descriptions.RULES,
    **examples.RULES,
    **perplexities.RULES,
    **generated_texts.RULES,
    **budgets.RULES,
    **task_pilots.RULES,
    **tuned.RULES,
}
OTHER_FORMATS = {"report.html": "the same cells as report.md", "report.tex": "the same cells as report.md"}
DRAWN = "figures/*.svg, figures/*.pdf"


@dataclass
class Folder:
    """A published folder with what is recomputed of it."""

    path: Path
    study: Study
    outcome: Outcome = field(default_factory=Outcome)
    recomputed: dict[str, Sequence[Row]] = field(default_factory=dict)
    """Rows by table."""

    @classmethod
    def read(cls, path: Path) -> "Folder":
        """Return a folder before its audit."""
        return cls(path, Study(read_export(path)))

    @cached_property
    def compared(self) -> Study:
        """The study that the papers' claims are tested on."""
        return tuned.compared(self.study)

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rule of every table."""
        return latencies.RULES if "timing" in self.study.document else TRAINING

    @property
    def triples(self) -> list[Triple]:
        """Every recomputed value with an interval."""
        return [*triples_of(self.recomputed), *self._gains(), *self._pairs()]

    def _gains(self) -> list[Triple]:
        if self.rules is latencies.RULES:
            return []
        gains = [verdicts.gain_of_pairing(self.study, metric) for metric in self.study.metrics]
        return [gain for gain in gains if gain is not None]

    def _pairs(self) -> Iterator[Triple]:
        """Yield the difference of every two arms on the headline metrics, which texts may name."""
        if self.rules is TRAINING:
            for arm, other in permutations(self.study.arms, 2):
                differences = [self.study.difference(arm, other, metric) for metric in self.study.headlines]
                differences += [self.study.widest(arm, other, metric) for metric in self.study.headlines]
                rows = [self.study.interval(found, arm, other) for found in differences]
                yield from triples_of({"": rows})

    def audit(self) -> None:
        """Compare every file of the folder."""
        for file in sorted([*self.path.glob("tables/*.csv"), *self.path.glob("figures/*.csv")]):
            self._table(str(file.relative_to(self.path)), file.stem, read_csv(file))
        self._table("report.csv", "results", read_csv(self.path / "report.csv"))
        document = json.loads((self.path / "report.json").read_text(encoding="utf-8"))
        for part in ("tables", "evidence"):
            for table in document.get(part, []):
                self._table(f"report.json {table['name']}", table["name"], [*json_cells(table["rows"])])
        check_prose(self.outcome, "report.md", (self.path / "report.md").read_text(encoding="utf-8"), self.triples)
        self.outcome.skipped |= OTHER_FORMATS | {DRAWN: "drawn from the CSV beside them, which is compared"}

    def _table(self, file: str, name: str, published: Sequence[Mapping[str, str]]) -> None:
        if name in descriptions.UNTESTED and published:
            self.outcome.skipped[file] = descriptions.UNTESTED[name]
        elif name not in self.rules and published:
            self.outcome.differences.append(Difference(file, "", "", "there", "no rule for this table"))
        elif name in self.rules:
            if name not in self.recomputed:
                self.recomputed[name] = [*self.rules[name].rows(self.study, published)]
            compare_table(self.outcome, file, self.rules[name], published, self.recomputed[name])


def published_triples(path: Path) -> list[Triple]:
    """Return the values with intervals that a folder without rows has published."""
    file = path / "report.json"
    document = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    tables = [table for part in ("tables", "evidence") for table in document.get(part, [])]
    return [*triples_of({table["name"]: table["rows"] for table in tables})]
