#include "call.h"

#include <cstring>

#include "fault.h"

namespace diopigen::mutant {

namespace {

bool isFloatingType(diopiDtype_t dtype) { return isFloatingDtype(dtype) || dtype == diopi_dtype_tfloat32; }

template <typename T>
T& as(void* pointer) {
    return *static_cast<T*>(pointer);
}

constexpr size_t kMostExchanges = 16;  // addresses of kept values must stay where they are

}  // namespace

void Call::acted(diopiError_t status) { countAct(signature_, status == diopiSuccess); }

int Call::find(const char* name) const {
    for (int i = 0; i < signature_.count; ++i) {
        if (std::strcmp(signature_.parameters[i].name, name) == 0) return i;
    }
    return -1;
}

void* Call::argument(const char* name) const {
    const int found = find(name);
    return found < 0 ? nullptr : arguments_[found];
}

const Parameter* Call::parameter(const char* name) const {
    const int found = find(name);
    return found < 0 ? nullptr : &signature_.parameters[found];
}

int64_t Call::lengthOf(const Parameter& parameter) const {
    if (parameter.counter < 0) return parameter.count;
    const Type type = signature_.parameters[parameter.counter].type;
    if (type == Type::int64) return as<int64_t>(arguments_[parameter.counter]);
    return type == Type::int32 ? as<int32_t>(arguments_[parameter.counter]) : 0;
}

template <typename Keep>
std::vector<diopiTensorHandle_t*> Call::tensorHandles(const Keep& keep) const {
    std::vector<diopiTensorHandle_t*> found;
    for (int i = 0; i < signature_.count; ++i) {
        const Parameter& parameter = signature_.parameters[i];
        if (!keep(parameter)) continue;
        auto* own = static_cast<diopiTensorHandle_t*>(arguments_[i]);
        if (parameter.type == Type::tensor) {
            if (*own != nullptr) found.push_back(own);
        } else if (parameter.type == Type::tensors || parameter.type == Type::newTensors ||
                   parameter.type == Type::newTensor) {
            auto* first = as<diopiTensorHandle_t*>(arguments_[i]);
            const int64_t length = parameter.type == Type::newTensor ? 1 : lengthOf(parameter);
            for (int64_t item = 0; first != nullptr && item < length; ++item) {
                if (first[item] != nullptr) found.push_back(first + item);
            }
        }
    }
    return found;
}

std::vector<diopiTensorHandle_t*> Call::inputHandles() const {
    return tensorHandles([](const Parameter& parameter) { return !parameter.isWritten(); });
}

std::vector<diopiTensorHandle_t*> Call::outputHandles() const {
    return tensorHandles([](const Parameter& parameter) { return parameter.isWritten(); });
}

std::vector<diopiTensorHandle_t*> Call::inoutHandles() const {
    return tensorHandles([](const Parameter& parameter) { return parameter.isWritten() && parameter.isRead(); });
}

std::vector<View> Call::outputs() const {
    std::vector<View> found;
    for (auto* handle : outputHandles()) {
        View view(*handle);
        if (view.valid()) found.push_back(std::move(view));
    }
    return found;
}

std::vector<View> Call::inputs() const {
    std::vector<View> found;
    for (auto* handle : inputHandles()) {
        View view(*handle);
        if (view.valid()) found.push_back(std::move(view));
    }
    return found;
}

void Call::exchangeInputs(const std::function<diopiTensorHandle_t(const View&)>& exchanged) {
    for (int i = 0; i < signature_.count; ++i) {
        const Parameter& parameter = signature_.parameters[i];
        if (parameter.isWritten()) continue;
        if (parameter.type == Type::tensor) {
            auto& handle = as<diopiTensorHandle_t>(arguments_[i]);
            const View view(handle);
            diopiTensorHandle_t other = view.valid() ? exchanged(view) : nullptr;
            if (other != nullptr) handle = other;
        } else if (parameter.type == Type::tensors) {
            auto& first = as<diopiTensorHandle_t*>(arguments_[i]);
            if (first == nullptr) continue;
            std::vector<diopiTensorHandle_t> handles(first, first + lengthOf(parameter));
            for (auto& handle : handles) {
                const View view(handle);
                diopiTensorHandle_t other = view.valid() ? exchanged(view) : nullptr;
                if (other != nullptr) handle = other;
            }
            savedLists_.push_back(std::move(handles));
            first = savedLists_.back().data();
        }
    }
}

View Call::tensor(const char* name) const {
    const int found = find(name);
    if (found < 0 || signature_.parameters[found].type != Type::tensor) return View();
    return View(as<diopiTensorHandle_t>(arguments_[found]));
}

View Call::allocated(const char* name) const {
    const int found = find(name);
    if (found < 0 || signature_.parameters[found].type != Type::newTensor) return View();
    const auto* slot = as<diopiTensorHandle_t*>(arguments_[found]);
    return slot == nullptr ? View() : View(*slot);
}

bool Call::hasNullTensor() const {
    for (int i = 0; i < signature_.count; ++i) {
        if (signature_.parameters[i].type == Type::tensor && as<void*>(arguments_[i]) == nullptr) return true;
    }
    return false;
}

void Call::setTensor(const char* name, diopiConstTensorHandle_t handle) const {
    if (void* own = argument(name)) as<diopiConstTensorHandle_t>(own) = handle;
}

diopiTensorHandle_t Call::temporary(const std::vector<int64_t>& shape, diopiDtype_t dtype, const View& like) const {
    diopiDevice_t device = diopi_host;
    diopiTensorHandle_t created = nullptr;
    const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
    if (diopiGetTensorDevice(like.handle(), &device) != diopiSuccess ||
        diopiRequireTensor(context_, &created, &size, nullptr, dtype, device) != diopiSuccess) {
        return nullptr;
    }
    return created;
}

diopiTensorHandle_t Call::copyOf(const View& source, diopiDtype_t dtype) const {
    diopiTensorHandle_t created = temporary(source.shape(), dtype, source);
    const View copy(created);
    for (int64_t index = 0; index < copy.count(); ++index) copy.copyElement(index, source, index);
    return created;
}

std::optional<double> Call::number(const char* name) const {
    const int found = find(name);
    if (found < 0) return std::nullopt;
    void* own = arguments_[found];
    switch (signature_.parameters[found].type) {
        case Type::scalar: {
            const auto* scalar = as<const diopiScalar_t*>(own);
            if (scalar == nullptr) return std::nullopt;
            return isFloatingType(scalar->stype) ? scalar->fval : static_cast<double>(scalar->ival);
        }
        case Type::boolean:
            return as<bool>(own) ? 1.0 : 0.0;
        case Type::int32:
            return as<int32_t>(own);
        case Type::choice:
            return as<int>(own);
        case Type::int64:
            return static_cast<double>(as<int64_t>(own));
        case Type::float32:
            return as<float>(own);
        case Type::float64:
            return as<double>(own);
        default:
            return std::nullopt;
    }
}

bool Call::setNumber(const char* name, double value) {
    const std::optional<double> before = number(name);
    if (!before.has_value() || *before == value) return false;
    const int found = find(name);
    void* own = arguments_[found];
    switch (signature_.parameters[found].type) {
        case Type::scalar: {
            savedScalars_.reserve(kMostExchanges);
            diopiScalar_t scalar = *as<const diopiScalar_t*>(own);
            if (isFloatingType(scalar.stype)) {
                scalar.fval = value;
            } else {
                scalar.ival = static_cast<int64_t>(value);
            }
            savedScalars_.push_back(scalar);
            as<const diopiScalar_t*>(own) = &savedScalars_.back();
            break;
        }
        case Type::boolean:
            as<bool>(own) = value != 0;
            break;
        case Type::int32:
            as<int32_t>(own) = static_cast<int32_t>(value);
            break;
        case Type::choice:
            as<int>(own) = static_cast<int>(value);
            break;
        case Type::int64:
            as<int64_t>(own) = static_cast<int64_t>(value);
            break;
        case Type::float32:
            as<float>(own) = static_cast<float>(value);
            break;
        case Type::float64:
            as<double>(own) = value;
            break;
        default:
            return false;
    }
    return number(name) != before;
}

std::optional<std::string> Call::text(const char* name) const {
    const int found = find(name);
    if (found < 0 || signature_.parameters[found].type != Type::text) return std::nullopt;
    const char* value = as<const char*>(arguments_[found]);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
}

void Call::setText(const char* name, const char* value) const {
    if (void* own = argument(name)) as<const char*>(own) = value;
}

std::vector<int64_t> Call::sizes(const char* name) const {
    const int found = find(name);
    if (found < 0) return {};
    const Type type = signature_.parameters[found].type;
    diopiSize_t size{nullptr, 0};
    if (type == Type::sizes) size = as<diopiSize_t>(arguments_[found]);
    if (type == Type::sizesPointer && as<const diopiSize_t*>(arguments_[found]) != nullptr) {
        size = *as<const diopiSize_t*>(arguments_[found]);
    }
    if (size.data == nullptr) return {};
    return std::vector<int64_t>(size.data, size.data + size.len);
}

void Call::setSizes(const char* name, const std::vector<int64_t>& values) {
    const int found = find(name);
    if (found < 0) return;
    savedSizes_.reserve(kMostExchanges);
    savedStructs_.reserve(kMostExchanges);
    savedSizes_.push_back(values);
    const diopiSize_t size{savedSizes_.back().data(), static_cast<int64_t>(values.size())};
    if (signature_.parameters[found].type == Type::sizes) {
        as<diopiSize_t>(arguments_[found]) = size;
    } else if (signature_.parameters[found].type == Type::sizesPointer) {
        savedStructs_.push_back(size);
        as<const diopiSize_t*>(arguments_[found]) = &savedStructs_.back();
    }
}

bool Call::setNull(const char* name) const {
    const int found = find(name);
    if (found < 0) return false;
    switch (signature_.parameters[found].type) {
        case Type::tensor:
        case Type::tensors:
        case Type::scalar:
        case Type::sizesPointer:
        case Type::other: {
            // `other` holds optional numbers and lists by pointer; the emitted table says so.
            void*& pointer = as<void*>(arguments_[found]);
            const bool wasThere = pointer != nullptr;
            pointer = nullptr;
            return wasThere;
        }
        default:
            return false;
    }
}

diopiGeneratorHandle_t Call::generator() const {
    for (int i = 0; i < signature_.count; ++i) {
        if (signature_.parameters[i].type == Type::generator) return as<diopiGeneratorHandle_t>(arguments_[i]);
    }
    return nullptr;
}

}  // namespace diopigen::mutant
