# Operators of the CPU library whose sources need no loop over elements: they check their arguments and copy between
# views, which any device can, or call kernels that each library has its own of.
foreach(name
    conv_pool_resample/adaptive_pool
    conv_pool_resample/avg_pool
    conv_pool_resample/convolve
    conv_pool_resample/max_pool
    conv_pool_resample/pool
    conv_pool_resample/pooling_geometry
    indexing/select_slice
    linalg_matmul/batches
    linalg_matmul/broadcast_matmul
    linalg_matmul/linear_backward
    linalg_matmul/matmul
    meta/native_format
    norm/batch_norm
    norm/group_norm
    norm/instance_norm
    norm/layer_norm
    norm/normalize
    norm/rms_norm
    norm/sync_batch_norm
    reduction/any_all
    reduction/cumsum
    reduction/extrema
    reduction/norm
    reduction/std
    reduction/sum_mean
    shape/join
    shape/memory_format
    shape/parts
    shape/rearrange)
    list(APPEND shared_sources "${cpu}/functions/${name}.cpp")
endforeach()
