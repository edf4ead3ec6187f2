/// \file
/// What the checker does about an answer that does not come back: one that crashes, or runs for
/// ever. The process ends with status 1, after a report that names the task and the input.
#pragma once

#include <string>

namespace pagelab::lessons {

/// Seconds that one task may take; the checks themselves need milliseconds.
inline constexpr int kSecondsPerTask = 10;

/// From now on, a crash or a task that takes too long is reported instead of killing the check
/// without a word.
void watch_for_crashes();

/// Starts the clock of one task anew.
/// \param task  how the report names it
void watch_task(const std::string& task);

/// \param input  the input that is being judged, for the report
void watch_input(const std::string& input);

}  // namespace pagelab::lessons
