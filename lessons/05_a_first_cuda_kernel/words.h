/// \file
/// What may stand behind `./pagelab lesson 5`.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "gpu/runtime/device.h"
#include "lessons/05_a_first_cuda_kernel/faults.h"
#include "reference/contract/suggestion.h"

namespace pagelab::lesson_05 {

/// Whether these are not words that the example takes, or one that this machine cannot do. Then
/// stderr says so.
/// \param words  none, or cuda, or the name of a fault
inline bool is_refused(const std::vector<std::string>& words) {
  const auto refuse = [](const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    return true;
  };
  if (words.empty()) return false;
  if (words.size() > 1)
    return refuse("This lesson takes one word, so " + words[1] + " is too much.");

  std::vector<std::string> allowed = {"cuda"};
  std::string names = "cuda";
  for (const Fault& fault : on_checked_simulator::faults()) {
    allowed.push_back(fault.name);
    names += std::string(", ") + fault.name;
  }
  for (const std::string& word : allowed) {
    if (word != words[0]) continue;
    std::string why_not;
    if (word != "cuda" || cuda_is_available(&why_not)) return false;
    return refuse("target cuda is not available: " + why_not + ".");
  }
  return refuse("There is no fault " + words[0] + did_you_mean(words[0], allowed) +
                "; the words that this lesson takes are " + names + ".");
}

}  // namespace pagelab::lesson_05
