"""Measurements of a user's own: functions of the files that plugins put into this package, named `FILE:FUNCTION`.

A function is called as `function(encoder, tokens)`, with a trained encoder in evaluation mode and the tokens of
held-out sequences [sequences length] on its device, and returns a number, or numbers by name.
"""

PACKAGE = __name__
