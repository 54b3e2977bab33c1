"""The whole way of tasks on the frozen encoder: from files to records, and what `pilot` prints."""

import json
import zipfile
from pathlib import Path

from steeplechase.ledger.reading import snapshot_at
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import (
    ExamplesResult,
    FineTuneResult,
    LinearProbeResult,
    MinimalPairsResult,
    UntrainedResult,
)
from tests.factories.command_calls import Call
from tests.factories.local_models import LEXICON, experiment, run

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
    wanted = experiment(tmp_path, "masked_language_model", fine_tuning=tuning)
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
        assert answer.out.count(f"\n{task} ") >= 4  # the arms that did not diverge
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
