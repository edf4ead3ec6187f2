/// \file
/// Where static shared arrays lie. `__shared__ float scores[64];` is a static thread-local array of
/// its function, so every host thread has it at the same distance from the start of its thread-local
/// memory. Names, places and lengths are those of the program's symbol table.
///
/// Not told apart: a kernel's shared array, and a static thread-local variable in a function of the
/// host.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pagelab::simt {

/// A static shared array.
struct SharedArray {
  std::string name;        ///< as in the kernel: "scores"
  std::size_t offset = 0;  ///< of its first byte, from the start of the thread-local memory
  std::size_t bytes = 0;   ///< length
};

/// The program's thread-local memory.
struct ThreadLocalLayout {
  std::vector<SharedArray> arrays;     ///< by offset
  std::vector<SharedArray> variables;  ///< all others, by offset
};

/// What the program's symbol table says; it is read once.
/// \throws Error  if the program has none, because it was stripped
const ThreadLocalLayout& thread_local_layout();

/// Static shared arrays of the function that contains an address of code. The symbol table is read
/// anew: this is for messages.
/// \param pc  a return address
std::vector<SharedArray> shared_arrays_of_function(const void* pc);

/// Where this host thread has the program's thread-local memory; nullptr if the program has none.
std::byte* thread_local_begin();

}  // namespace pagelab::simt
