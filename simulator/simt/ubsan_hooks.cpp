// The checked kernels are compiled with -fsanitize=bounds: where an array has a size that the compiler
// knows, a shared array above all, it calls a function before an element outside is touched. Here is
// that function, under the name that UndefinedBehaviorSanitizer's runtime gives it.
//
// A host program may be built with that runtime (the asan preset). Its own calls then arrive here too,
// since a program's functions come before those of its libraries, and are passed on.
//
// Source: compiler-rt, lib/ubsan/ubsan_handlers.h and ubsan_value.h.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "simulator/simt/access_check.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/shared_arrays.h"

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

// Bytes of "float [8]"; 0 if the element is of a type that is not in the list.
std::size_t bytes_of_array(const std::string& type) {
  struct Element {
    const char* name;
    std::size_t bytes;
  };
  static constexpr Element kElements[] = {
      {"float", 4},          {"int", 4},  {"unsigned int", 4}, {"double", 8},        {"float2", 8},
      {"float4", 16},        {"char", 1}, {"signed char", 1},  {"unsigned char", 1}, {"short", 2},
      {"unsigned short", 2}, {"long", 8}, {"unsigned long", 8}};
  const std::size_t bracket = type.find(" [");
  if (bracket == std::string::npos) return 0;
  const std::string element = type.substr(0, bracket);
  std::size_t bytes = 0;
  for (const Element& known : kElements) {
    if (element == known.name) bytes = known.bytes;
  }
  for (std::size_t open = bracket + 1; open < type.size(); open = type.find(']', open) + 1) {
    bytes *= std::stoul(type.substr(open + 1));
  }
  return bytes;
}

// ", as `tile` is" where one shared array of the function has as many bytes as the type.
std::string likely_name(const void* pc, const std::string& type) {
  const std::size_t bytes = bytes_of_array(type);
  std::string name;
  for (const pagelab::simt::SharedArray& array : pagelab::simt::shared_arrays_of_function(pc)) {
    if (array.bytes != bytes) continue;
    if (!name.empty()) return "";
    name = ", as `" + array.name + "` is";
  }
  return name;
}

std::string describe(const OutOfBounds& data, std::uintptr_t index, const void* pc) {
  const std::string path = data.place.file;
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::string quoted = data.array->name;  // 'float [8]'
  const std::string type = quoted.size() > 2 ? quoted.substr(1, quoted.size() - 2) : quoted;
  return pagelab::simt::place_of_running_thread() + " at " + file + ":" +
         std::to_string(data.place.line) + " takes element " + text_of(*data.index, index) +
         " of an array of type " + type + likely_name(pc, type) +
         ". Is a check of the index against the size missing?";
}

// Types are those that g++ itself assumes.
void take(const char* handler, void* data, void* index, const void* pc) {
  if (pagelab::simt::checked_memory != nullptr) {
    pagelab::simt::fail([&] {
      return describe(*static_cast<const OutOfBounds*>(data),
                      reinterpret_cast<std::uintptr_t>(index), pc);
    });
  }
  using Handler = void (*)(void*, void*);
  const auto runtimes_own = reinterpret_cast<Handler>(dlsym(RTLD_NEXT, handler));
  if (runtimes_own != nullptr) runtimes_own(data, index);
}

}  // namespace

extern "C" {

// Returns where the runtime's own does, and where there is none.
void __ubsan_handle_out_of_bounds(void* data, void* index) {
  take("__ubsan_handle_out_of_bounds", data, index, __builtin_return_address(0));
}

void __ubsan_handle_out_of_bounds_abort(void* data, void* index) {
  take("__ubsan_handle_out_of_bounds_abort", data, index, __builtin_return_address(0));
  __builtin_trap();  // the compiler takes for granted that it does not return
}

}  // extern "C"
