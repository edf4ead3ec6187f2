/// \file
/// Environment variables that would do nothing, and are said to.
#pragma once

namespace pagelab::cli {

/// Warns on stderr of each variable that looks like one of pagelab's and is none, with those that there
/// are, and of VLLM_ATTENTION_BACKEND. A misspelt variable would otherwise do nothing, in silence.
void warn_of_unread_variables();

}  // namespace pagelab::cli
