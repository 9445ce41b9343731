"""Error bounds of results, for C++."""
