"""Statistics of a ledger: results by arm and metric, paired differences, verdicts, forecasts, the Pareto front."""
