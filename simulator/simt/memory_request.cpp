#include "simulator/simt/memory_request.h"

#include <algorithm>
#include <vector>

namespace pagelab::simt {

namespace {

// Bytes that all banks together give or take at a time.
constexpr std::size_t kBytesOfAllBanks = kSharedBanks * kBankBytes;

// Numbers of which each is kept once; a warp brings few of them.
class DistinctNumbers {
 public:
  void add(std::uintptr_t number) {
    const auto end = numbers_.begin() + size_;
    if (std::find(numbers_.begin(), end, number) == end) numbers_[size_++] = number;
  }
  unsigned int size() const { return size_; }
  std::uintptr_t operator[](unsigned int place) const { return numbers_[place]; }

 private:
  // A lane's bytes lie in two sectors at most, and in four words, five if it is not aligned.
  std::array<std::uintptr_t, 5 * kLanesPerWarp> numbers_;
  unsigned int size_ = 0;
};

// Lanes that shared memory serves at once if each wants something else.
unsigned int lanes_at_once(std::size_t bytes_per_lane) {
  const std::size_t lanes = kBytesOfAllBanks / bytes_per_lane;
  return lanes < kLanesPerWarp ? static_cast<unsigned int>(lanes) : kLanesPerWarp;
}

// Whether each of these lanes wants what its partner wants, the lane whose number differs in one bit.
bool are_alike_in_pairs(const MemoryRequest& request, unsigned int lanes, unsigned int bit) {
  for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) {
    const unsigned int lane_idx = static_cast<unsigned int>(__builtin_ctz(rest));
    const unsigned int partner = lane_idx ^ bit;
    const bool is_active = (lanes >> partner & 1u) != 0;
    if (is_active && request.addresses[lane_idx] != request.addresses[partner]) return false;
  }
  return true;
}

// Two parts of the warp are served at once where neighbouring lanes, or next but one, want the same.
bool count_as_one(const MemoryRequest& request, unsigned int lanes) {
  return are_alike_in_pairs(request, lanes, 1) || are_alike_in_pairs(request, lanes, 2);
}

// The lanes that are served at once, a mask for each part of the warp.
std::vector<unsigned int> parts_of(const MemoryRequest& request) {
  const unsigned int part_size = lanes_at_once(request.bytes);
  if (part_size == kLanesPerWarp) return {request.mask};
  std::vector<unsigned int> parts;
  const unsigned int first_pair = part_size == kLanesPerWarp / 2 ? ~0u : (1u << 2 * part_size) - 1;
  const unsigned int first_part = (1u << part_size) - 1;
  for (unsigned int first_lane = 0; first_lane < kLanesPerWarp; first_lane += 2 * part_size) {
    const unsigned int pair = request.mask & (first_pair << first_lane);
    if (count_as_one(request, pair)) {
      parts.push_back(pair);
    } else {
      parts.push_back(request.mask & (first_part << first_lane));
      parts.push_back(request.mask & (first_part << (first_lane + part_size)));
    }
  }
  return parts;
}

// Calls `visit(word)` for each word of shared memory that a lane's bytes touch.
template <typename Visit>
void for_each_word(const MemoryRequest& request, unsigned int lane_idx, const Visit& visit) {
  const std::uintptr_t first_byte = request.addresses[lane_idx];
  const std::uintptr_t last_byte = first_byte + request.bytes - 1;
  for (std::uintptr_t word = first_byte / kBankBytes; word <= last_byte / kBankBytes; ++word) {
    visit(word);
  }
}

// Wavefronts of the lanes that are served at once: as many as the busiest bank has words to handle.
unsigned int wavefronts_of_lanes(const MemoryRequest& request, unsigned int lanes, bool is_atomic) {
  DistinctNumbers words;
  std::array<unsigned int, kSharedBanks> work_of_bank = {};
  for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) {
    const unsigned int lane_idx = static_cast<unsigned int>(__builtin_ctz(rest));
    for_each_word(request, lane_idx, [&](std::uintptr_t word) {
      words.add(word);
      if (is_atomic) ++work_of_bank[word % kSharedBanks];
    });
  }
  if (!is_atomic) {
    for (unsigned int place = 0; place < words.size(); ++place) {
      ++work_of_bank[words[place] % kSharedBanks];
    }
  }
  return *std::max_element(work_of_bank.begin(), work_of_bank.end());
}

SharedWork work_of(const MemoryRequest& request, bool is_atomic) {
  SharedWork work;
  for (const unsigned int lanes : parts_of(request)) {
    if (lanes == 0) continue;
    const unsigned int wavefronts = wavefronts_of_lanes(request, lanes, is_atomic);
    work.wavefronts += wavefronts;
    work.conflicts += wavefronts - 1;
  }
  return work;
}

// The lanes among these that are the first to want their address.
unsigned int first_at_their_address(const MemoryRequest& request, unsigned int lanes) {
  DistinctNumbers addresses;
  unsigned int first = 0;
  for (unsigned int rest = lanes; rest != 0; rest &= rest - 1) {
    const unsigned int lane_idx = static_cast<unsigned int>(__builtin_ctz(rest));
    const unsigned int num_before = addresses.size();
    addresses.add(request.addresses[lane_idx]);
    if (addresses.size() > num_before) first |= 1u << lane_idx;
  }
  return first;
}

}  // namespace

unsigned int sectors_of(const MemoryRequest& request) {
  DistinctNumbers sectors;
  for (unsigned int rest = request.mask; rest != 0; rest &= rest - 1) {
    const std::uintptr_t first_byte = request.addresses[__builtin_ctz(rest)];
    const std::uintptr_t last_byte = first_byte + request.bytes - 1;
    sectors.add(first_byte / kSectorBytes);
    sectors.add(last_byte / kSectorBytes);
  }
  return sectors.size();
}

unsigned int atomic_sectors_of(const MemoryRequest& request) {
  unsigned int num_sectors = 0;
  MemoryRequest round = request;
  for (unsigned int rest = request.mask; rest != 0; rest &= ~round.mask) {
    round.mask = first_at_their_address(request, rest);
    num_sectors += sectors_of(round);
  }
  return num_sectors;
}

SharedWork shared_work_of(const MemoryRequest& request) { return work_of(request, false); }

SharedWork shared_atomic_work_of(const MemoryRequest& request) { return work_of(request, true); }

}  // namespace pagelab::simt
