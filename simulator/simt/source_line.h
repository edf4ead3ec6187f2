/// \file
/// From an address of the running program's code to the line of source it was compiled from.
#pragma once

#include <string>

namespace pagelab::simt {

/// "1_naive.cuh:88": file, without its folder, and line; of a function that was inlined, the line
/// within it, unless the function is the simulator's own. Empty if it is not known: the program has no
/// debugging information, or the machine has no addr2line (binutils), which is what is asked. Answers
/// are kept.
/// \param pc  a return address; the call before it is meant
std::string source_line_of(const void* pc);

/// " at 1_naive.cuh:88", the end of a sentence; empty where the line is not known.
std::string at_line(const void* pc);

}  // namespace pagelab::simt
