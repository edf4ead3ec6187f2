/// \file
/// The choice of a backend for one layer under CUDA. Pure: the same question has the same answer, and
/// nothing is remembered.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/registry/registration.h"
#include "reference/registry/selection_question.h"

namespace pagelab {

/// A candidate that was declined.
struct DeclinedBackend {
  std::string name;                  ///< the member
  std::vector<std::string> reasons;  ///< all of them, in vLLM's order
};

/// The exception that vLLM raises.
struct SelectionError {
  std::string kind;     ///< "ValueError", ...
  std::string message;  ///< its text
};

/// An answer: what was chosen, from what, and what is logged or raised.
struct Selection {
  std::optional<std::string> selected = {};   ///< the member; none: see `error`
  const BackendFacts* facts = nullptr;        ///< the row behind it; the registry must outlive it
  std::vector<std::string> candidates = {};   ///< who was asked, the preferred one first
  std::vector<std::string> valid = {};        ///< valid candidates, the preferred one first
  std::vector<DeclinedBackend> invalid = {};  ///< the others, in order of preference
  std::optional<SelectionError> error = {};   ///< what is raised
  std::optional<std::string> warning = {};    ///< logged before `info`
  std::optional<std::string> info = {};       ///< logged
  std::optional<std::string> debug = {};      ///< logged with VLLM_LOGGING_LEVEL=DEBUG
};

/// Chooses a backend.
/// \param question  the layer's record, the GPU and what is installed
/// \param forced    the member that the user asks for, if any; only that one is asked then
/// \param registry  the members, and what was registered
/// \returns         the choice; a refusal is part of it, not thrown
/// \throws RaisedError  if `forced` is not a member
/// \source vLLM platforms/cuda.py, get_attn_backend_cls
Selection select_attention_backend(const SelectionQuestion& question,
                                   const std::optional<std::string>& forced,
                                   const BackendRegistry& registry);

/// The automatic choice among candidates in another order than backend_priorities gives.
/// \param question    the layer's record, the GPU and what is installed
/// \param candidates  the preferred one first
/// \param registry    the members, and what was registered
Selection select_among(const SelectionQuestion& question,
                       const std::vector<std::string_view>& candidates,
                       const BackendRegistry& registry);

/// What an MLA layer calls its cache dtype once its backend is chosen: two of them keep their own
/// format.
/// \param selected        the member chosen
/// \param kv_cache_dtype  as asked for
/// \source vLLM model_executor/layers/attention/mla_attention.py
std::optional<std::string> kv_cache_dtype_after_selection(
    const std::string& selected, const std::optional<std::string>& kv_cache_dtype);

}  // namespace pagelab
