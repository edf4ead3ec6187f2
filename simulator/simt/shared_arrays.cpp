#include "simulator/simt/shared_arrays.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "simulator/simt/error.h"
#include "simulator/simt/shadow.h"

namespace pagelab::simt {

namespace {

constexpr const char* kProgram = "/proc/self/exe";

// The program's file, in memory while this object lives.
class ProgramFile {
 public:
  ProgramFile() {
    const int file = open(kProgram, O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file < 0 || fstat(file, &status) != 0) fail_to_read();
    bytes_ = static_cast<std::size_t>(status.st_size);
    begin_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (begin_ == MAP_FAILED) fail_to_read();
  }
  ~ProgramFile() { munmap(begin_, bytes_); }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  template <typename T>
  const T* at(std::size_t offset) const {
    return reinterpret_cast<const T*>(static_cast<const char*>(begin_) + offset);
  }

 private:
  [[noreturn]] static void fail_to_read() {
    throw Error("the checked simulator looks for shared arrays in the program's own file, but " +
                std::string(kProgram) + " could not be read: " + std::strerror(errno) + ".");
  }

  void* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

const Elf64_Shdr* symbol_table_of(const ProgramFile& program) {
  const Elf64_Ehdr& header = *program.at<Elf64_Ehdr>(0);
  const Elf64_Shdr* const sections = program.at<Elf64_Shdr>(header.e_shoff);
  const Elf64_Shdr* const end = sections + header.e_shnum;
  const Elf64_Shdr* const found = std::find_if(
      sections, end, [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
  if (found == end) {
    throw Error(
        "the checked simulator looks for shared arrays in the program's symbol table, but the "
        "program has none: it was stripped. Keep the symbols (strip --strip-debug does).");
  }
  return found;
}

// Variables of functions have mangled names that begin so (Itanium C++ ABI, "local names").
bool is_local_to_function(std::string_view mangled) { return mangled.starts_with("_ZZ"); }

// A variable with an initial value that is computed has a guard, which says whether it was; a shared
// array has neither.
bool is_guard_of_local(std::string_view mangled) { return mangled.starts_with("_ZGVZ"); }

// "scores" of "pagelab::kernel(float*)::scores", which is what the mangled name stands for.
std::string plain_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  const std::string name = status == 0 ? demangled.get() : mangled;
  const std::size_t last_colon = name.rfind("::");
  return last_colon == std::string::npos ? name : name.substr(last_colon + 2);
}

struct Symbol {
  const char* mangled;
  unsigned char type;  // STT_TLS, STT_FUNC
  std::size_t value;   // offset in the thread-local memory, or address in the file
  std::size_t bytes;
};

// Calls `visit` for every defined symbol.
template <typename Visit>
void for_each_symbol(const ProgramFile& program, const Visit& visit) {
  const Elf64_Shdr& table = *symbol_table_of(program);
  const Elf64_Ehdr& header = *program.at<Elf64_Ehdr>(0);
  const Elf64_Shdr& names = program.at<Elf64_Shdr>(header.e_shoff)[table.sh_link];
  const Elf64_Sym* const symbols = program.at<Elf64_Sym>(table.sh_offset);
  for (std::size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    const Elf64_Sym& symbol = symbols[i];
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    visit(Symbol{program.at<char>(names.sh_offset + symbol.st_name),
                 static_cast<unsigned char>(ELF64_ST_TYPE(symbol.st_info)), symbol.st_value,
                 symbol.st_size});
  }
}

ThreadLocalLayout read_layout() {
  const ProgramFile program;
  ThreadLocalLayout layout;
  std::set<std::string_view> initialised;  // variables that have guards, mangled
  std::vector<std::pair<std::string_view, SharedArray>> locals;
  for_each_symbol(program, [&](const Symbol& symbol) {
    if (symbol.type != STT_TLS) return;
    const char* const mangled = symbol.mangled;
    const SharedArray variable = {mangled, symbol.value, symbol.bytes};
    if (is_guard_of_local(mangled)) initialised.insert(mangled + std::strlen("_ZGV"));
    if (is_local_to_function(mangled)) {
      locals.push_back({mangled, variable});
    } else {
      layout.variables.push_back(variable);
    }
  });
  for (auto& [mangled, variable] : locals) {
    const bool is_shared = !initialised.contains(mangled.substr(std::strlen("_Z")));
    if (is_shared) variable.name = plain_name(variable.name.c_str());
    (is_shared ? layout.arrays : layout.variables).push_back(variable);
  }
  const auto by_offset = [](const SharedArray& one, const SharedArray& other) {
    return one.offset < other.offset;
  };
  std::sort(layout.arrays.begin(), layout.arrays.end(), by_offset);
  std::sort(layout.variables.begin(), layout.variables.end(), by_offset);
  return layout;
}

}  // namespace

const ThreadLocalLayout& thread_local_layout() {
  static const ThreadLocalLayout layout = read_layout();
  return layout;
}

std::vector<SharedArray> shared_arrays_of_function(const void* pc) {
  const ProgramFile program;
  // Symbols of a position-independent program count addresses from its first byte.
  const bool is_relocated = program.at<Elf64_Ehdr>(0)->e_type == ET_DYN;
  const std::uintptr_t first =
      is_relocated ? reinterpret_cast<std::uintptr_t>(__executable_start) : 0;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(pc) - 1 - first;
  std::string scope;  // how the mangled names of the function's variables begin
  for_each_symbol(program, [&](const Symbol& symbol) {
    if (symbol.type != STT_FUNC || address - symbol.value >= symbol.bytes) return;
    const std::string_view mangled = symbol.mangled;
    if (mangled.starts_with("_Z")) scope = "_ZZ" + std::string(mangled.substr(2)) + "E";
  });
  std::vector<SharedArray> arrays;
  if (scope.empty()) return arrays;
  for_each_symbol(program, [&](const Symbol& symbol) {
    const bool is_of_function = std::string_view(symbol.mangled).starts_with(scope);
    if (symbol.type != STT_TLS || !is_of_function) return;
    arrays.push_back({plain_name(symbol.mangled), symbol.value, symbol.bytes});
  });
  return arrays;
}

std::byte* thread_local_begin() {
  void* begin = nullptr;
  // The program is the first of the loaded objects that is told of.
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<void**>(result) = info->dlpi_tls_data;
        return 1;
      },
      &begin);
  return static_cast<std::byte*>(begin);
}

}  // namespace pagelab::simt
