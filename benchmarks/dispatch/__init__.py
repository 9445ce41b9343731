"""Cost of the dispatch library compared with a direct call."""
