"""Any PyTorch device under the cases of the suite: overloads of ATen in the place of C functions."""
