// blend.Tensor, blend_.Tensor, blend.out: diopiBlend, diopiBlendScalar.
namespace blend_Tensor {

void run(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other,
         const at::Scalar& weight) {
    Call call(out);
    Output out_written(out, type);
    const Input self_read(call, self, type, kNumber);
    if (is_number(other)) {
        call("diopiBlendScalar", diopiBlendScalar, out_written, self_read, Number(number_for(other, type)),
             Number(weight, at::toOpMathType(type)), RoundingDown);
        out_written.finish();
        return;
    }
    const Input other_read(call, other, type, kNumber | kBool);
    call("diopiBlend", diopiBlend, out_written, self_read, other_read, Number(weight, at::toOpMathType(type)),
         RoundingDown);
    out_written.finish();
}

at::Tensor functional(const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight) {
    Shaped<at::meta::structured_blend_Tensor, 1> op;
    op.infer(Alike::kReal, self, other, weight);
    run(op.output(0), op.type(self.scalar_type()), self, other, weight);
    return std::move(op.output(0));
}

at::Tensor& inplace(at::Tensor& self, const at::Tensor& other, const at::Scalar& weight) {
    Shaped<at::meta::structured_blend_Tensor, 1> op(Form::kInplace, self);
    op.infer(Alike::kReal, self, other, weight);
    run(op.output(0), op.type(self.scalar_type()), self, other, weight);
    return self;
}

at::Tensor& out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight, at::Tensor& out) {
    Shaped<at::meta::structured_blend_Tensor, 1> op(Form::kOut, out);
    op.infer(Alike::kReal, self, other, weight);
    run(op.output(0), op.type(self.scalar_type()), self, other, weight);
    return out;
}

}  // namespace blend_Tensor