"""WNUT17, emerging entities in social media text, fine-tuned (aclanthology.org/W17-4418).

The files of `ner_wnut17`, whose method is a linear probe. Here all weights are trained.
Metric: entity F1 as in conlleval; truncated words have no entities. Chance is 0, the F1 without any predicted entity.
"""

from dataclasses import replace

from steeplechase.tasks.downstream.ner_wnut17 import FILES

TASK = replace(FILES, method="fine_tune").task("wnut17", ("entity_f1", "entity_precision", "entity_recall"))
