// The operators that every tensor needs: making, viewing, resizing and copying.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_conj.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/kernel.h>
#include <torch/library.h>

namespace diopigen::backend {

namespace {

constexpr c10::DispatchKeySet kKeys{c10::DispatchKey::PrivateUse1};

c10::DeviceIndex index_of(std::optional<at::Device> device) {
    return device.has_value() && device->has_index() ? device->index() : current_device();
}

void reject_pinned(std::optional<bool> pinned) {
    TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
}

void require_strided(std::optional<at::Layout> layout) {
    TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kStrided) == at::kStrided,
                                "only strided tensors live on this device");
}

at::ScalarType type_of(std::optional<at::ScalarType> type) {
    return type.has_value() ? *type : at::get_default_dtype_as_scalartype();
}

// torch.use_deterministic_algorithms fills memory that nothing has written.
bool fills_memory() {
    return C10_UNLIKELY(at::globalContext().deterministicAlgorithms() &&
                        at::globalContext().deterministicFillUninitializedMemory());
}

at::Tensor filled(at::Tensor tensor) {
    if (fills_memory()) {
        at::native::fill_empty_deterministic_(tensor);
    }
    return tensor;
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pinned, std::optional<at::MemoryFormat> format) {
    reject_pinned(pinned);
    require_strided(layout);
    const Call call(index_of(device));
    return filled(at::Tensor(at::detail::empty_generic(size, &device_allocator(), kKeys, type_of(type), format)));
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout> layout, std::optional<at::Device> device,
                         std::optional<bool> pinned) {
    reject_pinned(pinned);
    require_strided(layout);
    const Call call(index_of(device));
    return filled(
        at::Tensor(at::detail::empty_strided_generic(size, stride, &device_allocator(), kKeys, type_of(type))));
}

// Zeros without memory, which derivatives are made of: PyTorch makes real ones of them where they are needed.
at::Tensor efficient_zeros(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                           std::optional<at::Device> device, std::optional<bool> pinned) {
    reject_pinned(pinned);
    require_strided(layout);
    at::native::ZeroTensorAllocator allocator(c10::Device(kDeviceType, index_of(device)));
    return at::Tensor(at::detail::empty_generic(
        size, &allocator, kKeys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor), type_of(type), std::nullopt));
}

// ---- Storage -------------------------------------------------------------------------------------------------------

// PyTorch's own resize copies on the host.
void grow_storage(const at::Tensor& self, size_t bytes) {
    if (self.storage().nbytes() < bytes) {
        at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(self.storage(), bytes);
    }
}

const at::Tensor& resize(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
    c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
    const auto before = static_cast<int64_t>(self.storage().nbytes());
    if (impl->sizes() != size) {
        at::detail::check_size_nonnegative(size);
        const auto offset = static_cast<size_t>(impl->storage_offset());
        grow_storage(self, at::detail::computeStorageNbytesContiguous(size, impl->itemsize(), offset));
        impl->set_sizes_contiguous(size);
    }
    if (format.has_value()) {
        TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format ", *format);
        impl->empty_tensor_restride(*format);
    }
    if (fills_memory()) {
        at::native::fill_resize_deterministic_(self, before);
    }
    return self;
}

