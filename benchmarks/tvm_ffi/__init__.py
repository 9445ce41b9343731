"""Overhead of a packed function of tvm-ffi over the C function."""
