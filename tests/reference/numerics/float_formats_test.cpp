#include "reference/numerics/float_formats.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "reference/contract/error.h"
#include "tests/support/bit_hash.h"
#include "tests/support/environment.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The hexadecimal words of a golden table in tests/golden/numerics, a row a line.
std::vector<std::vector<std::uint64_t>> read_table(const std::string& name) {
  const std::filesystem::path path = golden_dir() / "numerics" / name;
  std::ifstream file(path);
  if (!file) throw Error("cannot read " + path.string() + ".");
  std::vector<std::vector<std::uint64_t>> table;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::vector<std::uint64_t> row;
    for (std::uint64_t word; words >> std::hex >> word;) row.push_back(word);
    table.push_back(row);
  }
  return table;
}

template <typename Format>
float decode_code(std::uint64_t code) {
  return decode(Format{static_cast<decltype(Format::bits)>(code)});
}

/// The hash of 256 codes with the same high byte, as in decode_16bit.txt.
template <typename Format>
std::uint64_t hash_of_page(std::uint64_t high_byte) {
  std::uint64_t hash = 0;
  for (std::uint64_t code = high_byte * 256; code < high_byte * 256 + 256; ++code) {
    hash += hash_of_pair(static_cast<std::uint32_t>(code), bits_of(decode_code<Format>(code)));
  }
  return hash;
}

template <typename Format>
void check_rounding_table(const std::string& name, std::size_t expected_rows) {
  const std::vector<std::vector<std::uint64_t>> table = read_table(name);
  CHECK(table.size() == expected_rows);
  for (const std::vector<std::uint64_t>& row : table) {
    const double value = double_from_bits(row[0]);
    CAPTURE(value);
    CHECK(round_to<Format>(value).bits == row[1]);
  }
}

/// Every code that is not a NaN comes back from decoding and rounding.
template <typename Format>
void check_round_trip() {
  using Bits = decltype(Format::bits);
  for (std::uint32_t code = 0; code <= std::numeric_limits<Bits>::max(); ++code) {
    const float value = decode_code<Format>(code);
    const bool saturates = FormatTraits<Format>::kSaturate && std::isinf(value);
    if (std::isnan(value) || saturates) continue;
    CAPTURE(value);
    REQUIRE(round_to<Format>(value).bits == code);
  }
}

/// What is read back after storing in fp8.
float stored_as_e4m3(double value) { return load_as<float>(store_as<Fp8E4M3>(value)); }
float stored_as_e5m2(double value) { return load_as<float>(store_as<Fp8E5M2>(value)); }

}  // namespace

