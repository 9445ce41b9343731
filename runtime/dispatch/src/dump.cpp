#include "dump.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "dtypes.h"
#include "element.h"
#include "error_text.h"
#include "json_text.h"
#include "operands.h"

namespace diopigen::dispatch {

namespace {

// The dtype as NumPy names it. bfloat16 and complex32, which NumPy lacks, are kept as their bits.
std::string descriptor(diopiDtype_t dtype) {
    const DtypeFacts& facts = dtype_facts(dtype);
    const auto letter = [&facts] {
        switch (facts.kind) {
            case DtypeKind::kBool:
                return "b";
            case DtypeKind::kSigned:
                return "i";
            case DtypeKind::kFloating:
                return facts.dtype == diopi_dtype_bfloat16 ? "u" : "f";
            case DtypeKind::kComplex:
                return facts.dtype == diopi_dtype_complex32 ? "u" : "c";
            default:
                return "u";
        }
    };
    return std::string(facts.bytes == 1 ? "|" : "<") + letter() + std::to_string(facts.bytes);
}

// The elements in row-major order, as numpy.load reads them (format 1.0: a header padded to 64 bytes).
void write_array(const std::string& path, const HostTensor& tensor) {
    const std::vector<int64_t>& shape = tensor.info.shape;
    std::string header = std::string("{'descr': '") + descriptor(tensor.info.dtype) +
                         "', 'fortran_order': False, 'shape': " + text_of(shape, "(", shape.size() == 1 ? ",)" : ")") +
                         ", }";
    constexpr size_t kPrefix = 10;
    header.append(63 - (kPrefix + header.size()) % 64, ' ');
    header += '\n';
    std::ofstream file(path, std::ios::binary);
    const auto length = static_cast<uint16_t>(header.size());
    file.write("\x93NUMPY\x01\x00", 8);
    file.put(static_cast<char>(length & 255)).put(static_cast<char>(length >> 8));
    file << header;
    Index index(shape);
    for (int64_t i = 0; i < tensor.info.numel; ++i, index.advance()) {
        file.write(tensor.data + index.offset(tensor.info), tensor.info.element_bytes);
    }
    if (!file.flush()) {
        throw Failure(diopiErrorOccurred, "cannot write " + path);
    }
}

}  // namespace

Dump::Dump(const std::string& parent, const char* function, Operands operands) : function_(function) {
    static std::atomic<int> calls{0};
    char number[16];
    std::snprintf(number, sizeof(number), "%06d_", ++calls);
    folder_ = parent + "/" + number + function;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) {
        throw Failure(diopiErrorOccurred, "cannot make the folder " + folder_ + ": " + error.message());
    }
    for (const Operand& operand : operands) {
        if (operand.kind != Kind::kTensor && operand.kind != Kind::kTensors && operand.kind != Kind::kAllocated) {
            const std::string text = operand.is_written() && operand.points ? "pointer" : text_of(operand);
            values_ +=
                (values_.empty() ? "" : ",") + std::string("\n    ") + quoted(operand.name) + ": " + quoted(text);
        }
    }
}

void Dump::keep(const char* when, const std::vector<HostTensor>& tensors) {
    for (const HostTensor& tensor : tensors) {
        const bool isOne = tensor.operand->kind == Kind::kTensor;
        const std::string file =
            std::string(tensor.operand->name) + (isOne ? "" : "_" + std::to_string(tensor.index)) + "." + when + ".npy";
        write_array(folder_ + "/" + file, tensor);
        tensors_ += (tensors_.empty() ? "" : ",") + std::string("\n    {\"name\": ") + quoted(tensor.operand->name) +
                    ", \"when\": " + quoted(when) + ", \"dtype\": " + quoted(dtype_name(tensor.info.dtype)) +
                    ", \"shape\": " + text_of(tensor.info.shape, "[", "]") +
                    ", \"strides\": " + text_of(tensor.info.strides, "[", "]") + ", \"file\": " + quoted(file) + "}";
    }
}

void Dump::finish(diopiError_t status) {
    std::ofstream file(folder_ + "/call.json");
    file << "{\n  \"function\": " << quoted(function_) << ",\n  \"status\": " << quoted(name_of(status))
         << ",\n  \"values\": {" << values_ << (values_.empty() ? "" : "\n  ") << "},\n  \"tensors\": [" << tensors_
         << (tensors_.empty() ? "" : "\n  ") << "]\n}\n";
    if (!file.flush()) {
        throw Failure(diopiErrorOccurred, "cannot write " + folder_ + "/call.json");
    }
}

}  // namespace diopigen::dispatch
