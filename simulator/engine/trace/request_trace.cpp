#include "simulator/engine/trace/request_trace.h"

#include <fstream>
#include <optional>
#include <unordered_map>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

constexpr std::string_view kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr std::int32_t kMostTraceBlocks = kAnyOutputToken / kTokensPerTraceBlock;

std::int32_t blocks_of_prompt(std::int32_t num_tokens) {
  return (num_tokens + kTokensPerTraceBlock - 1) / kTokensPerTraceBlock;
}

void require_enough_tokens(std::int64_t num_blocks) {
  if (num_blocks <= kMostTraceBlocks) return;
  refuse("its prompts have {} different blocks of {}; up to {} can be told apart.", num_blocks,
         kTokensPerTraceBlock, kMostTraceBlocks);
}

// Collects requests, line by line.
class TraceReader {
 public:
  explicit TraceReader(std::string name) { trace_.name = std::move(name); }

  void read(std::istream& file) {
    std::string text;
    std::int64_t line = 0;
    try {
      while (std::getline(file, text)) {
        ++line;
        if (!text.empty() && text.back() == '\r') text.pop_back();
        if (line == 1 && text == kAzureHeader) {
          is_azure_ = true;
        } else if (!text.empty()) {
          add(text, line);
        }
      }
    } catch (const Error& error) {
      refuse("line {} of {}: {}", line, trace_.name, error.what());
    }
  }

  RequestTrace take() {
    if (trace_.requests.empty()) refuse("{} holds no request.", trace_.name);
    trace_.num_blocks = next_block_;
    return std::move(trace_);
  }

 private:
  void add(std::string_view text, std::int64_t line) {
    TraceRequest request = is_azure_ ? azure_request(text) : mooncake_request(text, line);
    if (!first_arrival_) first_arrival_ = request.arrival_us;
    request.arrival_us -= *first_arrival_;
    request.line = line;
    if (!trace_.requests.empty() && request.arrival_us < trace_.requests.back().arrival_us) {
      refuse("the request comes before the one above it; a trace goes forward in time.");
    }
    trace_.requests.push_back(std::move(request));
  }

  // Nothing is shared: each block is a new one.
  TraceRequest azure_request(std::string_view text) {
    TraceRequest request = parse_azure_line(text);
    for (std::int32_t block = 0; block < blocks_of_prompt(request.num_prompt_tokens); ++block) {
      request.blocks.push_back(new_block());
    }
    return request;
  }

  // A file's ids may be any numbers; ours are dense.
  TraceRequest mooncake_request(std::string_view text, std::int64_t line) {
    if (line == 1 && text.front() != '{') {
      refuse("it is neither a JSON object, as in Mooncake's traces, nor Azure's header {}.",
             kAzureHeader);
    }
    MooncakeLine parsed = parse_mooncake_line(text);
    for (const std::int64_t id : parsed.hash_ids) {
      const auto [known, is_new] = block_of_id_.try_emplace(id, next_block_);
      if (is_new) new_block();
      parsed.request.blocks.push_back(known->second);
    }
    return std::move(parsed.request);
  }

  std::int32_t new_block() {
    require_enough_tokens(next_block_ + 1);
    return next_block_++;
  }

  RequestTrace trace_;
  bool is_azure_ = false;
  std::optional<double> first_arrival_;
  std::unordered_map<std::int64_t, std::int32_t> block_of_id_;
  std::int32_t next_block_ = 0;
};

}  // namespace

RequestTrace read_trace(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) {
    refuse("the trace {} cannot be read. Is the path right?", path.string());
  }
  TraceReader reader(path.string());
  reader.read(file);
  return reader.take();
}

std::vector<TokenId> prompt_tokens(const TraceRequest& request) {
  std::vector<TokenId> tokens(static_cast<std::size_t>(request.num_prompt_tokens));
  for (std::int32_t position = 0; position < request.num_prompt_tokens; ++position) {
    const std::int32_t block = request.blocks[position / kTokensPerTraceBlock];
    tokens[position] = block * kTokensPerTraceBlock + position % kTokensPerTraceBlock;
  }
  return tokens;
}

RequestTrace repeated(const RequestTrace& trace, std::int64_t num_copies) {
  require_in_range("the number of copies", num_copies, 1);
  require_enough_tokens(num_copies * trace.num_blocks);
  const auto num_requests = static_cast<double>(trace.requests.size());
  const double last_arrival_us = trace.requests.back().arrival_us;
  const double mean_gap_us = num_requests > 1 ? last_arrival_us / (num_requests - 1) : 0;
  RequestTrace all = trace;
  for (std::int64_t copy = 1; copy < num_copies; ++copy) {
    for (TraceRequest request : trace.requests) {
      request.arrival_us += static_cast<double>(copy) * (last_arrival_us + mean_gap_us);
      for (std::int32_t& block : request.blocks) {
        block += static_cast<std::int32_t>(copy) * trace.num_blocks;
      }
      all.requests.push_back(std::move(request));
    }
  }
  all.num_blocks = static_cast<std::int32_t>(num_copies) * trace.num_blocks;
  return all;
}

}  // namespace pagelab
