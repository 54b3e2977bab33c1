"""SQuAD 1.1 and 2.0: official files, official scores, windows, spans. arXiv 1606.05250 and 1806.03822."""
