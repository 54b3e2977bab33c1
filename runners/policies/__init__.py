"""Evolution of candidates under a budget in full trainings: tournament selection and Progressive Dynamic Hurdles."""
