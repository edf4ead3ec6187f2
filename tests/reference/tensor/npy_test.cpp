// .npy files: bytes as NumPy writes them, and every way a file can be wrong.
#include "reference/tensor/npy.h"

#include <doctest/doctest.h>

#include <fstream>

#include "reference/tensor/npy_header.h"
#include "tests/support/environment.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A file of format 1.0 with this header, unpadded, and this many bytes of data.
std::string npy(const std::string& header, std::size_t data_bytes) {
  std::string file("\x93NUMPY\x01\x00", 8);
  const std::string text = header + "\n";
  file += static_cast<char>(text.size() & 0xff);
  file += static_cast<char>(text.size() >> 8);
  return file + text + std::string(data_bytes, '\0');
}

std::string header_of(const std::string& descr,
                      const std::string& order,
                      const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

// What read_npy says about a file of these bytes, without its name; the array's shape if it reads.
std::string verdict_on(const std::string& contents) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "a.npy";
  std::ofstream(path, std::ios::binary) << contents;
  try {
    return to_string(read_npy(path).shape());
  } catch (const Error& error) {
    const std::string sentence = error.what();
    const std::string prefix = path.string() + ": ";
    REQUIRE(sentence.starts_with(prefix));
    return sentence.substr(prefix.size());
  }
}

std::string verdict_on_shape(const std::string& shape, std::size_t data_bytes) {
  return verdict_on(npy(header_of("<f4", "False", shape), data_bytes));
}

}  // namespace

