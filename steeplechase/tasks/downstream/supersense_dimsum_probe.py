"""DiMSUM 2016: supersense tagging with a frozen encoder (aclanthology.org/S16-1084).

The files of `supersense_dimsum`, whose method trains all weights. Here a linear probe reads the frozen encoder.
Metric: F1 of supersenses as in dimsumeval.py. Chance is 0, the F1 without any predicted supersense.
"""

from dataclasses import replace

from steeplechase.tasks.downstream.supersense_dimsum import FILES, METRICS

TASK = replace(FILES, method="linear_probe").task("supersense_dimsum_probe", METRICS)
