"""How far two results may be apart, for C++."""
