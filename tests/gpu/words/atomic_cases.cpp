// Source: CUDA C++ Programming Guide, "Atomic Functions"; PTX ISA, `atom`: "atom.add.f32 on global
// memory flushes subnormal inputs and results to sign-preserving zero; atom.add.f32 on shared memory
// supports subnormal numbers".

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/gpu/words/atomic_inputs.h"
#include "tests/gpu/words/word_cases.h"

namespace pagelab::test {

namespace {

template <typename Number>
Number from_bits(std::uint64_t bits) {
  Number number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

// What an operation leaves; the old value where CUDA does not have it for the type.
template <typename Number>
Number left_of_integers(int operation, Number old, Number operand) {
  constexpr bool kIsSignedLong = std::is_signed_v<Number> && sizeof(Number) == 8;
  constexpr bool kIsUnsignedWord = std::is_unsigned_v<Number> && sizeof(Number) == 4;
  using Unsigned = std::make_unsigned_t<Number>;
  if (kIsSignedLong && operation != kMin && operation != kMax) return old;
  if (sizeof(Number) == 8 && operation == kSub) return old;
  if (!kIsUnsignedWord && (operation == kIncrement || operation == kDecrement)) return old;
  switch (operation) {
    case kAdd:
      return static_cast<Number>(static_cast<Unsigned>(old) + static_cast<Unsigned>(operand));
    case kSub:
      return static_cast<Number>(static_cast<Unsigned>(old) - static_cast<Unsigned>(operand));
    case kMin:
      return old < operand ? old : operand;
    case kMax:
      return old > operand ? old : operand;
    case kExchange:
      return operand;
    case kAnd:
      return old & operand;
    case kOr:
      return old | operand;
    case kXor:
      return old ^ operand;
    case kIncrement:
      return old >= operand ? 0 : old + 1;
    case kDecrement:
      return old == 0 || old > operand ? operand : old - 1;
    default:
      return old == operand ? operand + 3 : old;
  }
}

constexpr std::uint32_t kNanOfGpu = 0x7fffffffu;

float flushed(float number) {
  return std::fpclassify(number) == FP_SUBNORMAL ? std::copysign(0.0f, number) : number;
}

template <typename Number>
std::uint64_t left_of_floats(int operation,
                             std::uint64_t old_bits,
                             std::uint64_t operand_bits,
                             bool is_global) {
  const Number old = from_bits<Number>(old_bits);
  const Number operand = from_bits<Number>(operand_bits);
  if (operation == kExchange && sizeof(Number) == 4) return operand_bits;
  if (operation != kAdd) return old_bits;
  Number sum = old + operand;
  if constexpr (std::is_same_v<Number, float>) {
    if (is_global) sum = flushed(flushed(old) + flushed(operand));
    if (std::isnan(sum)) return kNanOfGpu;
  }
  // A NaN of doubles: the operand's bits, made quiet; 0xfff8… for ∞ − ∞.
  return to_bits(sum);
}

template <typename Number>
std::uint64_t result(const WordCase& word_case, unsigned int thread, int index) {
  const int operation = index / 2 / kNumAtomicPairs;
  const bool is_global = word_case.kernel.ends_with("_global");
  const AtomicPair pair =
      atomic_pair(WordCase::kSeed, thread, index / 2 % kNumAtomicPairs, word_case.variant);
  const std::uint64_t kept = sizeof(Number) == 8 ? ~std::uint64_t{0} : 0xffffffffu;
  if (index % 2 == 0) return pair.old_bits & kept;
  if constexpr (std::is_integral_v<Number>) {
    return to_bits(left_of_integers(operation, from_bits<Number>(pair.old_bits),
                                    from_bits<Number>(pair.operand_bits)));
  } else {
    return left_of_floats<Number>(operation, pair.old_bits & kept, pair.operand_bits & kept,
                                  is_global);
  }
}

template <typename Number>
void add(const std::string& type, int variant, std::vector<WordCase>& cases) {
  for (const char* memory : {"_global", "_shared"}) {
    for (const Extent& cta : {Extent{33, 1, 1}, Extent{1, 1, 1}}) {
      cases.push_back({.kernel = "atomics_" + type + memory,
                       .on = {{3, 1, 1}, cta, 0},
                       .variant = variant,
                       .results_per_thread = 2 * kNumAtomics * kNumAtomicPairs,
                       .memory_words = 100,
                       .result = result<Number>});
    }
  }
}

}  // namespace

std::vector<WordCase> atomic_cases() {
  std::vector<WordCase> cases;
  add<int>("int", 0, cases);
  add<unsigned int>("unsigned", 0, cases);
  add<long long>("long_long", 0, cases);
  add<unsigned long long>("unsigned_long_long", 0, cases);
  add<float>("float", 1, cases);
  add<double>("double", 2, cases);
  cases.push_back({.kernel = "atomics_float_dynamic_shared",
                   .on = {{2, 1, 1}, {40, 1, 1}, 160},
                   .variant = 1,
                   .results_per_thread = 2 * kNumAtomics * kNumAtomicPairs,
                   .result = result<float>});
  return cases;
}

}  // namespace pagelab::test
