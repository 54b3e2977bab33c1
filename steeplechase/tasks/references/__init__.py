"""References of downstream tasks: scores without a pretrained model, beside which those of models are read."""

WHOLE_TEXT, BEST_SENTENCE, BEHIND_QUESTION = "whole_text", "best_sentence", "behind_question"
FIRST_NAME, NEAREST_NAME, NO_ANSWER = "first_name", "nearest_name", "no_answer"
RULES = {
    WHOLE_TEXT: "whole text",
    BEST_SENTENCE: "best sentence",
    BEHIND_QUESTION: "text behind the question",
    FIRST_NAME: "first name or number",
    NEAREST_NAME: "nearest name or number",
    NO_ANSWER: "no answer",
}
"""The rules that answer extractive questions, by the name that a ledger has, with their titles."""
