"""What the numbers say: means, paired differences, verdicts, forecasts' errors."""
