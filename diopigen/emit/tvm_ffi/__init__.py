"""Packed functions of tvm-ffi: every operator of the interface for whatever speaks DLPack."""
