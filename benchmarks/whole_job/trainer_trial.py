"""One trial by hand: transformers' ConvBERT under its Trainer, pretrained and then fine-tuned.

Sizes, tokens, updates, rates and examples are those of experiment.yaml beside this file.
"""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import BertWordPieceTokenizer
from transformers import (
    ConvBertConfig,
    ConvBertForMaskedLM,
    ConvBertForSequenceClassification,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
)

KERNEL_SIZES, SEEDS = (3, 9), (1, 2)
LIBRARIES = ("a", "b")
LENGTH, BATCH, UPDATES, HELD_OUT, VOCABULARY = 64, 16, 480, 256, 2000
EVERY_25TH = 25  # 4% of the documents are held out


def tokenizer_of(documents: Iterable[str]) -> PreTrainedTokenizerFast:
    """Return a WordPiece vocabulary learned from the documents; read again where it is there already."""
    path = Path("tokenizer.json")
    if not path.exists():
        trained = BertWordPieceTokenizer()
        trained.train_from_iterator(documents, vocab_size=VOCABULARY, show_progress=False)
        trained.save(str(path))
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_file=str(path), cls_token="[CLS]", sep_token="[SEP]", **special)


def sequences(tokenizer: PreTrainedTokenizerFast, documents: list[str], most: int) -> list[dict[str, list[int]]]:
    """Return concatenated documents in pieces of 64 tokens, as transformers' run_mlm does."""
    found: list[dict[str, list[int]]] = []
    rest: list[int] = []
    for document in documents:
        rest += tokenizer(document)["input_ids"]
        while len(rest) >= LENGTH and len(found) < most:
            found.append({"input_ids": rest[:LENGTH]})
            rest = rest[LENGTH:]
    return found


def arguments(folder: str, seed: int, logger: str, **settings: Any) -> TrainingArguments:
    """Return the settings that both trainings share."""
    shared = {"optim": "adamw_torch", "weight_decay": 0.01, "lr_scheduler_type": "linear", "use_cpu": True}
    quiet = {"disable_tqdm": True, "logging_steps": 50, "save_strategy": "no", "report_to": logger}
    return TrainingArguments(folder, seed=seed, learning_rate=1e-3, run_name=folder, **shared, **quiet, **settings)


def run_trial(kernel_size: int, seed: int, logger: str) -> dict[str, float]:
    """Pretrain and fine-tune one model; return its held-out loss in nats and its accuracy in per cent."""
    with Path("data/text/corpus.jsonl").open() as lines:
        documents = [json.loads(line)["text"] for line in lines]
    train = [text for number, text in enumerate(documents) if number % EVERY_25TH]
    tokenizer = tokenizer_of(train)
    config = ConvBertConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        embedding_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=256,
        conv_kernel_size=kernel_size,
        head_ratio=2,
        max_position_embeddings=128,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=tokenizer.pad_token_id,
    )
    trainer = Trainer(
        ConvBertForMaskedLM(config),
        arguments(
            f"pretrain-{kernel_size}-{seed}",
            seed,
            logger,
            max_steps=UPDATES,
            per_device_train_batch_size=BATCH,
            per_device_eval_batch_size=64,
            warmup_steps=48,
            eval_strategy="steps",
            eval_steps=UPDATES // 2,
        ),
        DataCollatorForLanguageModeling(tokenizer, seed=seed),
        sequences(tokenizer, train, UPDATES * BATCH),
        sequences(tokenizer, documents[::EVERY_25TH], HELD_OUT),
    )
    trainer.train()
    loss = next(entry["eval_loss"] for entry in reversed(trainer.state.log_history) if "eval_loss" in entry)
    folder = f"checkpoint-{kernel_size}-{seed}"
    trainer.save_model(folder)
    return {"held_out_loss": loss, "accuracy": fine_tuned(folder, tokenizer, kernel_size, seed, logger)}


def fine_tuned(
    checkpoint: str, tokenizer: PreTrainedTokenizerFast, kernel_size: int, seed: int, logger: str
) -> float:
    """Fine-tune a checkpoint on the table of examples; return the accuracy on its dev part in per cent."""
    parts = {}
    for part in ("train", "dev"):
        with Path(f"data/{part}.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        encoded = tokenizer([row["text"] for row in rows], truncation=True, max_length=LENGTH)
        parts[part] = [
            {"input_ids": ids, "attention_mask": mask, "labels": LIBRARIES.index(row["library"])}
            for ids, mask, row in zip(encoded["input_ids"], encoded["attention_mask"], rows, strict=True)
        ]
    trainer = Trainer(
        ConvBertForSequenceClassification.from_pretrained(checkpoint, num_labels=2),
        arguments(
            f"fine-tune-{kernel_size}-{seed}",
            seed,
            logger,
            num_train_epochs=2,
            per_device_train_batch_size=32,
            warmup_steps=0.1,
            eval_strategy="epoch",
        ),
        DataCollatorWithPadding(tokenizer),
        parts["train"],
        parts["dev"],
        compute_metrics=lambda found: {
            "accuracy": 100 * float(np.mean(found.predictions.argmax(-1) == found.label_ids))
        },
    )
    trainer.train()
    return next(entry["eval_accuracy"] for entry in reversed(trainer.state.log_history) if "eval_accuracy" in entry)


def print_table(results: list[tuple[int, dict[str, float]]]) -> None:
    """Print mean and standard deviation over seeds by kernel size."""
    for kernel_size in KERNEL_SIZES:
        mine = [values for size, values in results if size == kernel_size]
        for metric in ("held_out_loss", "accuracy"):
            values = [found[metric] for found in mine]
            mean, deviation = np.mean(values), np.std(values, ddof=1)
            print(f"{kernel_size} {metric} {mean:.4f} ± {deviation:.4f} ({len(values)})")  # noqa: T201