TEST_SUITE("float_formats") {
  TEST_CASE("all 256 codes of both fp8 formats decode as in ml_dtypes") {
    const std::vector<std::vector<std::uint64_t>> table = read_table("decode_fp8.txt");
    CHECK(table.size() == 256);
    for (const std::vector<std::uint64_t>& row : table) {
      CAPTURE(row[0]);
      CHECK(bits_of(decode_code<Fp8E4M3>(row[0])) == row[1]);
      CHECK(bits_of(decode_code<Fp8E5M2>(row[0])) == row[2]);
    }
  }

  TEST_CASE("all 65536 codes of fp16 and bf16 decode as in numpy and ml_dtypes") {
    const std::vector<std::vector<std::uint64_t>> table = read_table("decode_16bit.txt");
    CHECK(table.size() == 256);
    for (const std::vector<std::uint64_t>& row : table) {
      CAPTURE(row[0]);
      CHECK(hash_of_page<Float16>(row[0]) == row[1]);
      CHECK(hash_of_page<BFloat16>(row[0]) == row[2]);
    }
  }

  TEST_CASE("ties and subnormals and overflow round as in exact arithmetic") {
    check_rounding_table<Float16>("round_float16.txt", 1853);
    check_rounding_table<BFloat16>("round_bfloat16.txt", 1853);
    check_rounding_table<Fp8E4M3>("round_fp8_e4m3.txt", 887);
    check_rounding_table<Fp8E5M2>("round_fp8_e5m2.txt", 869);
  }

  TEST_CASE("every code that is a number survives decoding and rounding") {
    check_round_trip<Float16>();
    check_round_trip<BFloat16>();
    check_round_trip<Fp8E4M3>();
    check_round_trip<Fp8E5M2>();
  }

  TEST_CASE("R11: stores in e4m3 saturate and keep NaN") {
    CHECK(stored_as_e4m3(448) == 448.0f);
    CHECK(stored_as_e4m3(464) == 448.0f);
    CHECK(stored_as_e4m3(465) == 448.0f);
    CHECK(stored_as_e4m3(1000) == 448.0f);
    CHECK(stored_as_e4m3(-1000) == -448.0f);
    CHECK(stored_as_e4m3(kInfinity) == 448.0f);
    CHECK(std::isnan(stored_as_e4m3(kNaN)));
    CHECK(stored_as_e5m2(-kInfinity) == -57344.0f);
    CHECK(std::isnan(stored_as_e5m2(kNaN)));
  }

  TEST_CASE("the examples of the fp8 section round as written there") {
    // x → e4m3, e5m2. 464 and 500 lie halfway or less to codes that e4m3 does not have.
    CHECK(stored_as_e4m3(0.1) == 0.1015625f);
    CHECK(stored_as_e5m2(0.1) == 0.09375f);
    CHECK(stored_as_e4m3(0.3) == 0.3125f);
    CHECK(stored_as_e5m2(0.3) == 0.3125f);
    CHECK(stored_as_e4m3(17) == 16.0f);
    CHECK(stored_as_e5m2(17) == 16.0f);
    CHECK(stored_as_e4m3(19) == 20.0f);
    CHECK(stored_as_e5m2(19) == 20.0f);
    CHECK(stored_as_e5m2(464) == 448.0f);
    CHECK(stored_as_e4m3(500) == 448.0f);
    CHECK(stored_as_e5m2(500) == 512.0f);
    CHECK(stored_as_e4m3(0x1p-10) == 0.0f);
    CHECK(stored_as_e5m2(0x1p-10) == 0x1p-10f);
    CHECK(stored_as_e4m3(1.5 * 0x1p-10) == 0x1p-9f);
    CHECK(stored_as_e5m2(1.5 * 0x1p-10) == 1.5f * 0x1p-10f);
    CHECK(stored_as_e4m3(1e5) == 448.0f);
    CHECK(stored_as_e5m2(1e5) == 57344.0f);
  }

  TEST_CASE("a float64 is rounded once and not through float32") {
    // 1 + 2^-8 lies halfway between the bf16 values 1 and 1 + 2^-7; 2^-40 more tips it upwards.
    // By way of float32 the 2^-40 is lost, and the tie goes to the even code, 1.
    const double just_above_the_middle = 1 + 0x1p-8 + 0x1p-40;
    CHECK(load_as<double>(store_as<BFloat16>(just_above_the_middle)) == 1 + 0x1p-7);
    CHECK(load_as<double>(store_as<BFloat16>(static_cast<float>(just_above_the_middle))) == 1.0);
  }

#ifdef __F16C__
  TEST_CASE("fp16 agrees with the CPU's own conversion instructions") {
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 4099) {
      const float value = float_from_bits(static_cast<std::uint32_t>(bits));
      if (std::isnan(value)) continue;
      const std::uint16_t code = round_to<Float16>(value).bits;
      REQUIRE(code == _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
      REQUIRE(bits_of(decode(Float16{code})) == bits_of(_cvtsh_ss(code)));
    }
  }
#endif

  TEST_CASE("every NaN is stored and read as the GPU's") {
    for (std::uint64_t bits :
         {0x7ff8000000000000ull, 0xfff8000000000001ull, 0x7ff0000000000001ull}) {
      const double nan = double_from_bits(bits);
      CHECK(round_to<Float16>(nan).bits == 0x7fff);
      CHECK(round_to<BFloat16>(nan).bits == 0x7fff);
      CHECK(round_to<Fp8E4M3>(nan).bits == 0x7f);
      CHECK(round_to<Fp8E5M2>(nan).bits == 0x7f);
      CHECK(bits_of(canonical_nan(nan)) == 0x7fffffffffffffffull);
    }
    CHECK(bits_of(decode(Float16{0xfe01})) == 0x7fffffffu);
    CHECK(bits_of(decode(BFloat16{0xff81})) == 0x7fffffffu);
    CHECK(bits_of(decode(Fp8E4M3{0xff})) == 0x7fffffffu);
    CHECK(bits_of(decode(Fp8E5M2{0xfd})) == 0x7fffffffu);
    CHECK(bits_of(canonical_nan(float_from_bits(0xffc00001u))) == 0x7fffffffu);
    CHECK(bits_of(canonical_nan(-0.0f)) == 0x80000000u);
  }
}
