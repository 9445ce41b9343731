"""A library under TVM's compiler: which function computes an operator of Relax."""
