#include "simulator/engine/request.h"

#include <fmt/format.h>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {

std::string_view to_string(RequestStatus status) {
  switch (status) {
    case RequestStatus::kWaiting:
      return "waiting";
    case RequestStatus::kRunning:
      return "running";
    case RequestStatus::kPreempted:
      return "preempted";
    case RequestStatus::kFinished:
      return "finished";
  }
  return "unknown";
}

std::string extra_key_text(const CacheIdentity& identity, std::int32_t start, std::int32_t end) {
  // Each part is preceded by its length, so that no two identities give one text.
  std::string text;
  const auto add = [&text](char what, std::string_view part) {
    text += fmt::format("{}{}:{}", what, part.size(), part);
  };
  if (!identity.lora_name.empty()) {
    add('l', identity.lora_name);
    add('p', identity.lora_path);
  }
  for (const MultiModalItem& item : identity.items) {
    const bool overlaps = item.offset < end && item.offset + item.length > start;
    if (!overlaps) continue;
    add('m', item.identifier);
    text += fmt::format("@{}", item.offset - start);
  }
  if (start == 0 && !identity.cache_salt.empty()) add('s', identity.cache_salt);
  return text;
}

Request::Request(RequestId id, std::vector<TokenId> prompt, std::int32_t max_tokens)
    : id(id),
      tokens(std::move(prompt)),
      num_prompt_tokens(static_cast<std::int32_t>(tokens.size())),
      max_tokens(max_tokens) {
  if (tokens.empty()) refuse("request {} has an empty prompt; it needs at least one token.", id);
  // So that no sum of two of them overflows.
  if (tokens.size() > kMostTokens) {
    refuse("request {} has a prompt of {} tokens; it may have at most {}.", id, tokens.size(),
           kMostTokens);
  }
  if (max_tokens < 1 || max_tokens > kMostTokens) {
    refuse("request {} has max_tokens {}; it must be from 1 to {}.", id, max_tokens, kMostTokens);
  }
}

std::string to_string(const Request& request) {
  std::string text = fmt::format("request {}, {}: {} of {} tokens computed, {} of them prompt",
                                 request.id, to_string(request.status), request.num_computed_tokens,
                                 request.num_tokens(), request.num_prompt_tokens);
  for (const GroupBlocks& group : request.groups) {
    text += fmt::format("{} [{}]", &group == request.groups.data() ? "; blocks" : "",
                        fmt::join(group.blocks, " "));
  }
  return text;
}

void update_block_hashes(Request& request, std::int32_t block_size, PrefixTable& prefixes) {
  const CacheIdentity& identity = request.identity;
  const bool tokens_alone_decide =
      identity.lora_name.empty() && identity.cache_salt.empty() && identity.items.empty();
  std::vector<PrefixId>& hashes = request.block_hashes;
  while ((static_cast<std::int32_t>(hashes.size()) + 1) * block_size <= request.num_tokens()) {
    const auto start = static_cast<std::int32_t>(hashes.size()) * block_size;
    BlockContent content;
    content.parent = hashes.empty() ? kNoPrefix : hashes.back();
    content.tokens = std::span(request.tokens).subspan(start, block_size);
    content.extra_key =
        tokens_alone_decide
            ? kNoExtraKey
            : prefixes.extra_key_of(extra_key_text(identity, start, start + block_size));
    hashes.push_back(prefixes.prefix_of(content));
  }
}

}  // namespace pagelab
