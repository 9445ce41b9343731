# Operators of the CPU library whose sources need no loop over elements: they check their arguments and copy between
# views, which any device can, or call kernels that each library has its own of.
foreach(name
    indexing/select_slice
    meta/native_format
    shape/join
    shape/memory_format
    shape/parts
    shape/rearrange)
    list(APPEND shared_sources "${cpu}/functions/${name}.cpp")
endforeach()
