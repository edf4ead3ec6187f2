/// \file
/// A trace: which requests came to a real service, when, and how long they were. Two public formats are read:
///
///     Mooncake  {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, …]}
///     Azure     2023-11-16 18:17:03.9799600,4808,10
///
/// No text is in them. Mooncake's hash_ids name the blocks of 512 tokens that a prompt is made of: two prompts that
/// begin with the same ids begin with the same tokens. Azure's prompts share nothing that we know of.
/// \source github.com/kvcache-ai/Mooncake, FAST25-release/traces; github.com/Azure/AzurePublicDataset
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/engine/cache/prefix_table.h"

namespace pagelab {

/// Tokens that one of a trace's ids stands for; the last one of a prompt may stand for fewer.
inline constexpr std::int32_t kTokensPerTraceBlock = 512;

/// What a simulated model answers, always. No prompt contains it.
inline constexpr TokenId kAnyOutputToken = 0x7fffffff;

/// One request of a trace.
struct TraceRequest {
  double arrival_us = 0;               ///< since the trace's first request
  std::int32_t num_prompt_tokens = 0;  ///< at least 1
  std::int32_t num_output_tokens = 0;  ///< at least 1
  std::vector<std::int32_t> blocks;    ///< [prompt / kTokensPerTraceBlock, rounded up] 0, 1, 2, …
  std::int64_t line = 0;               ///< of the file
};

/// A trace in the order of arrival.
struct RequestTrace {
  std::string name;                    ///< of the file
  std::vector<TraceRequest> requests;  ///< at least one
  std::int32_t num_blocks = 0;         ///< different blocks in it: their numbers are smaller
};

/// Reads a trace; the first line tells the format.
/// \throws Error  naming file, line and what is wrong with it
RequestTrace read_trace(const std::filesystem::path& path);

/// One request of a Mooncake trace, without its blocks' numbers.
struct MooncakeLine {
  TraceRequest request;                ///< its arrival_us is the timestamp, in microseconds
  std::vector<std::int64_t> hash_ids;  ///< as in the file
};

/// Reads a line of a Mooncake trace.
/// \throws Error  saying what is wrong with it
MooncakeLine parse_mooncake_line(std::string_view text);

/// Reads a line of an Azure trace, without blocks; its arrival_us is the time since 1970.
/// \throws Error  saying what is wrong with it
TraceRequest parse_azure_line(std::string_view text);

/// The tokens of a prompt. Equal blocks have equal tokens, and different blocks have no token in common.
std::vector<TokenId> prompt_tokens(const TraceRequest& request);

/// A trace that is followed by copies of itself. Each begins one mean gap after the one before has ended, and shares
/// nothing with it.
/// \param trace       to be repeated
/// \param num_copies  in all, at least 1
/// \throws Error      if there are more blocks than tokens to tell them apart
RequestTrace repeated(const RequestTrace& trace, std::int64_t num_copies);

}  // namespace pagelab
