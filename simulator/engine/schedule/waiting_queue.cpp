#include "simulator/engine/schedule/waiting_queue.h"

#include <algorithm>
#include <tuple>

namespace pagelab {

bool goes_before(const Request& one, const Request& other) {
  return std::tie(one.priority, one.arrival_time, one.id) <
         std::tie(other.priority, other.arrival_time, other.id);
}

void WaitingQueue::insert_by_priority(Request& request) {
  const auto place = std::upper_bound(
      requests_.begin(), requests_.end(), &request,
      [](const Request* one, const Request* other) { return goes_before(*one, *other); });
  requests_.insert(place, &request);
}

void WaitingQueue::add(Request& request) {
  if (policy_ == SchedulingPolicy::kPriority) {
    insert_by_priority(request);
  } else {
    requests_.push_back(&request);
  }
}

void WaitingQueue::prepend(Request& request) {
  if (policy_ == SchedulingPolicy::kPriority) {
    insert_by_priority(request);
  } else {
    requests_.push_front(&request);
  }
}

void WaitingQueue::remove(const Request& request) {
  const auto place = std::find(requests_.begin(), requests_.end(), &request);
  if (place != requests_.end()) requests_.erase(place);
}

}  // namespace pagelab
