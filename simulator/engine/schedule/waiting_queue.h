/// \file
/// The queue of requests that wait to be admitted.
#pragma once

#include <deque>

#include "simulator/engine/request.h"
#include "simulator/engine/schedule/scheduler_config.h"

namespace pagelab {

/// Whether a request goes before another under the policy kPriority.
bool goes_before(const Request& one, const Request& other);

/// Waiting requests in the order in which they are admitted.
/// \source vLLM v1/core/sched/request_queue.py
/// Differs: with priorities a sorted list stands in place of the heap; the order is the same.
class WaitingQueue {
 public:
  /// An empty queue. \param policy  the order
  explicit WaitingQueue(SchedulingPolicy policy) : policy_(policy) {}

  /// How many wait.
  std::int32_t size() const { return static_cast<std::int32_t>(requests_.size()); }
  /// Whether nobody waits.
  bool empty() const { return requests_.empty(); }
  /// The next to be admitted; the queue must not be empty.
  Request& front() const { return *requests_.front(); }
  /// Removes the front.
  void pop_front() { requests_.pop_front(); }

  /// Adds a request behind all others, or where its priority puts it.
  void add(Request& request);
  /// Adds a request in front of all others, or where its priority puts it.
  void prepend(Request& request);
  /// Removes a request, wherever it is.
  void remove(const Request& request);

 private:
  void insert_by_priority(Request& request);

  SchedulingPolicy policy_;
  std::deque<Request*> requests_;
};

}  // namespace pagelab
