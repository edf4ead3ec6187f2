/// \file
/// What would have to change for a declined backend: each reason is tried against every single change,
/// so what stands here is what the rules themselves answer.
#pragma once

#include <string>
#include <vector>

#include "reference/registry/backend_facts.h"

namespace pagelab {

/// A change that removes a reason, alone.
struct Remedy {
  std::string what;                 ///< "a GPU of", "--kv-cache-dtype", "no attention sinks"
  std::vector<std::string> values;  ///< any of these; none: `what` says it all
};

/// The single changes that remove a reason.
/// \param facts     the row that declined
/// \param question  the question
/// \param reason    one of validate_configuration(facts, question)
/// \returns         in order: cache dtype, block size, dtype, GPU, head size, flags; empty: no single
///                  change does
std::vector<Remedy> remedies_for(const BackendFacts& facts,
                                 const SelectionQuestion& question,
                                 const std::string& reason);

/// The fewest changes that together leave no reason at all.
/// \param facts     the row that declined
/// \param question  the question
/// \returns         one to three changes, each with one value, the first such set in the order above; empty: no
///                  three changes do
std::vector<Remedy> joint_remedy_for(const BackendFacts& facts, const SelectionQuestion& question);

/// "--kv-cache-dtype auto or float16; a GPU of 9.0": any of these.
std::string to_string(const std::vector<Remedy>& remedies);
/// The same with other words between the changes: " and ".
std::string to_string(const std::vector<Remedy>& remedies, const std::string& separator);

}  // namespace pagelab
