// One line of each format.

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"
#include "simulator/engine/trace/request_trace.h"

namespace pagelab {
namespace {

using Json = nlohmann::json;

std::int64_t whole_number_of(const Json& line, const char* field) {
  const auto found = line.find(field);
  if (found == line.end()) refuse("{} is missing.", field);
  const bool fits = found->is_number_unsigned()
                        ? found->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX)
                        : found->is_number_integer();
  if (!fits) refuse("{} is {}; it must be a whole number.", field, found->dump());
  return found->get<std::int64_t>();
}

std::int32_t num_tokens_of(const char* field, std::int64_t number) {
  require_in_range(field, number, 1, kMostTokens);
  return static_cast<std::int32_t>(number);
}

std::vector<std::int64_t> hash_ids_of(const Json& line, std::int32_t num_prompt_tokens) {
  const auto found = line.find("hash_ids");
  if (found == line.end() || !found->is_array()) refuse("hash_ids must be a list of numbers.");
  std::vector<std::int64_t> ids;
  for (const Json& id : *found) {
    if (!id.is_number_integer()) refuse("hash_ids holds {}, which is no whole number.", id.dump());
    ids.push_back(id.get<std::int64_t>());
  }
  const std::int64_t num_blocks =
      (std::int64_t{num_prompt_tokens} + kTokensPerTraceBlock - 1) / kTokensPerTraceBlock;
  if (static_cast<std::int64_t>(ids.size()) != num_blocks) {
    refuse("hash_ids has {} entries; an input_length of {} has {} blocks of {}.", ids.size(),
           num_prompt_tokens, num_blocks, kTokensPerTraceBlock);
  }
  return ids;
}

// Reads what an Azure line consists of, from left to right.
class LineParts {
 public:
  explicit LineParts(std::string_view text) : all_(text), rest_(text) {}

  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) refuse_line();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  void expect(char letter) {
    if (rest_.empty() || rest_.front() != letter) refuse_line();
    rest_.remove_prefix(1);
  }

  // What follows the decimal point, as a part of one; nothing, if there is no point.
  double fraction() {
    if (rest_.empty() || rest_.front() != '.') return 0;
    const std::size_t length = std::min(rest_.find(','), rest_.size());
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + length, value);
    if (error != std::errc() || end != rest_.data() + length) refuse_line();
    rest_.remove_prefix(length);
    return value;
  }

  void expect_end() const {
    if (!rest_.empty()) refuse_line();
  }

  [[noreturn]] void refuse_line() const {
    refuse("\"{}\" must be a time, ContextTokens and GeneratedTokens, as in {}.", all_,
           "2023-11-16 18:17:03.9799600,4808,10");
  }

 private:
  std::string_view all_;
  std::string_view rest_;
};

double time_us_of(LineParts& parts) {
  using namespace std::chrono;
  const std::int64_t year_number = parts.number();
  parts.expect('-');
  const std::int64_t month_number = parts.number();
  parts.expect('-');
  const std::int64_t day_number = parts.number();
  parts.expect(' ');
  const std::int64_t hours = parts.number();
  parts.expect(':');
  const std::int64_t minutes = parts.number();
  parts.expect(':');
  const std::int64_t seconds = parts.number();
  const double fraction = parts.fraction();
  if (year_number > 9999 || month_number > 12 || day_number > 31 || hours > 23 || minutes > 59 ||
      seconds > 59) {
    parts.refuse_line();
  }
  const year_month_day date = year(static_cast<int>(year_number)) /
                              month(static_cast<unsigned>(month_number)) /
                              day(static_cast<unsigned>(day_number));
  if (!date.ok()) parts.refuse_line();
  const auto days_since_1970 = static_cast<double>(sys_days(date).time_since_epoch().count());
  const auto second_of_day = static_cast<double>((hours * 60 + minutes) * 60 + seconds);
  return (days_since_1970 * 86400 + second_of_day + fraction) * 1e6;
}

}  // namespace

MooncakeLine parse_mooncake_line(std::string_view text) {
  const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) {
    refuse("it is no JSON object; a request is one, on one line: {}.",
           R"({"timestamp": 0, "input_length": 700, "output_length": 20, "hash_ids": [0, 1]})");
  }
  MooncakeLine parsed;
  const std::int64_t timestamp_ms = whole_number_of(line, "timestamp");
  require_in_range("timestamp", timestamp_ms, 0, INT64_MAX / 1000);
  parsed.request.arrival_us = static_cast<double>(timestamp_ms) * 1000;
  parsed.request.num_prompt_tokens =
      num_tokens_of("input_length", whole_number_of(line, "input_length"));
  parsed.request.num_output_tokens =
      num_tokens_of("output_length", whole_number_of(line, "output_length"));
  parsed.hash_ids = hash_ids_of(line, parsed.request.num_prompt_tokens);
  return parsed;
}

TraceRequest parse_azure_line(std::string_view text) {
  LineParts parts(text);
  TraceRequest request;
  request.arrival_us = time_us_of(parts);
  parts.expect(',');
  request.num_prompt_tokens = num_tokens_of("ContextTokens", parts.number());
  parts.expect(',');
  request.num_output_tokens = num_tokens_of("GeneratedTokens", parts.number());
  parts.expect_end();
  return request;
}

}  // namespace pagelab
