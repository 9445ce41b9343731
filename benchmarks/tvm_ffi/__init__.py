"""What a packed function of tvm-ffi costs over the C function."""
