// Attention to samples of maps, and columns of chosen windows.
#include "detection/deform_attention.h"

#include "each.h"

using namespace diopi::core;

void diopi::kernels::ms_deform_attn_mmcv(const MsDeformAttnMmcvArgs& args) { deform_attention(Each(), args); }

void diopi::kernels::ms_deform_attn_backward_mmcv(const MsDeformAttnBackwardMmcvArgs& args) {
    deform_attention_backward(Each(), args);
}

void diopi::kernels::masked_im2col_mmcv(const MaskedIm2colMmcvArgs& args) { read_windows(Each(), args); }

void diopi::kernels::masked_col2im_mmcv(const MaskedCol2imMmcvArgs& args) { write_positions(Each(), args); }
