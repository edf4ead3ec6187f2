// The checked kernels are compiled with -fsanitize=bounds: where an array has a size that the compiler
// knows, a shared array above all, it calls a function before an element outside is touched. Here is
// that function, under the name that UndefinedBehaviorSanitizer's runtime gives it.
//
// A host program may be built with that runtime (the asan preset). Its own calls then arrive here too,
// since a program's functions come before those of its libraries, and are passed on.
//
// Source: compiler-rt, lib/ubsan/ubsan_handlers.h and ubsan_value.h.

#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "simulator/simt/access_check.h"
#include "simulator/simt/running_lane.h"

namespace {

struct SourceLocation {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
};

struct TypeDescriptor {
  std::uint16_t kind;  // 0: integer
  std::uint16_t
      info;      // of an integer: bit 0 says whether it is signed, the rest is log₂ of its bits
  char name[1];  // "'float [64]'"
};

struct OutOfBounds {
  SourceLocation place;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};

// "-1" of an index that the handler gets as the bits of a word; those beyond its width are anything.
std::string text_of(const TypeDescriptor& type, std::uintptr_t bits) {
  const unsigned int width = 1u << (type.info >> 1);
  const bool is_signed = (type.info & 1u) != 0;
  if (type.kind != 0 || width > 64) return "an index";
  const unsigned int unused = 64 - width;
  if (is_signed) return std::to_string(static_cast<std::int64_t>(bits << unused) >> unused);
  return std::to_string((bits << unused) >> unused);
}

std::string describe(const OutOfBounds& data, std::uintptr_t index) {
  const std::string path = data.place.file;
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::string type = data.array->name;
  return pagelab::simt::place_of_running_thread() + " at " + file + ":" +
         std::to_string(data.place.line) + " takes element " + text_of(*data.index, index) +
         " of an array of type " + type.substr(1, type.size() - 2) +
         ". Is a check of the index against the size missing?";
}

void take(const char* handler, OutOfBounds* data, std::uintptr_t index) {
  if (pagelab::simt::checked_memory != nullptr) {
    pagelab::simt::fail([&] { return describe(*data, index); });
  }
  using Handler = void (*)(OutOfBounds*, std::uintptr_t);
  const auto runtimes_own = reinterpret_cast<Handler>(dlsym(RTLD_NEXT, handler));
  if (runtimes_own != nullptr) runtimes_own(data, index);
}

}  // namespace

extern "C" {

// Returns where the runtime's own does, and where there is none.
void __ubsan_handle_out_of_bounds(OutOfBounds* data, std::uintptr_t index) {
  take("__ubsan_handle_out_of_bounds", data, index);
}

void __ubsan_handle_out_of_bounds_abort(OutOfBounds* data, std::uintptr_t index) {
  take("__ubsan_handle_out_of_bounds_abort", data, index);
  __builtin_trap();  // the compiler takes for granted that it does not return
}

}  // extern "C"
