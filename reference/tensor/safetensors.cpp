#include "reference/tensor/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace pagelab {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;               // the header's length, little-endian
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

/// One array as the header describes it.
struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin;  // bytes from the end of the header
  std::uint64_t end;    // one past the last
};

struct DTypeName {
  std::string_view name;
  DType dtype;
};

constexpr std::array<DTypeName, 10> kDTypeNames = {{
    {"F64", DType::kFloat64},
    {"F32", DType::kFloat32},
    {"F16", DType::kFloat16},
    {"BF16", DType::kBFloat16},
    {"F8_E4M3", DType::kFp8E4M3},
    {"F8_E5M2", DType::kFp8E5M2},
    {"I64", DType::kInt64},
    {"I32", DType::kInt32},
    {"U16", DType::kUInt16},
    {"U8", DType::kUInt8},
}};

/// Enough of a text that came from the file to recognise it in a message.
std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

/// One open file; every complaint begins with its name.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  std::map<std::string, Tensor> read_all();

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: {}", path_.string(), what));
  }
  [[noreturn]] void fail(const std::string& tensor, const std::string& what) const {
    fail(fmt::format("tensor '{}' {}", shortened(tensor), what));
  }

  void read_bytes(std::uint64_t offset, std::uint64_t count, char* destination);
  std::uint64_t read_header_length();
  json read_header(std::uint64_t header_bytes);
  void check_metadata(const json& metadata) const;
  Entry entry_from(const std::string& name, const json& description) const;
  DType dtype_from(const std::string& name, const json& description) const;
  Shape shape_from(const std::string& name, const json& description) const;
  void check_that_entries_fill(std::uint64_t data_bytes, std::vector<Entry>& entries) const;
  Tensor read_tensor(const Entry& entry, std::uint64_t data_begin);

  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t file_bytes_ = 0;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path_, error)) fail("there is no such file.");
  file_bytes_ = std::filesystem::file_size(path_, error);
  stream_.open(path_, std::ios::binary);
  if (error || !stream_) fail("the file cannot be opened for reading.");
}

void SafetensorsFile::read_bytes(std::uint64_t offset, std::uint64_t count, char* destination) {
  stream_.seekg(static_cast<std::streamoff>(offset));
  stream_.read(destination, static_cast<std::streamsize>(count));
  if (!stream_) fail(fmt::format("bytes {} to {} cannot be read.", offset, offset + count));
}

std::uint64_t SafetensorsFile::read_header_length() {
  if (file_bytes_ < kLengthBytes) {
    fail(fmt::format("a safetensors file begins with 8 bytes of header length, but it has {}.",
                     file_bytes_));
  }
  std::array<unsigned char, kLengthBytes> bytes;
  read_bytes(0, kLengthBytes, reinterpret_cast<char*>(bytes.data()));
  std::uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | bytes[i];
  if (length > kMaxHeaderBytes) {
    fail(
        fmt::format("the header would have {} bytes, more than the {} that the format allows. Is "
                    "this a safetensors file?",
                    length, kMaxHeaderBytes));
  }
  if (length > file_bytes_ - kLengthBytes) {
    fail(fmt::format("the header would have {} bytes, but only {} follow its length.", length,
                     file_bytes_ - kLengthBytes));
  }
  return length;
}

json SafetensorsFile::read_header(std::uint64_t header_bytes) {
  std::string text(header_bytes, '\0');
  read_bytes(kLengthBytes, header_bytes, text.data());

  // A name that stands twice would silently replace the first one's array.
  std::set<std::string> names;
  const auto check_names = [&](int depth, json::parse_event_t event, json& parsed) {
    // Printing a value in a message recurses into it: a hostile file must not exhaust the stack.
    constexpr int kMaxDepth = 64;
    if (depth > kMaxDepth) fail("the header is nested too deeply.");
    const bool is_name = event == json::parse_event_t::key && depth == 1;
    if (is_name && !names.insert(parsed.get<std::string>()).second) {
      fail(parsed.get<std::string>(), "stands twice in the header.");
    }
    return true;
  };
  json header;
  try {
    header = json::parse(text, check_names);
  } catch (const json::parse_error& error) {
    fail(fmt::format("the header is not JSON: it goes wrong at byte {} of it.", error.byte));
  } catch (const json::exception&) {
    fail("the header holds a number that is out of range.");
  }
  if (!header.is_object()) fail("the header is not a JSON object.");
  return header;
}

