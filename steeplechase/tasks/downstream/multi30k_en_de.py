"""Multi30k, English to German: `multi30k_de_en` in the other direction."""

from dataclasses import replace

from steeplechase.tasks.downstream.multi30k_de_en import FILES as OTHER_DIRECTION

FILES = replace(OTHER_DIRECTION, parts=OTHER_DIRECTION.targets, targets=OTHER_DIRECTION.parts)
TASK = FILES.task("multi30k_en_de")
