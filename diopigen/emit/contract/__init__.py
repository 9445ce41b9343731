"""The contracts of operators as tables of C++."""
