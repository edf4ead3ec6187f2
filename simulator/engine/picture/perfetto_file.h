/// \file
/// A served trace as a file for the viewers of Chrome traces (ui.perfetto.dev, chrome://tracing): what the CPU and the
/// GPU did in each step, how full the pool was, and where each request's time went.
/// \source docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, "Trace Event Format"
#pragma once

#include <filesystem>

#include "simulator/engine/serve/serve_trace.h"

namespace pagelab {

/// Writes the file. Times are microseconds.
/// \param served  the trace
/// \param path    is replaced if it exists
/// \throws Error  if it cannot be written
void write_perfetto_file(const ServedTrace& served, const std::filesystem::path& path);

}  // namespace pagelab
