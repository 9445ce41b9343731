// Attention to samples of maps, and columns of chosen windows.
#include "detection/deform_attention.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::ms_deform_attn_mmcv(const MsDeformAttnMmcvArgs& args) { deform_attention(Each(), args); }

void entry::ms_deform_attn_backward_mmcv(const MsDeformAttnBackwardMmcvArgs& args) {
    deform_attention_backward(Each(), args);
}

void entry::masked_im2col_mmcv(const MaskedIm2colMmcvArgs& args) { read_windows(Each(), args); }

void entry::masked_col2im_mmcv(const MaskedCol2imMmcvArgs& args) { write_positions(Each(), args); }

}  // namespace diopigen
