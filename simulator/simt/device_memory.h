/// \file
/// The memory of the simulated GPU: one stretch of addresses in which named arrays lie apart from
/// each other. Between two arrays is a guard gap; new memory is poisoned with 0xff, which is NaN in
/// every float format; and each byte knows whether an array holds it and whether it was ever
/// written. access_check.h asks that of each access of a checked kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "simulator/simt/shadow.h"

namespace pagelab::simt {

/// What new memory is filled with: NaN in every float format.
constexpr unsigned char kPoison = 0xff;

/// What is known of one byte of global or shared memory.
enum class ByteState : std::uint8_t {
  kNoArray = 0,    ///< a guard gap, or never used
  kFreed = 1,      ///< part of an array that was freed
  kInFlight = 2,   ///< part of an array; an asynchronous copy is going to store there
  kUnwritten = 3,  ///< part of an array; nothing was stored there yet
  kWritten = 4,    ///< part of an array, and holds a value
  kForeign = 5,    ///< between shared arrays: a variable of the host's, not checked
};

/// Whether the bytes of an array start as unwritten. Kernels that are not checked leave no trace of
/// what they write, so their arrays count as written from the start.
enum class Tracking : std::uint8_t {
  kWrites,  ///< bytes start unwritten; host copies and checked kernels mark them
  kBounds,  ///< bytes count as written
};

/// One array, live or freed.
struct DeviceArrayInfo {
  std::string name;                       ///< for messages
  std::byte* begin = nullptr;             ///< first byte
  std::size_t bytes = 0;                  ///< length
  bool is_live = true;                    ///< not freed yet
  Tracking tracking = Tracking::kWrites;  ///< what is tracked
};

/// The memory of a simulated GPU. Thread-safe.
class DeviceMemory {
 public:
  /// Bytes between two arrays, at least; those next to an array are poisoned as well.
  static constexpr std::size_t kGuardBytes = 16 * 1024;
  /// Alignment of an array, as cudaMalloc's.
  static constexpr std::size_t kAlignment = 256;

  /// Reserves addresses; memory is taken from the system when it is first touched.
  /// \throws Error  if the system refuses
  explicit DeviceMemory(std::size_t reserved_bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// A poisoned array.
  /// \param bytes    may be 0: an array that nobody may touch
  /// \param name     for messages
  /// \param tracking whether its bytes start as unwritten
  /// \throws Error   if no gap is large enough
  void* allocate(std::size_t bytes, const std::string& name, Tracking tracking = Tracking::kWrites);

  /// Frees an array and poisons it. A later access is still recognised for a while.
  /// \throws Error  if no live array begins there
  void free(void* array);

  /// Copies from the host. \throws Error if the bytes do not lie within one live array
  void copy_to_device(void* to, const void* from, std::size_t bytes);
  /// Copies to the host. \throws Error if the bytes do not lie within one live array
  void copy_to_host(void* to, const void* from, std::size_t bytes);
  /// Sets bytes. \throws Error if the bytes do not lie within one live array
  void fill(void* to, unsigned char value, std::size_t bytes);

  std::size_t num_live_arrays() const;  ///< arrays that were allocated and not freed
  std::size_t live_bytes() const;       ///< their bytes

  /// The array that holds an address, or else the one that lies nearest to it; nullptr only if
  /// there has never been one. The pointer is good until the next call that allocates or frees.
  const DeviceArrayInfo* nearest_array(const void* address) const;

  std::byte* base() const { return base_; }                 ///< first address
  std::size_t reserved_bytes() const { return reserved_; }  ///< addresses
  /// States of the bytes from `base()` on.
  ByteState* states() const { return states_; }
  /// Who touched which bytes last, from `base()` on. \throws Error if the system refuses the addresses
  Shadow& shadow();

 private:
  using Arrays = std::map<std::byte*, DeviceArrayInfo>;

  std::byte* find_gap(std::size_t bytes) const;
  void forget_freed_arrays_between(std::byte* begin, std::byte* end);
  void forget_oldest_freed_arrays();
  void set_states(std::byte* begin, std::size_t bytes, ByteState state);
  DeviceArrayInfo& live_array_of(const void* begin, std::size_t bytes, const char* verb);

  std::size_t reserved_;
  std::byte* base_ = nullptr;
  ByteState* states_ = nullptr;
  Shadow shadow_;              // empty until it is asked for
  std::byte* next_ = nullptr;  // where the search for a gap starts: old addresses are reused last
  Arrays arrays_;              // by first byte; freed ones stay until their place is needed
  std::deque<std::byte*> freed_;  // oldest first
  std::size_t freed_bytes_ = 0;
  mutable std::mutex mutex_;
};

/// The one memory that all simulated devices share, as the kernels of a real GPU share theirs.
DeviceMemory& device_memory();

}  // namespace pagelab::simt
