"""Computes a zero-cost proxy: the gradients of an untrained model on the first batch of its training."""

from runners.stages.context import StageContext
from runners.stages.measurement_declarations import ZeroCostStage
from runners.training.dropout import seed_dropout
from runners.training.loop import accumulate_gradients
from runners.training.proxies import proxy_named
from steeplechase.foundation.randomness import stream, stream_seed
from steeplechase.foundation.schema import JsonValue
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.packing import open_split
from steeplechase.tasks.tokenizer import load_tokenizer


def compute(stage: ZeroCostStage, context: StageContext) -> dict[str, JsonValue]:
    """Return the proxy; weights, batch, masks and dropout are those of the first update of pretraining."""
    tokens, recipe = context.inputs["tokens"], stage.candidate.recipe
    seed, tokenizer = recipe.root_seed(stage.seed), load_tokenizer(tokens)
    model = build_model(stage.candidate, stage.generator, seed, tokens)
    batches = open_split(tokens, "train", tokenizer, recipe.sequence_length, stage.candidate.objective)
    model.train()
    model.start_update(0)
    random = stream(seed, "masking", 0)
    seed_dropout(stream_seed(seed, "dropout", 0))
    batch = model.prepare(batches.at(0, recipe.batch_sequences, seed), tokenizer, random)
    accumulate_gradients(model, batch, recipe, random)
    return {"proxy": stage.proxy, "proxy_value": proxy_named(stage.proxy).proxy(model.parameters())}
