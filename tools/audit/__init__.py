"""The audit: what published reports conclude, recomputed from the rows beside them by scipy and statsmodels.

Recomputed are differences, intervals, corrections, equivalence, verdicts, claims and Shapley values, nothing else.
"""
