#include "simulator/simt/ex2.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace pagelab::simt {
namespace {

// The parabola of a 64th of [1, 2): c0 + c1 · X + c2 · X², at different powers of two.
struct Parabola {
  std::uint64_t c0;  // 26 bits
  std::uint64_t c1;  // 16 bits
  std::uint64_t c2;  // 10 bits
};
constexpr Parabola kParabolas[64] = {
    {33554435, 22713, 494}, {33919818, 22960, 501}, {34289182, 23210, 506}, {34662565, 23463, 511},
    {35040018, 23718, 518}, {35421577, 23977, 521}, {35807292, 24238, 527}, {36197209, 24502, 532},
    {36591372, 24768, 541}, {36989825, 25038, 546}, {37392616, 25311, 551}, {37799797, 25586, 559},
    {38211409, 25865, 564}, {38627504, 26147, 568}, {39048131, 26431, 577}, {39473337, 26719, 583},
    {39903173, 27010, 589}, {40337690, 27304, 596}, {40776937, 27602, 600}, {41220970, 27902, 609},
    {41669836, 28206, 615}, {42123592, 28513, 622}, {42582286, 28824, 627}, {43045977, 29138, 633},
    {43514717, 29455, 641}, {43988561, 29776, 647}, {44467565, 30100, 655}, {44951786, 30428, 661},
    {45441278, 30759, 670}, {45936101, 31094, 677}, {46436314, 31432, 686}, {46941971, 31775, 691},
    {47453135, 32121, 699}, {47969867, 32471, 705}, {48492225, 32824, 715}, {49020269, 33182, 721},
    {49554065, 33543, 730}, {50093674, 33908, 739}, {50639159, 34277, 748}, {51190582, 34651, 753},
    {51748011, 35028, 763}, {52311510, 35409, 773}, {52881146, 35795, 779}, {53456983, 36185, 787},
    {54039091, 36579, 796}, {54627538, 36977, 806}, {55222393, 37380, 813}, {55823725, 37787, 822},
    {56431607, 38198, 833}, {57046106, 38614, 842}, {57667297, 39035, 849}, {58295254, 39460, 858},
    {58930048, 39889, 870}, {59571754, 40324, 877}, {60220447, 40763, 887}, {60876205, 41207, 896},
    {61539104, 41655, 909}, {62209220, 42109, 917}, {62886634, 42568, 925}, {63571424, 43031, 938},
    {64263672, 43500, 946}, {64963458, 43973, 959}, {65670863, 44452, 969}, {66385972, 44936, 980},
};
// What the unit adds before it cuts off the bits that do not fit.
constexpr std::uint64_t kRounding = std::uint64_t{3057} << 20;

constexpr int kOffsetBits = 17;    // of X, the place within a row
constexpr int kLowestColumn = 19;  // the squarer has no bits below 2^19
constexpr std::uint32_t kFraction = (1u << 23) - 1;

// X² as a sum of the products of its bits, without those products that are below 2^19.
constexpr std::uint64_t square_without_low_columns(std::uint64_t x) {
  std::uint64_t square = 0;
  for (int i = 0; i < kOffsetBits; ++i) {
    if ((x >> i & 1) == 0) continue;
    if (2 * i >= kLowestColumn) square += std::uint64_t{1} << (2 * i);
    for (int j = i + 1; j < kOffsetBits; ++j) {
      const bool both = (x >> j & 1) != 0;
      if (both && i + j + 1 >= kLowestColumn) square += std::uint64_t{1} << (i + j + 1);
    }
  }
  return square;
}

// All squares, in units of 2^19: a kernel asks for millions.
std::array<std::uint16_t, 1 << kOffsetBits> all_squares() {
  std::array<std::uint16_t, 1 << kOffsetBits> squares;
  for (std::uint32_t x = 0; x < squares.size(); ++x) {
    squares[x] = static_cast<std::uint16_t>(square_without_low_columns(x) >> kLowestColumn);
  }
  return squares;
}

}  // namespace

float ex2_approx_ftz(float x) {
  static const std::array<std::uint16_t, 1 << kOffsetBits> kSquares = all_squares();
  if (std::isnan(x)) return std::bit_cast<float>(0x7fffffffu);
  if (x >= 128.0f) return std::bit_cast<float>(0x7f800000u);
  if (x < -126.0f) return 0.0f;

  // Step 1: x = n + g · 2^-23. |x| is cut to 23 bits after the point; the complement of a negative one is that
  // of its bits, one too low, except where there are no bits.
  const std::uint32_t fixed = static_cast<std::uint32_t>(std::fabs(x) * 0x1p23f);
  const int whole = static_cast<int>(fixed >> 23);
  if (std::signbit(x) && (fixed & kFraction) == 0) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(127 - whole) << 23);
  }
  const std::uint32_t g = (std::signbit(x) ? ~fixed : fixed) & kFraction;
  const int n = std::signbit(x) ? -whole - 1 : whole;

  // Step 2: 2^(g · 2^-23) in units of 2^-23, by the parabola of its row.
  const Parabola& row = kParabolas[g >> kOffsetBits];
  const std::uint64_t offset = g & ((1u << kOffsetBits) - 1);
  const std::uint64_t square = std::uint64_t{kSquares[offset]} << kLowestColumn;
  const std::uint64_t sum = (row.c0 << 32) + kRounding + (row.c1 * offset << 19) + row.c2 * square;
  const std::uint32_t significand = static_cast<std::uint32_t>(sum >> 34);  // [2^23, 2^24)

  // Step 3: times 2^n. The leading bit of the significand counts as one in the exponent's field.
  return std::bit_cast<float>(significand + (static_cast<std::uint32_t>(n + 126) << 23));
}

}  // namespace pagelab::simt