void SafetensorsFile::check_metadata(const json& metadata) const {
  const auto is_string = [](const json& value) { return value.is_string(); };
  if (!metadata.is_object() || !std::all_of(metadata.begin(), metadata.end(), is_string)) {
    fail("__metadata__ is not an object of strings.");
  }
}

DType SafetensorsFile::dtype_from(const std::string& name, const json& description) const {
  const json& dtype = description.at("dtype");
  std::string known;
  for (const DTypeName& row : kDTypeNames) {
    if (dtype.is_string() && dtype.get<std::string>() == row.name) return row.dtype;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  fail(name, fmt::format("has dtype {}; readable are {}.", shortened(dtype.dump()), known));
}

Shape SafetensorsFile::shape_from(const std::string& name, const json& description) const {
  const json& lengths = description.at("shape");
  // No array is longer than the file has bytes, so the lengths fit every integer used here.
  const auto is_length = [this](const json& length) {
    return length.is_number_unsigned() && length.get<std::uint64_t>() <= file_bytes_;
  };
  if (!lengths.is_array() || !std::all_of(lengths.begin(), lengths.end(), is_length)) {
    fail(name,
         fmt::format("has shape {}, which is not a list of lengths that the file has room for.",
                     shortened(lengths.dump())));
  }
  return lengths.get<Shape>();
}

Entry SafetensorsFile::entry_from(const std::string& name, const json& description) const {
  if (!description.is_object()) fail(name, "is not described by a JSON object.");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!description.contains(key)) fail(name, fmt::format("has no {}.", key));
  }
  const json& offsets = description.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    fail(name, fmt::format("has data_offsets {}, which are not two byte counts.",
                           shortened(offsets.dump())));
  }
  return Entry{name, dtype_from(name, description), shape_from(name, description),
               offsets[0].get<std::uint64_t>(), offsets[1].get<std::uint64_t>()};
}

/// Every byte after the header belongs to exactly one array.
void SafetensorsFile::check_that_entries_fill(std::uint64_t data_bytes,
                                              std::vector<Entry>& entries) const {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t filled = 0;
  for (const Entry& entry : entries) {
    if (entry.end < entry.begin || entry.end > data_bytes) {
      fail(entry.name, fmt::format("has bytes {} to {}, but the file holds {} bytes of arrays.",
                                   entry.begin, entry.end, data_bytes));
    }
    if (entry.begin != filled) {
      fail(entry.name,
           fmt::format("begins at byte {}, but the array before it ends at byte {}: they {}.",
                       entry.begin, filled, entry.begin < filled ? "overlap" : "leave a gap"));
    }
    filled = entry.end;
  }
  if (filled != data_bytes) {
    fail(fmt::format("the last array ends at byte {}, but {} bytes follow the header.", filled,
                     data_bytes));
  }
}

Tensor SafetensorsFile::read_tensor(const Entry& entry, std::uint64_t data_begin) {
  // Bytes and shape are compared first, so that no more is allocated than the file has.
  const std::uint64_t bytes = entry.end - entry.begin;
  const std::uint64_t most_elements = bytes / bytes_of(entry.dtype);
  std::uint64_t elements = 1;
  for (std::int64_t length : entry.shape) {
    const bool too_many = length != 0 && elements > most_elements / length;
    elements = too_many ? most_elements + 1 : elements * length;
  }
  if (bytes != elements * bytes_of(entry.dtype)) {
    fail(entry.name, fmt::format("has {} bytes, which is not {} of shape {}.", bytes,
                                 to_string(entry.dtype), shortened(to_string(entry.shape))));
  }
  Tensor tensor(entry.dtype, entry.shape);
  read_bytes(data_begin + entry.begin, bytes, reinterpret_cast<char*>(tensor.bytes()));
  return tensor;
}

std::map<std::string, Tensor> SafetensorsFile::read_all() {
  const std::uint64_t header_bytes = read_header_length();
  const json header = read_header(header_bytes);
  std::vector<Entry> entries;
  for (const auto& [name, description] : header.items()) {
    if (name == "__metadata__") {
      check_metadata(description);
    } else {
      entries.push_back(entry_from(name, description));
    }
  }
  const std::uint64_t data_begin = kLengthBytes + header_bytes;
  check_that_entries_fill(file_bytes_ - data_begin, entries);

  std::map<std::string, Tensor> tensors;
  for (const Entry& entry : entries) tensors.emplace(entry.name, read_tensor(entry, data_begin));
  return tensors;
}

}  // namespace

std::map<std::string, Tensor> read_safetensors(const std::filesystem::path& path) {
  SafetensorsFile file(path);
  return file.read_all();
}

}  // namespace pagelab
