// JSON documents, as the planner of compiled graphs writes them. Needs the standard library alone.
#ifndef DIOPIGEN_JSON_H_
#define DIOPIGEN_JSON_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diopigen {

namespace json {

constexpr int kDeepest = 64;

inline void append_utf8(std::string& text, uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        text += static_cast<char>(0xE0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | code >> 18);
        text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    }
}

inline void require(bool condition, const char* expected) {
    if (!condition) {
        throw std::runtime_error(std::string("JSON: expected ") + expected);
    }
}

}  // namespace json

/// A value of a document. An access of another kind than the value has throws, with the name of what was asked for.
class Json {
  public:
    enum class Kind { kNull, kBoolean, kInteger, kReal, kText, kList, kObject };

    /// Accepts `Infinity`, `-Infinity` and `NaN` as numbers, which Python writes. Throws where the text is no document.
    static Json parse(std::string_view text);

    Kind kind() const { return kind_; }
    bool is_null() const { return kind_ == Kind::kNull; }
    bool is_integer() const { return kind_ == Kind::kInteger; }
    bool is_text() const { return kind_ == Kind::kText; }
    bool is_list() const { return kind_ == Kind::kList; }
    bool is_object() const { return kind_ == Kind::kObject; }

    bool boolean() const;
    int64_t integer() const;
    /// Of integers as well.
    double real() const;
    const std::string& text() const;
    const std::vector<Json>& list() const;
    std::vector<int64_t> integers() const;
    /// The value of a key; null where there is none.
    const Json& at(std::string_view key) const;
    const std::vector<std::pair<std::string, Json>>& entries() const;

  private:
    friend class JsonParser;

    Kind kind_ = Kind::kNull;
    bool boolean_ = false;
    int64_t integer_ = 0;
    double real_ = 0;
    std::string text_;
    std::vector<Json> list_;
    std::vector<std::pair<std::string, Json>> entries_;
};

class JsonParser {
  public:
    explicit JsonParser(std::string_view text) : text_(text) {}

    Json document() {
        Json value = parse(0);
        space();
        require(at_ == text_.size(), "the end of the document");
        return value;
    }

  private:
    Json parse(int depth) {
        require(depth < json::kDeepest, "fewer levels");
        space();
        require(at_ < text_.size(), "a value");
        Json value;
        const char first = text_[at_];
        if (first == '{') {
            object(value, depth);
        } else if (first == '[') {
            list(value, depth);
        } else if (first == '"') {
            value.kind_ = Json::Kind::kText;
            value.text_ = quoted();
        } else if (take("null")) {
            value.kind_ = Json::Kind::kNull;
        } else if (take("true")) {
            value.kind_ = Json::Kind::kBoolean;
            value.boolean_ = true;
        } else if (take("false")) {
            value.kind_ = Json::Kind::kBoolean;
        } else if (take("NaN")) {
            real(value, std::numeric_limits<double>::quiet_NaN());
        } else if (take("Infinity")) {
            real(value, std::numeric_limits<double>::infinity());
        } else if (take("-Infinity")) {
            real(value, -std::numeric_limits<double>::infinity());
        } else {
            number(value);
        }
        return value;
    }

    void object(Json& value, int depth) {
        value.kind_ = Json::Kind::kObject;
        ++at_;
        if (closes('}')) {
            return;
        }
        do {
            space();
            std::string key = quoted();
            space();
            require(take(":"), "':'");
            value.entries_.emplace_back(std::move(key), parse(depth + 1));
            space();
        } while (take(","));
        require(take("}"), "'}'");
    }

    void list(Json& value, int depth) {
        value.kind_ = Json::Kind::kList;
        ++at_;
        if (closes(']')) {
            return;
        }
        do {
            value.list_.push_back(parse(depth + 1));
            space();
        } while (take(","));
        require(take("]"), "']'");
    }

