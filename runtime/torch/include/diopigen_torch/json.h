// JSON documents, as the planner of compiled graphs writes them.
#ifndef DIOPIGEN_TORCH_JSON_H_
#define DIOPIGEN_TORCH_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diopigen::backend {

/// A value of a document. An access of another kind than the value has throws, with the name of what was asked for.
class Json {
  public:
    enum class Kind { null, boolean, integer, real, text, list, object };

    /// Accepts `Infinity`, `-Infinity` and `NaN` as numbers, which Python writes. Throws where the text is no document.
    static Json parse(std::string_view text);

    Kind kind() const { return kind_; }
    bool isNull() const { return kind_ == Kind::null; }
    bool isInteger() const { return kind_ == Kind::integer; }
    bool isText() const { return kind_ == Kind::text; }
    bool isList() const { return kind_ == Kind::list; }
    bool isObject() const { return kind_ == Kind::object; }

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

    Kind kind_ = Kind::null;
    bool boolean_ = false;
    int64_t integer_ = 0;
    double real_ = 0;
    std::string text_;
    std::vector<Json> list_;
    std::vector<std::pair<std::string, Json>> entries_;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_JSON_H_
