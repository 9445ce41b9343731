// grow, grow.out: diopiGrow.
namespace grow {

void run(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, bool align_corners,
         std::optional<double> scales_h, std::optional<double> scales_w) {
    if (!align_corners) {
        require_own_scales(self.sizes(), output_size, {scales_h, scales_w});
    }
    Call call(out);
    Output out_written(out);
    const Input self_read(call, self, out.scalar_type(), kFloating);
    call("diopiGrow", diopiGrow, out_written, self_read, Repeated<2>(output_size), align_corners, "cubic", nullptr);
    out_written.finish();
}

at::Tensor functional(const at::Tensor& self, at::IntArrayRef output_size, bool align_corners,
                      std::optional<double> scales_h, std::optional<double> scales_w) {
    Shaped<at::meta::structured_grow, 1> op;
    op.meta(self, output_size, align_corners, scales_h, scales_w);
    run(op.output(0), self, output_size, align_corners, scales_h, scales_w);
    return std::move(op.output(0));
}

at::Tensor& out(const at::Tensor& self, at::IntArrayRef output_size, bool align_corners, std::optional<double> scales_h,
                std::optional<double> scales_w, at::Tensor& out) {
    Shaped<at::meta::structured_grow, 1> op(Form::kOut, out);
    op.meta(self, output_size, align_corners, scales_h, scales_w);
    run(op.output(0), self, output_size, align_corners, scales_h, scales_w);
    return out;
}

}  // namespace grow
