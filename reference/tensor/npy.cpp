#include "reference/tensor/npy.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fstream>
#include <optional>

#include "reference/tensor/atomic_file.h"
#include "reference/tensor/npy_header.h"

namespace pagelab {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kMagicAndVersion = 8;        // kMagic, major version, minor version
constexpr std::int64_t kLongestHeader = 64 * 1024;  // NumPy itself reads 10,000 bytes
constexpr std::int64_t kAlignment = 64;             // of the data, by the format

struct NpyType {
  std::string_view descr;
  DType dtype;
};

// Little-endian, as every machine that pagelab runs on.
constexpr std::array<NpyType, 7> kNpyTypes = {{
    {"<f8", DType::kFloat64},
    {"<f4", DType::kFloat32},
    {"<f2", DType::kFloat16},
    {"<i4", DType::kInt32},
    {"<i8", DType::kInt64},
    {"|u1", DType::kUInt8},
    {"<u2", DType::kUInt16},
}};

std::optional<DType> dtype_from_descr(std::string_view descr) {
  for (const NpyType& type : kNpyTypes) {
    if (type.descr == descr) return type.dtype;
  }
  return std::nullopt;
}

std::string_view descr_of(DType dtype) {
  if (dtype == DType::kBFloat16) return "<u2";
  if (is_fp8(dtype)) return "|u1";
  for (const NpyType& type : kNpyTypes) {
    if (type.dtype == dtype) return type.descr;
  }
  throw Error(fmt::format("dtype {} has no place in a .npy file.", to_string(dtype)));
}

// One open file; every complaint begins with its name.
class NpyFile {
 public:
  explicit NpyFile(const std::filesystem::path& path) : path_(path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) fail("there is no such file.");
    file_bytes_ = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    stream_.open(path, std::ios::binary);
    if (error || !stream_) fail("the file cannot be opened.");
  }

  Tensor read() {
    const NpyHeader header = read_header();
    if (header.fortran_order) fail("the array is in Fortran order, but C order is needed.");
    const std::optional<DType> dtype = dtype_from_descr(header.descr);
    if (!dtype) {
      fail(
          fmt::format("the type is '{}', but it must be '<f8', '<f4', '<f2', '<i4', '<i8', '|u1' "
                      "or '<u2' (bfloat16 travels as '<u2', fp8 as '|u1').",
                      printable(header.descr)));
    }
    require_data_bytes(header.shape, *dtype);
    Tensor array = make_array(*dtype, header.shape);
    read_bytes(reinterpret_cast<char*>(array.bytes()), array.size_in_bytes());
    return array;
  }

 private:
  [[noreturn]] void fail(const std::string& sentence) const {
    throw Error(fmt::format("{}: {}", path_.string(), sentence));
  }

  // What a message may show of the file's own bytes.
  static std::string printable(std::string_view text) {
    constexpr std::size_t kShown = 16;
    std::string result;
    for (char character : text.substr(0, kShown)) {
      result += character > ' ' && character < '\x7f' ? character : '?';
    }
    return result;
  }

  void read_bytes(char* destination, std::int64_t count) {
    if (count > file_bytes_ - bytes_read_) fail("the file is cut short.");
    stream_.read(destination, count);
    if (!stream_) fail("the file cannot be read.");
    bytes_read_ += count;
  }

  std::int64_t read_little_endian(int num_bytes) {
    std::array<char, 4> bytes = {};
    read_bytes(bytes.data(), num_bytes);
    std::int64_t number = 0;
    for (int index = num_bytes - 1; index >= 0; --index) {
      number = number * 256 + static_cast<unsigned char>(bytes[index]);
    }
    return number;
  }

  NpyHeader read_header() {
    std::array<char, kMagicAndVersion> start = {};
    read_bytes(start.data(), kMagicAndVersion);
    if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
      fail("this is not a .npy file, which would begin with \\x93NUMPY.");
    }
    const int major = static_cast<unsigned char>(start[6]);
    const int minor = static_cast<unsigned char>(start[7]);
    if (major < 1 || major > 3 || minor != 0) {
      fail(
          fmt::format("the format is version {}.{}, but 1.0, 2.0 or 3.0 is needed.", major, minor));
    }
    const std::int64_t header_bytes = read_little_endian(major == 1 ? 2 : 4);
    if (header_bytes > kLongestHeader) {
      fail(fmt::format("the header claims {} bytes, more than the {} that it may have.",
                       header_bytes, kLongestHeader));
    }
    std::string text(static_cast<std::size_t>(header_bytes), '\0');
    read_bytes(text.data(), header_bytes);
    try {
      return parse_npy_header(text);
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  // Before anything is allocated: does the file hold what the header promises, no more, no less?
  void require_data_bytes(const Shape& shape, DType dtype) const {
    const std::int64_t data_bytes = file_bytes_ - bytes_read_;
    std::int64_t wanted = bytes_of(dtype);
    for (std::int64_t length : shape) {
      if (length == 0) wanted = 0;
    }
    for (std::int64_t length : shape) {
      const bool too_large = length > 0 && wanted > data_bytes / length;
      wanted = too_large ? data_bytes + 1 : wanted * length;
    }
    if (wanted != data_bytes) {
      fail(fmt::format("{} bytes of data follow the header, but shape {} of {} needs {}.",
                       data_bytes, to_string(shape), to_string(dtype),
                       wanted > data_bytes ? "more" : "fewer"));
    }
  }

  Tensor make_array(DType dtype, const Shape& shape) const {
    try {
      return Tensor(dtype, shape);
    } catch (const Error& error) {  // [2^50, 0] has no bytes, and is no array either
      fail(error.what());
    }
  }

  std::filesystem::path path_;
  std::ifstream stream_;
  std::int64_t file_bytes_ = 0;
  std::int64_t bytes_read_ = 0;
};

}  // namespace

Tensor read_npy(const std::filesystem::path& path) { return NpyFile(path).read(); }

void write_npy(const std::filesystem::path& path, const Tensor& array) {
  const NpyHeader header = {std::string(descr_of(array.dtype())), false, array.shape()};
  std::string text = to_string(header);
  // The data begin at a multiple of kAlignment; two bytes hold the header's length, a newline ends
  // it.
  const std::int64_t unpadded = kMagicAndVersion + 2 + static_cast<std::int64_t>(text.size()) + 1;
  text.append(static_cast<std::size_t>((kAlignment - unpadded % kAlignment) % kAlignment), ' ');
  text += '\n';

  AtomicFile file(path);
  const char version_and_length[] = {1, 0, static_cast<char>(text.size() & 0xff),
                                     static_cast<char>(text.size() >> 8)};
  file.write(kMagic);
  file.write({version_and_length, sizeof version_and_length});
  file.write(text);
  file.write({reinterpret_cast<const char*>(array.bytes()),
              static_cast<std::size_t>(array.size_in_bytes())});
  file.commit();
}

}  // namespace pagelab