TEST_SUITE("npy") {
  TEST_CASE("a file that NumPy wrote is read and written back byte for byte") {
    const std::filesystem::path step = golden_dir() / "steps" / "003_mixed_alibi_bfloat16";
    const ScratchFolder folder;
    for (const char* name : {"query.npy", "block_table.npy", "slot_mapping.npy", "seq_lens.npy",
                             "alibi_slopes.npy", "expected_lse.npy"}) {
      CAPTURE(name);
      write_npy(folder.path() / name, read_npy(step / name));
      CHECK(bytes_of_file(folder.path() / name) == bytes_of_file(step / name));
    }
  }

  TEST_CASE("a header is written as Python writes a dictionary") {
    CHECK(to_string(NpyHeader{"<f4", false, {}}) ==
          "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
    CHECK(to_string(NpyHeader{"<i8", false, {7}}) ==
          "{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }");
    CHECK(to_string(NpyHeader{"|u1", false, {2, 0, 5}}) ==
          "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 0, 5), }");
  }

  TEST_CASE("every dtype comes back as its bits") {
    const ScratchFolder folder;
    for (DType dtype :
         {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFp8E4M3,
          DType::kFp8E5M2, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kUInt16}) {
      CAPTURE(to_string(dtype));
      Tensor array(dtype, {3, 1, 5});
      for (std::int64_t index = 0; index < array.size_in_bytes(); ++index) {
        array.bytes()[index] = static_cast<std::byte>(index * 37 + 11);
      }
      write_npy(folder.path() / "a.npy", array);
      const Tensor again = read_npy(folder.path() / "a.npy");
      CHECK(identical(again.reinterpreted_as(dtype), array));
    }
  }

  TEST_CASE("formats 2 and 3 have a length of four bytes and are read") {
    const std::string header = header_of("<f4", "False", "(1,)") + "\n";
    for (char version : {'\x02', '\x03'}) {
      std::string file = std::string("\x93NUMPY") + version + std::string(1, '\0');
      file += static_cast<char>(header.size());
      file += std::string(3, '\0') + header + std::string(4, '\0');
      CHECK(verdict_on(file) == "[1]");
    }
    CHECK(verdict_on(std::string("\x93NUMPY\x04\x00\x01\x00", 10)) ==
          "the format is version 4.0, but 1.0, 2.0 or 3.0 is needed.");
    CHECK(verdict_on(std::string("\x93NUMPY\x01\x01\x01\x00", 10)) ==
          "the format is version 1.1, but 1.0, 2.0 or 3.0 is needed.");
  }

  TEST_CASE("a shape is a tuple of whole numbers") {
    // The header's bytes 0 to 49 are {'descr': '<f4', 'fortran_order': False, 'shape': and a space;
    // the places named below are where reading stopped.
    CHECK(verdict_on_shape("()", 4) == "[]");
    CHECK(verdict_on_shape("(2,)", 8) == "[2]");
    CHECK(verdict_on_shape("(2, 3,)", 24) == "[2, 3]");
    CHECK(verdict_on_shape("(2)", 8) ==
          "the header has a shape that is a number, not a tuple (at its byte 52).");
    CHECK(verdict_on_shape("(-2,)", 8) ==
          "the header has a shape that is not a tuple of whole numbers (at its byte 51).");
    CHECK(verdict_on_shape("(2, 3", 24) ==
          "the header has a shape that is not a tuple of whole numbers (at its byte 57).");
    CHECK(verdict_on_shape("(99999999999999999999,)", 8) ==
          "the header has a shape with a number that is too large (at its byte 69).");
  }

  TEST_CASE("a file that is shorter or longer than its header says is refused unread") {
    CHECK(verdict_on_shape("(2, 3)", 23) ==
          "23 bytes of data follow the header, but shape [2, 3] of float32 needs more.");
    CHECK(verdict_on_shape("(2, 3)", 25) ==
          "25 bytes of data follow the header, but shape [2, 3] of float32 needs fewer.");
    CHECK(verdict_on_shape("(0, 3)", 1) ==
          "1 bytes of data follow the header, but shape [0, 3] of float32 needs fewer.");
    // 2^58 · 2^58 elements overflow any product; the sizes are compared by division.
    CHECK(verdict_on_shape("(288230376151711744, 288230376151711744)", 8) ==
          "8 bytes of data follow the header, but shape [288230376151711744, 288230376151711744] "
          "of float32 needs more.");
    CHECK(verdict_on_shape("(288230376151711744, 0)", 0) ==
          "an array of shape [288230376151711744, 0] and dtype float32 would have more than 2^40 "
          "bytes.");
  }

  TEST_CASE("other types and Fortran order are refused by name") {
    CHECK(verdict_on(npy(header_of("<f4", "True", "(2,)"), 8)) ==
          "the array is in Fortran order, but C order is needed.");
    CHECK(verdict_on(npy(header_of(">f4", "False", "(2,)"), 8)) ==
          "the type is '>f4', but it must be '<f8', '<f4', '<f2', '<i4', '<i8', '|u1' or '<u2' "
          "(bfloat16 travels as '<u2', fp8 as '|u1').");
    CHECK(verdict_on(npy(header_of("|b1", "False", "(2,)"), 2)).starts_with("the type is '|b1'"));
    CHECK(verdict_on(npy(header_of("|O", "False", "(2,)"), 2)).starts_with("the type is '|O'"));
  }

  TEST_CASE("a header of another form is refused") {
    CHECK(verdict_on(npy("", 0)) == "the header lacks a '{' (at its byte 0).");
    CHECK(verdict_on(npy("{'descr': '<f4', 'fortran_order': False, }", 0)) ==
          "the header lacks 'descr', 'fortran_order' or 'shape' (at its byte 42).");
    CHECK(verdict_on(npy("{'descr': '<f4', 'descr': '<f4', }", 0)) ==
          "the header has an entry that is unknown or occurs twice (at its byte 25).");
    CHECK(verdict_on(npy("{'descr': '<f4', 'size': 3, }", 0)) ==
          "the header has an entry that is unknown or occurs twice (at its byte 24).");
    CHECK(verdict_on(npy("{'descr': <f4}", 0)) ==
          "the header lacks a quoted name (at its byte 10).");
    CHECK(verdict_on(npy("{'descr': '<f4", 0)) ==
          "the header has a name without its closing quote (at its byte 11).");
    CHECK(verdict_on(npy("{'fortran_order': 0}", 0)) ==
          "the header has a fortran_order that is neither True nor False (at its byte 18).");
    CHECK(verdict_on(npy(header_of("<f4", "False", "(1,)") + " or", 4)) ==
          "the header goes on after its closing brace (at its byte 59).");
  }

  TEST_CASE("what is no npy file is refused") {
    CHECK(verdict_on("") == "the file is cut short.");
    CHECK(verdict_on("\x93NUMP") == "the file is cut short.");
    CHECK(verdict_on("PK\x03\x04 this is an npz") ==
          "this is not a .npy file, which would begin with \\x93NUMPY.");
    CHECK(verdict_on(std::string("\x93NUMPY\x01\x00\xff\xff", 10)) == "the file is cut short.");
    CHECK(verdict_on(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)) ==
          "the header claims 4294967295 bytes, more than the 65536 that it may have.");
    CHECK_THROWS_WITH_AS(read_npy("/no/such.npy"), "/no/such.npy: there is no such file.", Error);
  }

  TEST_CASE("a write that fails leaves neither the file nor a temporary one") {
    const ScratchFolder folder;
    const std::filesystem::path path = folder.path() / "a.npy";
    std::filesystem::create_directories(path / "in the way");  // a folder cannot be replaced
    CHECK_THROWS_AS(write_npy(path, Tensor(DType::kFloat32, {2})), Error);
    const auto files = std::filesystem::directory_iterator(folder.path());
    CHECK(std::distance(begin(files), end(files)) == 1);
    CHECK_THROWS_WITH_AS(write_npy("/no/such/folder/a.npy", Tensor(DType::kFloat32, {2})),
                         "/no/such/folder/a.npy cannot be written: does its folder exist, and may "
                         "you write there?",
                         Error);
  }
}
