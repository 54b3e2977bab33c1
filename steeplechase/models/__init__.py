"""The torch modules of an architecture: encoder, heads, kernels, and the exchange with Hugging Face."""
