#include "cli/profile_listing.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "reference/source_dir.h"

namespace pagelab::cli {
namespace {

using simt::Counters;
using simt::LaunchCounters;
using simt::MemoryCounts;
using simt::MemoryKind;
using simt::WordKind;

constexpr const char* kHeader =
    "kind           requests  sectors   /req     bytes wavefronts conflicts  line | source";
constexpr std::size_t kWidth = 71;

// "-" where a kind of memory has no such count.
std::string count_or_dash(std::uint64_t count, bool exists) {
  return exists ? fmt::format("{}", count) : "-";
}

bool has_sectors(MemoryKind kind) { return kind <= MemoryKind::kAsyncCopy; }
bool has_wavefronts(MemoryKind kind) { return kind >= MemoryKind::kAsyncCopy; }

std::string row_of(MemoryKind kind, const MemoryCounts& counts) {
  const double sectors_per_request =
      static_cast<double>(counts.sectors) / static_cast<double>(counts.requests);
  return fmt::format("{:<14} {:>8} {:>8} {:>6} {:>9} {:>10} {:>9}", to_string(kind),
                     counts.requests, count_or_dash(counts.sectors, has_sectors(kind)),
                     has_sectors(kind) ? fmt::format("{:.2f}", sectors_per_request) : "-",
                     counts.bytes, count_or_dash(counts.wavefronts, has_wavefronts(kind)),
                     count_or_dash(counts.conflicts, has_wavefronts(kind)));
}

std::vector<std::string> rows_of(const Counters& counters) {
  std::vector<std::string> rows;
  for (std::size_t kind = 0; kind < simt::kNumMemoryKinds; ++kind) {
    const MemoryCounts& counts = counters.memory[kind];
    if (counts.requests != 0) rows.push_back(row_of(static_cast<MemoryKind>(kind), counts));
  }
  for (std::size_t kind = 0; kind < simt::kNumWordKinds; ++kind) {
    const std::uint64_t count = counters.words[kind];
    if (count == 0) continue;
    rows.push_back(fmt::format("{:<14} {:>8}", to_string(static_cast<WordKind>(kind)), count));
  }
  return rows;
}

// Counters by file, then by number of the line, summed over the launches.
using CountersOfLines = std::map<std::string, std::map<std::size_t, Counters>>;

CountersOfLines counters_of_lines(const std::vector<LaunchCounters>& launches) {
  CountersOfLines of_lines;
  for (const LaunchCounters& launch : launches) {
    for (const simt::LineCounters& line : launch.lines) {
      const std::size_t colon = line.line.rfind(':');
      const bool is_known = colon != std::string::npos;
      const std::string file = is_known ? line.line.substr(0, colon) : "";
      const std::size_t number = is_known ? std::stoul(line.line.substr(colon + 1)) : 0;
      of_lines[file][number] += line.counters;
    }
  }
  return of_lines;
}

std::vector<std::string> lines_of_file(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The file of that name that a kernel includes; empty if there is none, or more than one.
std::filesystem::path find_included(const std::string& file_name) {
  std::filesystem::path found;
  for (const char* folder : {"gpu", "reference"}) {
    std::error_code is_absent;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(source_dir() / folder, is_absent)) {
      if (entry.path().filename() != file_name) continue;
      if (!found.empty()) return {};
      found = entry.path();
    }
  }
  return found;
}

// A line of source with its counters to its left, the second and later kinds below it.
std::string with_counters(const std::string& place,
                          const std::string& source,
                          const Counters* counters) {
  const std::vector<std::string> rows =
      counters == nullptr ? std::vector<std::string>() : rows_of(*counters);
  std::string text =
      fmt::format("{:<{}} {:>4} | {}\n", rows.empty() ? "" : rows[0], kWidth, place, source);
  for (std::size_t row = 1; row < rows.size(); ++row) {
    text += fmt::format("{:<{}}      |\n", rows[row], kWidth);
  }
  return text;
}

// From the first line of code, behind the header comment, to the end of the function that was counted
// last.
std::pair<std::size_t, std::size_t> lines_to_show(const std::vector<std::string>& source,
                                                  const std::map<std::size_t, Counters>& counted) {
  std::size_t first = 1;
  while (first <= source.size() && source[first - 1].rfind("inline namespace", 0) != 0) ++first;
  first = std::min(first + 2, counted.begin()->first);
  std::size_t last = counted.rbegin()->first;
  while (last < source.size() && source[last - 1] != "}") ++last;
  return {first, last};
}

std::string kernel_source(const std::vector<std::string>& source,
                          const std::map<std::size_t, Counters>& counted) {
  const auto [first, last] = lines_to_show(source, counted);
  std::string text;
  for (std::size_t number = first; number <= last && number <= source.size(); ++number) {
    const auto line = counted.find(number);
    const Counters* const counters = line == counted.end() ? nullptr : &line->second;
    text += with_counters(std::to_string(number), source[number - 1], counters);
  }
  return text;
}

std::string other_file(const std::string& file, const std::map<std::size_t, Counters>& counted) {
  if (file.empty()) {
    return "\nlines that are not known (is addr2line, of binutils, installed?)\n" +
           with_counters("?", "", &counted.begin()->second);
  }
  const std::vector<std::string> source = lines_of_file(find_included(file));
  std::string text = fmt::format("\n{}\n", file);
  for (const auto& [number, counters] : counted) {
    const bool is_there = number >= 1 && number <= source.size();
    text += with_counters(std::to_string(number), is_there ? source[number - 1] : "", &counters);
  }
  return text;
}

std::string totals_of(const LaunchCounters& launch) {
  std::string text = fmt::format("\nlaunch of {}, grid {}, thread block {}\n", launch.kernel,
                                 to_string(launch.grid), to_string(launch.cta));
  for (const std::string& row : rows_of(launch.totals)) text += row + "\n";
  return text;
}

}  // namespace

std::string listing_of(const ProfiledKernel& kernel, const std::vector<LaunchCounters>& launches) {
  const std::filesystem::path path = source_dir() / "gpu" / "kernels" / (kernel.name + ".cuh");
  const std::string kernel_file = path.filename().string();
  CountersOfLines of_lines = counters_of_lines(launches);
  std::string text =
      fmt::format("{} with {}\n\n{}\n", kernel.name, to_string(kernel.shape), kHeader);
  const auto own = of_lines.find(kernel_file);
  if (own != of_lines.end()) {
    text += kernel_source(lines_of_file(path), own->second);
    of_lines.erase(own);
  }
  for (const auto& [file, counted] : of_lines) text += other_file(file, counted);
  for (const LaunchCounters& launch : launches) text += totals_of(launch);
  return text +
         "\nArithmetic, branches and loads of parameters are not seen, so they are not counted; "
         "caches "
         "are not modelled.\n";
}

}  // namespace pagelab::cli
