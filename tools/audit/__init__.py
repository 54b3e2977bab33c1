"""Recomputes published effects, intervals, p values and verdicts from the exported rows, without the project's code.

`python -m tools.audit` reads `reports/published`. It needs numpy and scipy and imports no package of the project, so
that an error in the project's statistics cannot repeat itself here. What it computes is what docs/statistics.md says.
"""
