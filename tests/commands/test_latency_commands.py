"""Measurements by the commands: latencies alone, attention, and references of tasks in `pilot`."""

import json
import zipfile
from pathlib import Path

import pytest

from runners.opening import RunRequest, open_ledger
from steeplechase.configuration.measurements.attention import ALL, uniform_concentration
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.metrics import attention_of
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.records import TrialStatus, with_results
from steeplechase.ledger.snapshot import snapshot_at
from steeplechase.ledger.stage_results import (
    ExamplesResult,
    FineTuneResult,
    LinearProbeResult,
    MinimalPairsResult,
    UntrainedResult,
)
from tests.factories.command_calls import ROOT, TABLE, Call, called
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.local_models import ARMS, LEXICON, experiment, run

TABLE9 = ROOT / "experiments" / "table9.yaml"
TIMES = ("run", TABLE9, "--scale", "smoke", "--set", "measure.latency.rounds=3", "--out")
REPORTS = {"report.html", "report.md", "report.tex", "report.csv", "report.json", "figures", "tables"}


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the smoke scale of Table 9 has been timed."""
    folder = tmp_path_factory.mktemp("timed") / "table9"
    done = called(*TIMES, folder)
    assert done.code == 0, done.err
    assert "table9 (smoke)" in done.out
    assert "[2/2] shared latency n = 64: attention " in done.err
    return folder


def test_plan_tells_operations_before_anything_is_timed(call: Call, tmp_path: Path) -> None:
    answer = call("plan", TABLE9, "--scale", "laptop", "--json")
    document = json.loads(answer.out)
    assert (answer.code, document["experiment"], document["timed"]["part"]) == (0, "table9", "attention")
    arms = {arm["name"]: arm for arm in document["timed"]["arms"]}
    assert next(iter(arms)) == "attention"
    assert {name: round(ratio, 3) for name, ratio in arms["mixed"]["flops_ratio"].items()} == {
        "64": 0.873,
        "128": 0.858,
        "256": 0.833,
        "512": 0.791,
        "1024": 0.733,
    }
    assert set(arms["bottleneck"]["flops_ratio"].values()) == {0.5}
    shown = call("plan", TABLE9)
    assert shown.code == 0
    for word in ("table9 at scale demo", "mixed", "(0.791)", "matmul"):
        assert word in shown.out


def test_a_run_leaves_the_ledger_and_every_report(timed: Path) -> None:
    assert REPORTS | {"ledger.sqlite", "stages", "lock"} <= {path.name for path in timed.iterdir()}


def test_a_published_report_is_the_same_and_can_be_rebuilt_from_its_rows(
    call: Call, timed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "table9-smoke"
    assert call("publish", timed, out).code == 0
    assert (out / "report.md").read_bytes() == (timed / "report.md").read_bytes()
    (out / "report.md").unlink()
    assert call("rebuild", out).code == 0
    assert (out / "report.md").read_bytes() == (timed / "report.md").read_bytes()


def test_folders_of_the_two_kinds_are_not_mixed_up(call: Call, timed: Path, results: Path) -> None:
    assert call("run", TABLE, "--scale", "smoke", "--out", timed).code == 6
    assert call(*TIMES, results).code == 6
    assert call("run", TABLE9, "--scale", "demo", "--out", timed).code == 6


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", TABLE9, "--scale", "smoke", "--engine", "ray"), 3, ["timed on this machine", "--engine"]),
        (
            ("run", TABLE9, "--scale", "smoke", "--reuse", "results", "--stop-after-tokens", "1e6"),
            3,
            ["leave --reuse, --stop-after-tokens out"],
        ),
    ],
)
def test_every_kind_of_failure_has_its_exit_code(
    call: Call, arguments: tuple[str | Path, ...], code: int, words: list[str]
) -> None:
    answer = call(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert all(word in answer.err for word in words)


def test_there_is_no_model_to_export(call: Call, timed: Path, tmp_path: Path) -> None:
    answer = call("export", timed, tmp_path / "model")
    assert (answer.code, answer.out) == (3, "")
    assert "has no trained model" in answer.err


def test_every_trained_arm_is_looked_at(tmp_path: Path) -> None:
    measure = {"attention_diagonal": {"within": 2, "sequences": 5}}
    found = snapshot_at(run(experiment(tmp_path, "masked_language_model", measure=measure), tmp_path / "results"))
    looked = {history.trial.arm: attention_of(history) for history in found.histories}
    assert {arm for arm, one in looked.items() if one is None} == {"wild"}  # which diverged
    for history in found.histories:
        one = looked[history.trial.arm]
        if one is None:
            continue
        assert history.status is TrialStatus.FINISHED
        assert (one.length, one.within, one.sequences) == (16, 2, 5)
        assert all(near + far == pytest.approx(1, abs=1e-5) for _, _, near, far, _, _ in one.heads)
        assert all(head[4] <= head[2] and head[5] <= head[3] for head in one.heads)
        heads = 4 if history.trial.arm == "baseline" else 2
        assert len(one.heads) == 2 * heads
        for layer, cells in enumerate(one.maps):
            near = sum(cells[q][k] for q in range(16) for k in range(16) if abs(q - k) <= 2) / 1600 / 16
            mine = [head[2] for head in one.heads if head[0] == layer]
            assert near == pytest.approx(sum(mine) / len(mine), abs=0.002)  # cells are whole hundredths
        even = uniform_concentration(16, 2)
        assert even is not None
        assert one.concentration(ALL) == pytest.approx(even, rel=0.5)  # hardly trained, it hardly looks anywhere


TASKS = ["blimp", "ner_wnut17", "pos_ewt"]


def data(folder: Path) -> Path:
    """Write small files in the official layouts: words of the corpus, in its order and turned round."""
    (folder / "blimp").mkdir(parents=True)
    pairs = [
        {
            "sentence_good": " ".join(LEXICON[n % 7 :]),
            "sentence_bad": " ".join(LEXICON[n % 7 :][::-1]),
            "linguistics_term": f"term {n % 2}",
            "UID": "turned",
            "pairID": str(n),
        }
        for n in range(12)
    ]
    with zipfile.ZipFile(folder / "blimp" / "BLiMP.zip", "w") as archive:
        archive.writestr("data/turned.jsonl", "\n".join(map(json.dumps, pairs)))
    (folder / "wnut17").mkdir()
    (folder / "UD_English-EWT").mkdir()
    for part, two, ten in (
        ("train", "wnut17train.conll", "en_ewt-ud-train.conllu"),
        ("dev", "emerging.dev.conll", "en_ewt-ud-dev.conllu"),
    ):
        words = LEXICON if part == "train" else LEXICON[::-1]
        tagged = [f"{word}\t{'B-person' if word[0].isupper() else 'O'}" for word in words]
        (folder / "wnut17" / two).write_text("\n".join([*tagged, "", *tagged]), encoding="utf-8")
        universal = [
            f"{n}\t{word}\t_\t{'NOUN' if n % 2 else 'VERB'}{chr(9)}{chr(9).join('_' * 6)}"
            for n, word in enumerate(words, 1)
        ]
        (folder / "UD_English-EWT" / ten).write_text("\n".join(universal) + "\n", encoding="utf-8")
    return folder


def test_every_arm_and_an_untrained_encoder_are_evaluated_and_printed_side_by_side(
    tmp_path: Path, call: Call
) -> None:
    tuning = {"tasks": TASKS, "data": str(data(tmp_path / "data")), "sequence_length": 16, "untrained_seeds": [1, 2]}
    design = {"kind": "list", "arms": {name: ARMS[name] for name in ("narrow", "wild")}}
    wanted = experiment(tmp_path, "masked_language_model", fine_tuning=tuning, design=design)
    found = snapshot_at(run(wanted, tmp_path / "results"))
    kinds = {"blimp": MinimalPairsResult, "ner_wnut17": LinearProbeResult, "pos_ewt": LinearProbeResult}
    for history in found.histories:
        scored = {result.task: result for _, result in with_results(history.records, FineTuneResult)}
        assert {task: type(result) for task, result in scored.items()} == (
            {} if history.trial.arm == "wild" else kinds  # which diverged
        )
    untrained = [record.label for record, _ in with_results(found.shared, FineTuneResult)]
    assert untrained == [f"untrained {task}#{seed}" for seed in (1, 2) for task in TASKS]
    assert len(list(with_results(found.shared, UntrainedResult))) == 2
    made = {result.task: result for _, result in with_results(found.shared, ExamplesResult)}
    assert made["blimp"].ngram is not None
    assert made["blimp"].train.examples == 0
    assert made["pos_ewt"].bag_of_words == {"accuracy": 0.0}  # each word is NOUN in one file and VERB in the other
    answer = call("pilot", tmp_path / "results")
    assert answer.code == 0
    for task in TASKS:
        assert answer.out.count(f"\n{task} ") >= 2  # the arms that did not diverge
    assert "qualifying tasks:" in answer.out


def test_a_published_report_can_be_asked_too_and_a_timing_experiment_cannot(call: Call) -> None:
    answer = call("pilot", "reports/published/table2-laptop")
    assert answer.code == 0
    assert "docs_acceptability" in answer.out
    assert "fine_tuning.untrained_seeds" in answer.out
    refused = call("pilot", "reports/published/table9-laptop")
    assert (refused.code, refused.err) == (
        4,
        "reports/published/table9-laptop: no model is trained in it, so that it has no tasks\n",
    )


def test_pilot_says_whether_tasks_are_declared(call: Call, tmp_path: Path) -> None:
    for tasks, said in (([], "its experiment declares no task"), (["docs_pair"], "no task has a score yet")):
        folder = tmp_path / f"of-{len(tasks)}"
        wanted = experiment(tmp_path, "masked_language_model", fine_tuning={"tasks": tasks})
        request = RunRequest(wanted, "smoke", ResultPaths.of(folder))
        with open_ledger(request) as ledger:
            declare_first_cohort(wanted, ArtifactStore(request.paths.stages), ledger)
        answer = call("pilot", folder)
        assert (answer.code, answer.out) == (4, "")
        assert said in answer.err
