"""Published results and the settings of released code."""
