#include "reference/tensor/safetensors.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

using namespace pagelab;

namespace {

/// A file of the test's own, removed at its end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& contents) {
    std::ofstream(path(), std::ios::binary) << contents;
  }
  std::filesystem::path path() const { return folder_.path() / "a.safetensors"; }

 private:
  pagelab::test::ScratchFolder folder_;
};

std::string length_prefix(std::uint64_t length) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return bytes;
}

std::string safetensors(const std::string& header, const std::string& data) {
  return length_prefix(header.size()) + header + data;
}

/// The sentence with which a file is refused, without the file's name.
std::string refusal_of(const std::string& contents) {
  const TemporaryFile file(contents);
  try {
    read_safetensors(file.path());
  } catch (const Error& error) {
    const std::string sentence = error.what();
    const std::string name = file.path().string() + ": ";
    REQUIRE(sentence.compare(0, name.size(), name) == 0);
    return sentence.substr(name.size());
  }
  return "(accepted)";
}

const std::string kFourBytes("\0\0\xc0\x3f", 4);  // 1.5 as a little-endian float32: 0x3fc00000

}  // namespace

TEST_SUITE("safetensors") {
  TEST_CASE("two arrays are read whatever the order of their names") {
    // 'z' lies first. Its two bfloat16 are 0x3fc0 = 1.5 and 0xc000 = -2.
    const std::string header = R"({"__metadata__":{"format":"pt"},)"
                               R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]},)"
                               R"("z":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}  )";
    const TemporaryFile file(safetensors(header, std::string("\xc0\x3f\x00\xc0", 4) + kFourBytes));
    const std::map<std::string, Tensor> tensors = read_safetensors(file.path());
    REQUIRE(tensors.size() == 2);
    CHECK(tensors.at("a").dtype() == DType::kFloat32);
    CHECK(tensors.at("a").shape() == Shape{1, 1});
    CHECK(tensors.at("a").value(0) == 1.5);
    CHECK(tensors.at("z").dtype() == DType::kBFloat16);
    CHECK(tensors.at("z").value(0) == 1.5);
    CHECK(tensors.at("z").value(1) == -2.0);
  }

  TEST_CASE("a scalar has one element and an empty array has none") {
    const std::string header = R"({"empty":{"dtype":"F64","shape":[3,0],"data_offsets":[0,0]},)"
                               R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
    const TemporaryFile file(safetensors(header, kFourBytes));
    const std::map<std::string, Tensor> tensors = read_safetensors(file.path());
    CHECK(tensors.at("empty").size() == 0);
    CHECK(tensors.at("scalar").size() == 1);
    CHECK(tensors.at("scalar").value(0) == 1.5);
  }

  TEST_CASE("a file that is not there is refused by name") {
    CHECK_THROWS_WITH_AS(read_safetensors("no/such.safetensors"),
                         "no/such.safetensors: there is no such file.", Error);
    CHECK_THROWS_WITH_AS(read_safetensors("/tmp"), "/tmp: there is no such file.", Error);
  }

  TEST_CASE("a file cut short is refused wherever the cut lies") {
    const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const std::string whole = safetensors(header, kFourBytes);
    REQUIRE(refusal_of(whole) == "(accepted)");
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      CHECK(refusal_of(whole.substr(0, length)) != "(accepted)");
    }
    CHECK(refusal_of(whole.substr(0, 5)) ==
          "a safetensors file begins with 8 bytes of header length, but it has 5.");
    CHECK(refusal_of(whole.substr(0, 20)) ==
          "the header would have 54 bytes, but only 12 follow its length.");
    CHECK(refusal_of(whole.substr(0, whole.size() - 1)) ==
          "tensor 'a' has bytes 0 to 4, but the file holds 3 bytes of arrays.");
  }

  TEST_CASE("bytes after the last array are refused") {
    CHECK(refusal_of(safetensors("{}", "x")) ==
          "the last array ends at byte 0, but 1 bytes follow the header.");
  }

  TEST_CASE("a huge header length is refused before anything is allocated") {
    CHECK(refusal_of(length_prefix(~0ull) + "{}") ==
          "the header would have 18446744073709551615 bytes, more than the 100000000 that the "
          "format allows. Is this a safetensors file?");
    CHECK(refusal_of(length_prefix(99'999'999) + "{}") ==
          "the header would have 99999999 bytes, but only 2 follow its length.");
  }

  TEST_CASE("a header that is not the format's JSON is refused") {
    CHECK(refusal_of(safetensors("{\"a\":", "")) ==
          "the header is not JSON: it goes wrong at byte 6 of it.");
    CHECK(refusal_of(safetensors("", "")) ==
          "the header is not JSON: it goes wrong at byte 1 of it.");
    CHECK(refusal_of(safetensors("[1]", "")) == "the header is not a JSON object.");
    CHECK(refusal_of(safetensors(R"({"a":3})", "")) ==
          "tensor 'a' is not described by a JSON object.");
    CHECK(refusal_of(safetensors(R"({"a":{"dtype":"F32","shape":[0]}})", "")) ==
          "tensor 'a' has no data_offsets.");
    CHECK(refusal_of(safetensors(R"({"__metadata__":{"n":1}})", "")) ==
          "__metadata__ is not an object of strings.");
    CHECK(refusal_of(safetensors(std::string(100'000, '['), "")) ==
          "the header is nested too deeply.");
    const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
    CHECK(refusal_of(safetensors("{\"a\":{\"dtype\":" + deep + "}}", "")) ==
          "the header is nested too deeply.");
  }

  TEST_CASE("a name that stands twice is refused") {
    const std::string one = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
    CHECK(refusal_of(safetensors("{" + one + "," + one + "}", kFourBytes)) ==
          "tensor 'a' stands twice in the header.");
  }

  TEST_CASE("an unknown dtype is refused with the list of readable ones") {
    const std::string header = R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,4]}})";
    CHECK(refusal_of(safetensors(header, kFourBytes)) ==
          "tensor 'a' has dtype \"C64\"; readable are F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, "
          "I32, U16, U8.");
  }

  TEST_CASE("bytes that do not match the shape are refused") {
    const auto with_shape = [](const std::string& shape) {
      return refusal_of(safetensors(
          R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4]}})", kFourBytes));
    };
    CHECK(with_shape("[1]") == "(accepted)");
    CHECK(with_shape("[2]") == "tensor 'a' has 4 bytes, which is not float32 of shape [2].");
    CHECK(with_shape("[0]") == "tensor 'a' has 4 bytes, which is not float32 of shape [0].");
    // 32^13 = 2^65: a product that wraps around to 2 must not pass for two elements.
    CHECK(with_shape("[32,32,32,32,32,32,32,32,32,32,32,32,32]") ==
          "tensor 'a' has 4 bytes, which is not float32 of shape [32, 32, 32, 32, 32, 32, 32, 32, "
          "32, 32, 32, 32, 32].");
    for (const char* shape : {"[-1]", "[1.0]", "[18446744073709551615]", "1", "[[1]]", "[\"1\"]"}) {
      CAPTURE(shape);
      CHECK(with_shape(shape) ==
            std::string("tensor 'a' has shape ") + shape +
                ", which is not a list of lengths that the file has room for.");
    }
  }

  TEST_CASE("arrays that overlap or leave a gap or lie outside are refused") {
    const auto with_second = [](const std::string& offsets) {
      return refusal_of(safetensors(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                    R"("b":{"dtype":"F32","shape":[1],"data_offsets":)" +
                                        offsets + "}}",
                                    kFourBytes + kFourBytes));
    };
    CHECK(with_second("[4,8]") == "(accepted)");
    CHECK(with_second("[2,6]") ==
          "tensor 'b' begins at byte 2, but the array before it ends at byte 4: they overlap.");
    CHECK(with_second("[5,8]") ==
          "tensor 'b' begins at byte 5, but the array before it ends at byte 4: they leave a gap.");
    CHECK(with_second("[8,12]") ==
          "tensor 'b' has bytes 8 to 12, but the file holds 8 bytes of arrays.");
    CHECK(with_second("[8,4]") ==
          "tensor 'b' has bytes 8 to 4, but the file holds 8 bytes of arrays.");
    CHECK(with_second("[4,7]") == "the last array ends at byte 7, but 8 bytes follow the header.");
    CHECK(with_second("[-4,8]") ==
          "tensor 'b' has data_offsets [-4,8], which are not two byte counts.");
    CHECK(with_second("[4]") == "tensor 'b' has data_offsets [4], which are not two byte counts.");
  }
}
