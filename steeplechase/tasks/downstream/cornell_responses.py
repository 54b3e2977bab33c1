"""Cornell Movie-Dialogs: the answer to an utterance of a film. Danescu-Niculescu-Mizil and Lee 2011 (CMCL).

Source: cs.cornell.edu/~cristian/Cornell_Movie-Dialogs_Corpus.html, in ISO-8859-1: movie_lines.txt and
movie_conversations.txt, in a folder `cornell`. Every utterance and the next one of its conversation are a pair. MASS
(arXiv 1905.02450, section 4.4) has 140,000 pairs, of which a random 10,000 are for validation; here 7% of the films
are, so that no film is in both parts. Metrics: BLEU and chrF of detokenised text by sacrebleu, and the perplexity of
the responses, which MASS reports (per token: values with other tokenizers are not comparable).
"""

from steeplechase.tasks.labelled.dialogue_files import MovieDialogueFiles

FILES = MovieDialogueFiles(
    folder="cornell",
    collection="dialogue",
    origin="www.cs.cornell.edu/~cristian/Cornell_Movie-Dialogs_Corpus.html",
    dev_percent=7,
)
TASK = FILES.task("cornell_responses")
