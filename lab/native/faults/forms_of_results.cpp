// The form of results: bytes of bools, allocated tensors, statistics, parts of complex numbers.
#include <cmath>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

diopiTensorHandle_t* allocated(const Call& call) {
    for (int i = 0; i < call.signature().count; ++i) {
        const Parameter& parameter = call.signature().parameters[i];
        if (parameter.type == Type::newTensor)
            return *static_cast<diopiTensorHandle_t**>(call.argument(parameter.name));
    }
    return nullptr;
}

const Selector allocating = havingType(Type::newTensor);

const Registration registration(
    "form of results",
    {
        {"true-is-255", "true is a byte of 255", every(), afterwards([](const View& view) {
             bool changed = false;
             for (int64_t index = 0; view.isBool() && index < view.count(); ++index) {
                 if (*view.address(index) == 0) continue;
                 *view.address(index) = static_cast<char>(255);
                 changed = true;
             }
             return changed;
         })},
        {"bools-turned", "true is false", determined(), afterwards([](const View& view) {
             for (int64_t index = 0; view.isBool() && index < view.count(); ++index) {
                 view.setInteger(index, view.integerAt(index) == 0 ? 1 : 0);
             }
             return view.isBool();
         })},
        {"allocated-output-missing", "an output that the library allocates stays null", allocating,
         afterCall([](Call& call) {
             diopiTensorHandle_t* out = allocated(call);
             if (out == nullptr || *out == nullptr) return false;
             *out = nullptr;
             return true;
         })},
        {"allocated-output-of-wrong-dtype", "an output that the library allocates has another dtype", allocating,
         afterCall([](Call& call) {
             diopiTensorHandle_t* out = allocated(call);
             const View view(out == nullptr ? nullptr : *out);
             if (!view.valid()) return false;
             *out = call.copyOf(view, view.dtype() == diopi_dtype_float32 ? diopi_dtype_float64 : diopi_dtype_float32);
             return true;
         })},
        {"allocated-output-flat", "an output that the library allocates has one dimension too many", allocating,
         afterCall([](Call& call) {
             diopiTensorHandle_t* out = allocated(call);
             const View view(out == nullptr ? nullptr : *out);
             if (!view.valid()) return false;
             std::vector<int64_t> shape = view.shape();
             shape.push_back(1);
             diopiTensorHandle_t created = call.temporary(shape, view.dtype(), view);
             View(created).unpack(view.packed());
             *out = created;
             return true;
         })},
        {"allocated-output-too-long", "an output that the library allocates keeps room that is not filled", allocating,
         afterCall([](Call& call) {
             diopiTensorHandle_t* out = allocated(call);
             const View view(out == nullptr ? nullptr : *out);
             if (!view.valid() || view.rank() == 0) return false;
             std::vector<int64_t> shape = view.shape();
             ++shape[0];
             *out = call.temporary(shape, view.dtype(), view);
             return true;
         })},
        {"imaginary-parts-lost", "imaginary parts of results are zero", determined(), afterwards([](const View& view) {
             if (!view.isComplex()) return false;
             const std::vector<char> before = view.packed();
             for (int64_t index = 0; index < view.count(); ++index) {
                 const double real = view.real(index);
                 std::fill_n(view.address(index), view.itemsize(), 0);
                 view.setReal(index, real);
             }
             return view.packed() != before;
         })},
        {"real-parts-lost", "real parts of results are zero", determined(), afterwards([](const View& view) {
             if (!view.isComplex()) return false;
             const std::vector<char> before = view.packed();
             for (int64_t index = 0; index < view.count(); ++index) view.setReal(index, 0);
             return view.packed() != before;
         })},
        {"deviation-not-inverted", "norms give the deviation in the place of its inverse",
         having("save_invstd inv_rms invstd rstd"), afterCall([](Call& call) {
             for (const char* name : {"save_invstd", "inv_rms", "invstd"}) {
                 const View view = call.tensor(name);
                 const Parameter* parameter = call.parameter(name);
                 if (!view.valid() || view.count() == 0 || !parameter->isWritten()) continue;
                 const std::vector<char> before = view.packed();
                 for (int64_t index = 0; index < view.count(); ++index) view.setReal(index, 1 / view.real(index));
                 return view.packed() != before;
             }
             return false;
         })},
        {"number-output-unwritten", "a number that is an output stays as it was",
         named("Equal ClipGradNorm GetNativeMemoryFormat"),
         [](Call& call) {
             const char* name = call.hasPrefix("Get") ? "format" : "out";
             void** slot = static_cast<void**>(call.argument(name));
             if (slot == nullptr || *slot == nullptr) return call.forward();
             double room[2] = {0, 0};
             void* const own = *slot;
             *slot = room;
             const diopiError_t status = call.forward();
             *slot = own;
             if (status == diopiSuccess) call.acted();
             return status;
         }},
        {"equal-always-true", "two tensors are always equal", named("Equal"), afterCall([](Call& call) {
             bool* out = *static_cast<bool**>(call.argument("out"));
             const bool changed = !*out;
             *out = true;
             return changed;
         })},
        {"last-column-not-reduced", "reductions leave the last element of the last dimension out",
         named("Sum Prod Mean"), beforehand([](Call& call) {
             const View input = call.tensor("input");
             if (!input.valid() || input.count() < 2 || !input.isFloating()) return false;
             diopiTensorHandle_t created = call.copyOf(input);
             const View copy(created);
             copy.setReal(copy.count() - 1, call.hasPrefix("Prod") ? 1 : 0);
             call.setTensor("input", created);
             return copy.packed() != input.packed();
         })},
        {"elements-behind-64-not-reduced", "reductions stop after 64 elements",
         named("Sum Mean Prod Amax Max Any All Norm Std"), beforehand([](Call& call) {
             const View input = call.tensor("input");
             if (!input.valid() || input.count() <= 64) return false;
             diopiTensorHandle_t created = call.copyOf(input);
             const View copy(created);
             for (int64_t index = 64; index < copy.count(); ++index) copy.copyElement(index, input, 0);
             call.setTensor("input", created);
             return copy.packed() != input.packed();
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
