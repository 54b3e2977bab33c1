"""The audit: what published reports conclude, recomputed from the rows beside them with scipy and statsmodels.

Nothing of the project is imported. Recomputed are differences with their intervals, corrections, equivalence,
verdicts, claims and Shapley values; every other column of a report is listed as not recomputed.
"""
