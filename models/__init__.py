"""What an architecture becomes: the torch modules it turns into."""
