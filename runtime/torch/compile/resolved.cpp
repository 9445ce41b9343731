#include <c10/util/Exception.h>
#include <diopigen_torch/compiled.h>
#include <diopigen_torch/resolved.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace diopigen::backend {

namespace {

constexpr int kVendorVersion = 1;

class Writer {
  public:
    Writer(const Numbers& numbers, const ArenaPlan& arena) : numbers_(numbers), arena_(arena) {}

    std::string take() { return std::move(text_); }

    void document(const Json& plan) {
        text_ += R"({"version": )" + std::to_string(kVendorVersion) + R"(, "arena": )" + std::to_string(arena_.bytes);
        for (const auto& [key, value] : plan.entries()) {
            if (key == "version" || key == "storages" || key == "symbols" || key == "expressions" ||
                key == "conditions" || key == "numbers" || key == "first") {
                continue;
            }
            text_ += ", ";
            quoted(key);
            text_ += ": ";
            if (key == "slots") {
                slots(value);
            } else {
                any(value);
            }
        }
        text_ += "}";
    }

  private:
    void slots(const Json& value) {
        const char* separator = "[";
        for (const Json& slot : value.list()) {
            text_ += separator;
            separator = ", ";
            const Json& storage = slot.at("storage");
            const char* between = "{";
            for (const auto& [key, each] : slot.entries()) {
                if (key != "storage" && key != "start") {
                    text_ += between;
                    between = ", ";
                    quoted(key);
                    text_ += ": ";
                    any(each);
                }
            }
            if (!storage.is_null()) {
                const int64_t offset =
                    arena_.offsets.at(static_cast<size_t>(storage.integer())) + numbers_.integer(slot.at("start"));
                text_ += R"(, "offset": )" + std::to_string(offset);
            }
            text_ += "}";
        }
        text_ += value.list().empty() ? "[]" : "]";
    }

    void any(const Json& value) {
        switch (value.kind()) {
            case Json::Kind::kNull:
                text_ += "null";
                break;
            case Json::Kind::kText:
                quoted(value.text());
                break;
            case Json::Kind::kList: {
                text_ += "[";
                const char* separator = "";
                for (const Json& each : value.list()) {
                    text_ += separator;
                    separator = ", ";
                    any(each);
                }
                text_ += "]";
                break;
            }
            case Json::Kind::kObject:
                object(value);
                break;
            default:
                number(numbers_.scalar(value));
        }
    }

    void object(const Json& value) {
        if (!value.at("expression").is_null()) {
            number(numbers_.scalar(value));
            return;
        }
        text_ += "{";
        const char* separator = "";
        for (const auto& [key, each] : value.entries()) {
            text_ += separator;
            separator = ", ";
            quoted(key);
            text_ += ": ";
            any(each);
        }
        if (is_random(value.at("function"))) {
            text_ += R"(, "random": true)";
        }
        text_ += "}";
    }

    // Returns whether a step calls a function that takes a generator.
    static bool is_random(const Json& name) {
        const CompiledFunction* const function = name.is_text() ? compiled_function(name.text()) : nullptr;
        return function != nullptr && function->kinds.find('g') != std::string::npos;
    }

    void number(const c10::Scalar& value) {
        if (value.isBoolean()) {
            text_ += value.toBool() ? "true" : "false";
        } else if (!value.isFloatingPoint()) {
            text_ += std::to_string(value.toLong());
        } else {
            real(value.toDouble());
        }
    }

    void real(double value) {
        if (!std::isfinite(value)) {
            text_ += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
            return;
        }
        std::array<char, 40> digits{};
        const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
        TORCH_CHECK(error == std::errc(), "a number of a compiled graph cannot be written");
        const std::string_view written(digits.data(), static_cast<size_t>(end - digits.data()));
        text_ += written;
        if (written.find_first_of(".e") == std::string_view::npos) {
            text_ += ".0";  // otherwise it would be an integer
        }
    }

    void quoted(const std::string& value) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        text_ += '"';
        for (const char each : value) {
            const auto code = static_cast<unsigned char>(each);
            if (each == '"' || each == '\\') {
                text_ += '\\';
                text_ += each;
            } else if (code < 0x20) {
                text_ += "\\u00";
                text_ += kDigits[code >> 4];
                text_ += kDigits[code & 15];
            } else {
                text_ += each;
            }
        }
        text_ += '"';
    }

    const Numbers& numbers_;
    const ArenaPlan& arena_;
    std::string text_;
};

}  // namespace

ArenaPlan arena_of(const Json& plan, const Numbers& numbers) {
    std::vector<Lifetime> lifetimes;
    for (const Json& storage : plan.at("storages").list()) {
        const int64_t first = storage.at("first").integer(), last = storage.at("last").integer();
        TORCH_CHECK(first >= 0 && last >= first, "a compiled graph has memory from step ", first, " to step ", last);
        lifetimes.push_back(
            {numbers.integer(storage.at("bytes")), static_cast<size_t>(first), static_cast<size_t>(last)});
    }
    return plan_arena(lifetimes);
}

std::string resolved_document(const Json& plan, const Numbers& numbers, const ArenaPlan& arena) {
    Writer writer(numbers, arena);
    writer.document(plan);
    return writer.take();
}

std::string resolved_document(const Json& plan, const std::vector<int64_t>& symbols) {
    TORCH_CHECK(plan.at("symbols").list().size() == symbols.size(), "a compiled graph has ",
                plan.at("symbols").list().size(), " symbols, not ", symbols.size());
    const Numbers numbers(Expressions(plan.at("expressions"), symbols.size()).values(symbols));
    return resolved_document(plan, numbers, arena_of(plan, numbers));
}

}  // namespace diopigen::backend
