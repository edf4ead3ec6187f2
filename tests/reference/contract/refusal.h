/// \file
/// What validate says about a valid step in which one thing was changed.
#pragma once

#include <string>

#include "reference/contract/validate.h"
#include "tests/reference/contract/plain_step.h"

namespace pagelab::test {

/// The sentence in which validate refuses the plain step after this change; "" if it does not.
/// \param change  callable that changes one thing in an AttentionStep
template <typename Change>
std::string refusal_after(const Change& change, StepUse use = StepUse::kStoreAndAttend) {
  AttentionStep step = plain_step();
  change(step);
  try {
    validate(step, use);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace pagelab::test
