// The files of saved graphs. Numbers are little-endian:
//
//     8 bytes   kGraphMagic
//     4 bytes   the version of the format
//     4 bytes   zero
//     8 bytes   the bytes of the document
//     document  JSON: device, plans with the indices of their constants, constants, inputs (`export.py` of the package)
//     data      the constants, each from a multiple of 64 bytes of the file on
//     4 bytes   the CRC-32 of all before (ISO 3309, as zlib has it)
#ifndef DIOPIGEN_TORCH_SAVED_GRAPH_FILE_H_
#define DIOPIGEN_TORCH_SAVED_GRAPH_FILE_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <diopigen/json.h>
#include <diopigen_torch/operands.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace diopigen::backend::saved {

struct GraphFile {
    Json document;
    /// On the CPU, over the bytes of the file.
    std::vector<at::Tensor> constants;
};

inline constexpr std::string_view kGraphMagic("DIOPI\r\n\x1a", 8);
inline constexpr uint32_t kFormat = 3;
inline constexpr int64_t kHeader = 24;
inline constexpr int64_t kChecksum = 4;
inline constexpr int64_t kAlignment = 64;

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
        }
        tables[0][byte] = value;
    }
    for (size_t k = 1; k < tables.size(); ++k) {
        for (size_t byte = 0; byte < 256; ++byte) {
            const uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
        }
    }
    return tables;
}

inline constexpr Tables kTables = make_tables();

// Eight bytes at a time: parameters of a model may be gigabytes.
inline uint32_t checksum_of(const uint8_t* bytes, int64_t count) {
    uint32_t value = 0xFFFFFFFFU;
    for (; count >= 8; count -= 8, bytes += 8) {
        uint32_t next = 0;
        for (size_t k = 0; k < 8; ++k) {
            const uint32_t byte = bytes[k] ^ (k < 4 ? (value >> (8 * k)) & 0xFF : 0);
            next ^= kTables[7 - k][byte];
        }
        value = next;
    }
    for (; count > 0; --count, ++bytes) {
        value = (value >> 8) ^ kTables[0][(value ^ *bytes) & 0xFF];
    }
    return ~value;
}

template <typename Number>
Number number_at(const uint8_t* bytes) {
    uint64_t value = 0;
    for (size_t k = 0; k < sizeof(Number); ++k) {
        value |= static_cast<uint64_t>(bytes[k]) << (8 * k);
    }
    return static_cast<Number>(value);
}

inline at::Tensor bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    TORCH_CHECK(file.good(), "no saved graph at ", path);
    const std::streamoff size = file.tellg();
    TORCH_CHECK(size >= 0, path, " cannot be read");
    at::Tensor bytes = at::empty({static_cast<int64_t>(size)}, at::TensorOptions().dtype(at::kByte));
    file.seekg(0);
    file.read(static_cast<char*>(bytes.mutable_data_ptr()), size);
    TORCH_CHECK(file.good(), path, " cannot be read");
    return bytes;
}

// Elements from the first to the last one of a tensor; -1 where that is more than `most`.
inline int64_t extent_of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t most) {
    int64_t extent = 1;
    for (size_t k = 0; k < sizes.size(); ++k) {
        if (sizes[k] == 0) {
            return 0;
        }
        int64_t step = 0;
        if (sizes[k] < 0 || strides[k] < 0 || __builtin_mul_overflow(sizes[k] - 1, strides[k], &step) ||
            __builtin_add_overflow(extent, step, &extent) || extent > most) {
            return -1;
        }
    }
    return extent;
}

inline at::Tensor constant_of(const Json& form, const at::Tensor& bytes, int64_t data) {
    const at::ScalarType type = scalar_type_named(form.at("dtype").text());
    const auto item = static_cast<int64_t>(c10::elementSize(type));
    const std::vector<int64_t> sizes = form.at("sizes").integers(), strides = form.at("strides").integers();
    const int64_t start = form.at("start").integer(), end = bytes.numel() - kChecksum - data;
    TORCH_CHECK(sizes.size() == strides.size() && start >= 0 && start <= end && start % kAlignment == 0,
                "the saved graph has a constant without a layout");
    const int64_t extent = extent_of(sizes, strides, (end - start) / item);
    TORCH_CHECK(extent >= 0, "the saved graph has a constant that is larger than its file");
    return bytes.narrow(0, data + start, extent * item).view(type).as_strided(sizes, strides);
}

/// Throws `c10::Error` where the file is no saved graph of this version, or where a byte has changed.
inline GraphFile read_graph_file(const std::string& path) {
    const at::Tensor bytes = bytes_of(path);
    const auto* const first = static_cast<const uint8_t*>(bytes.const_data_ptr());
    const int64_t size = bytes.numel();
    TORCH_CHECK(size >= kHeader + kChecksum && std::memcmp(first, kGraphMagic.data(), kGraphMagic.size()) == 0, path,
                " is no saved graph, or one that an older version wrote");
    TORCH_CHECK(number_at<uint32_t>(first + size - kChecksum) == checksum_of(first, size - kChecksum), path,
                " is damaged: its checksum is that of other bytes");
    const auto format = number_at<uint32_t>(first + 8);
    TORCH_CHECK(format == kFormat, path, " has the format ", format, "; this library reads ", kFormat);
    const auto length = number_at<uint64_t>(first + 16);
    TORCH_CHECK(length <= static_cast<uint64_t>(size - kHeader - kChecksum), path, " has a document without an end");
    const auto end = kHeader + static_cast<int64_t>(length);
    GraphFile file;
    file.document =
        Json::parse({static_cast<const char*>(bytes.const_data_ptr()) + kHeader, static_cast<size_t>(length)});
    const int64_t data = (end + kAlignment - 1) / kAlignment * kAlignment;
    for (const Json& form : file.document.at("constants").list()) {
        file.constants.push_back(constant_of(form, bytes, data));
    }
    return file;
}

}  // namespace diopigen::backend::saved

#endif  // DIOPIGEN_TORCH_SAVED_GRAPH_FILE_H_
