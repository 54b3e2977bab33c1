"""The audit: what published reports conclude, recomputed from the rows beside them by scipy and statsmodels."""
