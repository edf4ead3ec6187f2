#include "reference/tensor/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pagelab {
namespace {

// A reader of the little Python that headers are written in; `position_` only moves forward.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  NpyHeader read() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = read_string();
      expect(':');
      if (key == "descr" && !has_descr) {
        header.descr = read_string();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = read_bool();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = read_shape();
        has_shape = true;
      } else {
        fail("has an entry that is unknown or occurs twice");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail("lacks 'descr', 'fortran_order' or 'shape'");
    while (position_ < text_.size()) {
      const char next = text_[position_++];
      if (next != ' ' && next != '\n') fail("goes on after its closing brace");
    }
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("the header {} (at its byte {}).", what, position_));
  }

  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  bool accept(char wanted) {
    skip_spaces();
    if (position_ >= text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("lacks a '{}'", wanted));
  }

  bool accept_word(std::string_view word) {
    skip_spaces();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }

  std::string read_string() {
    skip_spaces();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') fail("lacks a quoted name");
    const std::size_t begin = ++position_;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) fail("has a name without its closing quote");
    position_ = end + 1;
    return std::string(text_.substr(begin, end - begin));
  }

  bool read_bool() {
    if (accept_word("False")) return false;
    if (accept_word("True")) return true;
    fail("has a fortran_order that is neither True nor False");
  }

  // (), (3,), (3, 4): a tuple of one must have its comma, as in Python.
  Shape read_shape() {
    constexpr std::size_t kMostAxes = 32;
    Shape shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(read_length());
      if (shape.size() > kMostAxes) fail("has a shape of more than 32 axes");
      const bool has_comma = accept(',');
      if (has_comma) continue;
      if (shape.size() == 1) fail("has a shape that is a number, not a tuple");
      expect(')');
      break;
    }
    return shape;
  }

  std::int64_t read_length() {
    constexpr std::int64_t kLargest = std::int64_t{1} << 58;  // ten times it still fits int64
    skip_spaces();
    const std::size_t begin = position_;
    std::int64_t length = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      if (length > kLargest) fail("has a shape with a number that is too large");
      length = length * 10 + (text_[position_++] - '0');
    }
    if (position_ == begin) fail("has a shape that is not a tuple of whole numbers");
    return length;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text) { return HeaderReader(text).read(); }

std::string to_string(const NpyHeader& header) {
  std::string shape = fmt::format("{}", fmt::join(header.shape, ", "));
  if (header.shape.size() == 1) shape += ",";
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}), }}", header.descr,
                     header.fortran_order ? "True" : "False", shape);
}

}  // namespace pagelab
