#include "simulator/engine/step/batch_reorder.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

std::vector<std::int64_t> places(std::size_t num_reqs) {
  std::vector<std::int64_t> ascending(num_reqs);
  std::iota(ascending.begin(), ascending.end(), 0);
  return ascending;
}

std::vector<RequestKind> kinds_of(const std::vector<ScheduledRequest>& requests,
                                  std::int64_t decode_threshold) {
  std::vector<RequestKind> kinds;
  for (const ScheduledRequest& request : requests) {
    kinds.push_back(request_kind(request, decode_threshold));
  }
  return kinds;
}

}  // namespace

RequestKind request_kind(const ScheduledRequest& request, std::int64_t decode_threshold) {
  if (request.num_computed_tokens == 0) return RequestKind::kPrefill;
  if (request.num_scheduled_tokens > decode_threshold) return RequestKind::kLongExtend;
  return request.is_prefilling() ? RequestKind::kShortExtend : RequestKind::kDecode;
}

BatchReorder reorder_batch_to_split_decodes_and_prefills(
    const std::vector<ScheduledRequest>& requests, std::int64_t decode_threshold) {
  require_sound(requests);
  require_in_range("decode_threshold", decode_threshold, 1);
  // Step 1: the kinds as they stand, and as they shall stand.
  const std::vector<RequestKind> kinds = kinds_of(requests, decode_threshold);
  std::vector<RequestKind> wanted = kinds;
  std::sort(wanted.begin(), wanted.end());

  // Step 2: the places where another kind belongs, and who goes there: the requests that stand at those places, by
  // kind.
  std::vector<std::int64_t> misplaced;
  for (std::size_t place = 0; place < kinds.size(); ++place) {
    if (kinds[place] != wanted[place]) misplaced.push_back(static_cast<std::int64_t>(place));
  }
  std::vector<std::int64_t> movers = misplaced;
  std::stable_sort(movers.begin(), movers.end(), [&kinds](std::int64_t left, std::int64_t right) {
    return kinds[static_cast<std::size_t>(left)] < kinds[static_cast<std::size_t>(right)];
  });
  std::vector<std::int64_t> goes_to = places(kinds.size());
  for (std::size_t index = 0; index < movers.size(); ++index) {
    goes_to[static_cast<std::size_t>(movers[index])] = misplaced[index];
  }

  // Step 3: along each cycle. What stands at the source goes where it belongs, and what stood there takes its place
  // at the source, until the request at the source belongs there.
  BatchReorder result = {!misplaced.empty(), places(kinds.size()), {}};
  for (const std::int64_t source : movers) {
    std::int64_t destination = goes_to[static_cast<std::size_t>(source)];
    while (destination != source) {
      result.swaps.emplace_back(source, destination);
      std::swap(result.order[static_cast<std::size_t>(source)],
                result.order[static_cast<std::size_t>(destination)]);
      destination = std::exchange(goes_to[static_cast<std::size_t>(destination)], destination);
    }
  }
  return result;
}

std::vector<std::int64_t> sorted_batch(const std::vector<ScheduledRequest>& requests,
                                       std::int64_t decode_query_len) {
  require_sound(requests);
  require_in_range("decode_query_len", decode_query_len, 1);
  const auto key = [&](std::int64_t req_idx) {
    const ScheduledRequest& request = requests[static_cast<std::size_t>(req_idx)];
    const bool no_drafts = request.num_draft_tokens == 0;
    const bool no_decode = request.num_scheduled_tokens != decode_query_len;
    return std::make_tuple(no_drafts, no_decode, request.num_scheduled_tokens);
  };
  std::vector<std::int64_t> order = places(requests.size());
  std::stable_sort(order.begin(), order.end(), [&key](std::int64_t left, std::int64_t right) {
    return key(left) < key(right);
  });
  return order;
}

}  // namespace pagelab
