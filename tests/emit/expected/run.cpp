// _run, _run.out: diopiRun.
at::Tensor& _run_out(const at::Tensor& self, int64_t dim, at::Tensor& out) {
    at::maybe_wrap_dim(dim, self.dim());
    make_or_shape(out, self.sizes(), self.options());
    Call call(out);
    Output out_written(out);
    const Input self_read(call, self, out.scalar_type(), kFloating);
    call("diopiRun", diopiRun, out_written, self_read, dim);
    out_written.finish();
    return out;
}

at::Tensor _run(const at::Tensor& self, int64_t dim) {
    at::Tensor out;
    _run_out(self, dim, out);
    return out;
}
