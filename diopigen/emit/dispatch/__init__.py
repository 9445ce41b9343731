"""The functions of the dispatch library."""