    std::string quoted() {
        require(take("\""), "a text");
        std::string text;
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] != '\\') {
                text += text_[at_++];
                continue;
            }
            ++at_;
            require(at_ < text_.size(), "an escaped character");
            const char escaped = text_[at_++];
            constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
            if (escaped == 'u') {
                json::append_utf8(text, code_point());
            } else {
                const size_t found = kFrom.find(escaped);
                require(found != std::string_view::npos, "a known escape");
                text += kTo[found];
            }
        }
        require(take("\""), "the end of a text");
        return text;
    }

    uint32_t hex() {
        uint32_t code = 0;
        require(at_ + 4 <= text_.size(), "four digits");
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, code, 16);
        require(error == std::errc() && end == text_.data() + at_ + 4, "four digits");
        at_ += 4;
        return code;
    }

    uint32_t code_point() {
        const uint32_t high = hex();
        if (high < 0xD800 || high > 0xDBFF) {
            return high;
        }
        require(take("\\u"), "the second half of a character");
        const uint32_t low = hex();
        require(low >= 0xDC00 && low <= 0xDFFF, "the second half of a character");
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    }

    void number(Json& value) {
        size_t end = at_;
        while (end < text_.size() && std::string_view("+-.0123456789eE").find(text_[end]) != std::string_view::npos) {
            ++end;
        }
        const std::string_view word = text_.substr(at_, end - at_);
        const char* const last = word.data() + word.size();
        if (word.find_first_of(".eE") == std::string_view::npos) {
            value.kind_ = Json::Kind::kInteger;
            const auto [stop, error] = std::from_chars(word.data(), last, value.integer_);
            require(error == std::errc() && stop == last && !word.empty(), "a number");
        } else {
            double parsed = 0;
            const auto [stop, error] = std::from_chars(word.data(), last, parsed);
            require(error == std::errc() && stop == last, "a number");
            real(value, parsed);
        }
        at_ = end;
    }

    static void real(Json& value, double number) {
        value.kind_ = Json::Kind::kReal;
        value.real_ = number;
    }

    bool closes(char sign) {
        space();
        const bool closed = at_ < text_.size() && text_[at_] == sign;
        at_ += closed ? 1 : 0;
        return closed;
    }

    void space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
            ++at_;
        }
    }

    bool take(std::string_view word) {
        const bool found = text_.substr(at_, word.size()) == word;
        at_ += found ? word.size() : 0;
        return found;
    }

    void require(bool condition, const char* expected) const {
        if (!condition) {
            throw std::runtime_error(std::string("JSON: expected ") + expected + " at character " +
                                     std::to_string(at_));
        }
    }

    std::string_view text_;
    size_t at_ = 0;
};

inline Json Json::parse(std::string_view text) { return JsonParser(text).document(); }

inline bool Json::boolean() const {
    json::require(kind_ == Kind::kBoolean, "true or false");
    return boolean_;
}

inline int64_t Json::integer() const {
    json::require(kind_ == Kind::kInteger, "an integer");
    return integer_;
}

inline double Json::real() const {
    json::require(kind_ == Kind::kReal || kind_ == Kind::kInteger, "a number");
    return kind_ == Kind::kInteger ? static_cast<double>(integer_) : real_;
}

inline const std::string& Json::text() const {
    json::require(kind_ == Kind::kText, "a text");
    return text_;
}

inline const std::vector<Json>& Json::list() const {
    json::require(kind_ == Kind::kList, "a list");
    return list_;
}

inline std::vector<int64_t> Json::integers() const {
    std::vector<int64_t> found;
    for (const Json& each : list()) {
        found.push_back(each.integer());
    }
    return found;
}

inline const Json& Json::at(std::string_view key) const {
    static const Json missing;
    for (const auto& [name, value] : entries()) {
        if (name == key) {
            return value;
        }
    }
    return missing;
}

inline const std::vector<std::pair<std::string, Json>>& Json::entries() const {
    json::require(kind_ == Kind::kObject, "an object");
    return entries_;
}

}  // namespace diopigen

#endif  // DIOPIGEN_JSON_H_
