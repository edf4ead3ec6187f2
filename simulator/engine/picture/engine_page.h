/// \file
/// The page that walks through a run step by step: one file that needs nothing else, no network either. Its looks and
/// its code are engine_page.html and its neighbours; here the records are put into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "simulator/engine/picture/step_recorder.h"

namespace pagelab {

/// What the page says of the run as a whole.
struct EnginePage {
  std::string title;           ///< what was served
  std::string summary;         ///< in a line
  KVCacheConfig cache;         ///< its pool and its groups
  std::int64_t num_steps = 0;  ///< of the whole run
};

/// Writes the page.
/// \param page      about the run
/// \param recorder  its steps
/// \param path      is replaced if it exists
/// \throws Error    if it cannot be written, or no step was recorded
void write_engine_page(const EnginePage& page,
                       const StepRecorder& recorder,
                       const std::filesystem::path& path);

}  // namespace pagelab
