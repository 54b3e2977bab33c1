"""The audit: what published reports conclude, recomputed from the rows beside them by scipy and statsmodels.

Recomputed are differences, intervals, corrections, equivalence, verdicts, claims, Shapley values, how many seeds
learn and tokens to a loss, nothing else.
"""