at::Tensor& set_storage_strided(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef size,
                                at::IntArrayRef stride) {
    at::native::checkSetStorage(self, source, offset, size, stride);
    c10::TensorImpl* const impl = self.unsafeGetTensorImpl();
    impl->set_storage_offset(offset);
    if (stride.data() == nullptr) {
        grow_storage(self,
                     at::detail::computeStorageNbytesContiguous(size, impl->itemsize(), static_cast<size_t>(offset)));
        impl->set_sizes_contiguous(size);
    } else {
        grow_storage(self,
                     at::detail::computeStorageNbytes(size, stride, impl->itemsize(), static_cast<size_t>(offset)));
        impl->set_sizes_and_strides(size, stride);
    }
    return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
    const auto elements = static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
    return set_storage_strided(self, std::move(source), 0, elements, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
    if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) {
        return self;
    }
    return set_storage_strided(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor& set_empty(at::Tensor& self) {
    const Call call(self);
    c10::Storage storage(c10::Storage::use_byte_size_t(), 0, device_allocator().allocate(0), &device_allocator(), true);
    return set_storage_strided(self, std::move(storage), 0, {0}, {});
}

// ---- Copies --------------------------------------------------------------------------------------------------------

bool is_same_layout(const at::Tensor& a, const at::Tensor& b) {
    return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
           a.is_non_overlapping_and_dense();
}

void copy_from_host(at::Tensor& target, const at::Tensor& source, bool is_asynchronous);

// For dtypes that the interface does not have: elements of one dtype move as integers of their size; others are
// converted on the host.
void copy_foreign(at::Tensor& target, const at::Tensor& source) {
    if (target.scalar_type() != source.scalar_type()) {
        copy_from_host(target, source.to(at::kCPU), false);
        return;
    }
    const auto size = static_cast<size_t>(target.element_size());
    TORCH_CHECK(size == 1 || size == 2 || size == 4 || size == 8, "cannot copy elements of ", target.scalar_type());
    const at::ScalarType bits = size == 1 ? at::kByte : size == 2 ? at::kShort : size == 4 ? at::kInt : at::kLong;
    target.view(bits).copy_(source.view(bits));
}

// To a target in which several indices are one element: functions reject it, and the CPU writes one after another.
void copy_through_host(at::Tensor& target, const at::Tensor& source) {
    int64_t extent = 1;
    for (int64_t i = 0; i < target.dim(); ++i) {
        extent += target.stride(i) * (target.size(i) - 1);
    }
    at::Tensor memory = target.as_strided({extent}, {1}, target.storage_offset());
    const at::Tensor staged = memory.to(at::kCPU);
    staged.as_strided(target.sizes(), target.strides(), 0).copy_(source.to(at::kCPU));
    copy_from_host(memory, staged, false);
}

// On one device: strides, dtypes and broadcasting are the operator's work.
void copy_within(at::Tensor& target, const at::Tensor& source) {
    Call call(target);
    if (!is_in(kAnyDtype, target.scalar_type()) || !is_in(kAnyDtype, source.scalar_type())) {
        copy_foreign(target, source);
        return;
    }
    at::assert_no_internal_overlap(target);
    if (writes_elements_twice(target)) {
        copy_through_host(target, source);
        return;
    }
    if (is_same_layout(target, source)) {
        copy_on_device(current_handle(call.device()), target.mutable_data_ptr(), source.const_data_ptr(),
                       target.nbytes());
        return;
    }
    if (at::get_overlap_status(target, source) != at::MemOverlapStatus::No && !target.is_same(source)) {
        // Views of one memory: operators reject ranges that cross, though no element may be in both.
        at::Tensor apart = at::empty(source.sizes(), source.options());
        call("diopiCopyInp", diopiCopyInp, handle(source), handle(apart));
        call("diopiCopyInp", diopiCopyInp, handle(apart), handle(target));
        return;
    }
    call("diopiCopyInp", diopiCopyInp, handle(source), handle(target));
}

// Returns whether a copy between a tensor of the host and the device may be done later. A graph whose capture records
// it owns the tensor; other copies cannot be captured.
bool is_copied_later(const at::Tensor& host, diopiStreamHandle_t stream, bool is_asynchronous) {
    const bool is_later = is_asynchronous && is_pinned(host.const_data_ptr());
    if (C10_UNLIKELY(is_capturing(stream))) {
        if (!is_later) {
            reject_in_capture("a copy from or to memory of the host: pin it and copy with non_blocking=True");
        }
        own_in_capture(stream, host);
    }
    return is_later;
}

// Bytes of a whole tensor without gaps, to and from the device.
void from_host(at::Tensor& target, const at::Tensor& source, bool is_asynchronous) {
    const Call call(target);
    const c10::Stream stream = current_stream(call.device());
    const diopiStreamHandle_t handle = current_handle(call.device());
    const bool is_later = is_copied_later(source, handle, is_asynchronous);
    copy_to_device(handle, target.mutable_data_ptr(), source.const_data_ptr(), target.nbytes());
    if (is_later) {
        record_pinned(source.const_data_ptr(), stream);
    } else {
        synchronize(stream);
    }
}

void to_host(at::Tensor& target, const at::Tensor& source, bool is_asynchronous) {
    const Call call(source);
    const c10::Stream stream = current_stream(call.device());
    const diopiStreamHandle_t handle = current_handle(call.device());
    const bool is_later = is_copied_later(target, handle, is_asynchronous);
    copy_to_host(handle, target.mutable_data_ptr(), source.const_data_ptr(), target.nbytes());
    if (is_later) {
        record_pinned(target.const_data_ptr(), stream);
    } else {
        synchronize(stream);
    }
}

void copy_from_host(at::Tensor& target, const at::Tensor& source, bool is_asynchronous) {
    const at::Tensor converted = source.to(target.scalar_type()).expand(target.sizes());
    if (target.is_non_overlapping_and_dense()) {
        const at::Tensor staged =
            is_same_layout(target, converted)
                ? converted
                : at::empty_strided(target.sizes(), target.strides(), target.options().device(at::kCPU))
                      .copy_(converted);
        from_host(target, staged, is_asynchronous);
        return;
    }
    at::Tensor dense = at::empty(target.sizes(), target.options());
    from_host(dense, converted.contiguous(), is_asynchronous);
    copy_within(target, dense);
}

void copy_to_host_tensor(at::Tensor& target, const at::Tensor& source, bool is_asynchronous) {
    at::Tensor dense = source;
    if (!source.is_non_overlapping_and_dense()) {
        dense = at::empty(source.sizes(), source.options());
        copy_within(dense, source);
    }
    if (is_same_layout(target, dense)) {
        to_host(target, dense, is_asynchronous);
        return;
    }
    at::Tensor staged = at::empty_strided(dense.sizes(), dense.strides(), dense.options().device(at::kCPU));
    to_host(staged, dense, false);
    target.copy_(staged);
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& target, bool is_asynchronous) {
    if (self.is_same(target) || target.numel() == 0) {
        return target;
    }
    // Resolves lazy conjugation and negation: copies the elements without the bits, then applies these.
    at::Tensor to = target;
    at::Tensor from = self;
    const bool is_conjugated = from.is_conj() != to.is_conj();
    const bool is_negated = from.is_neg() != to.is_neg();
    to = to.is_conj() ? at::_conj(to) : to;
    to = to.is_neg() ? at::_neg_view(to) : to;
    from = from.is_conj() ? at::_conj(from) : from;
    from = from.is_neg() ? at::_neg_view(from) : from;
    if (is_conjugated || is_negated) {
        // On the side of the source, before its dtype may become a real one.
        at::Tensor copy = at::empty_like(from);
        copy.copy_(from);
        if (is_conjugated) {
            at::view_as_real(copy).select(-1, 1).neg_();
        }
        from = is_negated ? copy.neg_() : copy;
    }
    if (to.is_cpu()) {
        copy_to_host_tensor(to, from, is_asynchronous);
    } else if (from.is_cpu()) {
        copy_from_host(to, from, is_asynchronous);
    } else if (to.device() == from.device()) {
        at::assert_no_partial_overlap(to, from);
        copy_within(to, from.expand(to.sizes()));
    } else {
        const at::Tensor staged = from.to(at::kCPU);
        copy_from_host(to, staged, false);
    }
    return target;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& target) {
    target.resize_(self.sizes());
    return copy_from(self, target, false);
}

// Straight to a variable: to make a tensor of the CPU takes longer than the copy.
template <typename Value>
at::Scalar fetched(const at::Tensor& self) {
    const WithDevice here(self.get_device());
    const diopiStreamHandle_t stream = current_handle(self.get_device());
    require_no_capture(stream, "item(), which waits for the device");
    Value value;
    copy_to_host(stream, &value, self.const_data_ptr(), sizeof(value));
    wait_for(stream);
    return value;
}

at::Scalar local_scalar(const at::Tensor& self) {
    TORCH_CHECK(self.numel() > 0, "_local_scalar_dense: Empty tensor not supported");
    switch (self.scalar_type()) {
        case at::kFloat:
            return fetched<float>(self);
        case at::kDouble:
            return fetched<double>(self);
        case at::kLong:
            return fetched<int64_t>(self);
        case at::kInt:
            return fetched<int32_t>(self);
        case at::kBool:
            return fetched<uint8_t>(self).toBool();
        default:
            at::Tensor staged = at::empty({}, self.options().device(at::kCPU));
            to_host(staged, self, false);
            return at::native::_local_scalar_dense_cpu(staged);
    }
}

void record_stream(at::Tensor& self, c10::Stream stream) {
    device_allocator().recordStream(self.storage().data_ptr(), stream);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("empty.memory_format", empty);
    library.impl("empty_strided", empty_strided);
    library.impl("_efficientzerotensor", efficient_zeros);
    library.impl("as_strided", at::native::as_strided_tensorimpl);
    library.impl("view", at::native::view);
    library.impl("_reshape_alias", at::native::_reshape_alias);
    library.impl("unfold", at::native::unfold);
    library.impl("view_as_real", at::native::view_as_real);
    library.impl("view_as_complex", at::native::view_as_complex);
    library.impl("is_set_to", at::native::is_set_to);
    library.impl("resize_", resize);
    library.impl("set_.source_Storage_storage_offset", set_storage_strided);
    library.impl("set_.source_Storage", set_storage);
    library.impl("set_.source_Tensor", set_tensor);
    library.impl("set_", set_empty);
    library.impl("_copy_from", copy_from);
    library.impl("_copy_from_and_resize", copy_from_and_resize);
    library.impl("_local_scalar_dense", local_scalar);
    library.impl("record_stream", record_stream);
}

// The bits of lazy conjugation and negation are handled in copy_from; without this the copies that make them real would
// call themselves.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
    library.impl("_copy_from", torch::CppFunction::makeFallthrough());
    library.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, library) {
    library.impl("_copy_from", torch::CppFunction::makeFallthrough());
    library.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

}  // namespace

}  // namespace diopigen::backend
