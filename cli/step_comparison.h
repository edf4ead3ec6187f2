/// \file
/// One attention step on several backends, and what agrees with what: the numbers behind
/// `pagelab attend`, `pagelab compare` and the last table of `pagelab demo`.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/targets.h"
#include "reference/contract/compare.h"
#include "reference/contract/step_folder.h"
#include "reference/registry/backend.h"

namespace pagelab::cli {

/// What a backend's result looks like beside an expected one. Parts of which nothing is expected are
/// absent.
struct Agreement {
  std::optional<Comparison> output;  ///< within the derived bound of the backend's precision
  std::optional<Comparison> lse;     ///< likewise
  std::optional<Comparison> keys;    ///< stored keys, exact
  std::optional<Comparison> values;  ///< stored values, exact
  /// Whether every part agrees.
  bool holds() const;
};

/// Compares a result with an expected one, each element within the bound that error_bound derives
/// for the backend's precision; cache contents exactly. \param step      the step that the backend
/// was given \param backend   names the precision \param result    what the backend returned \param
/// expected  float64 output and LSE, and the stored caches; absent parts are not compared,
///                  output and LSE must be present
Agreement agreement_with(const AttentionStep& step,
                         const AttentionBackend& backend,
                         const AttentionResult& result,
                         const ExpectedResult& expected);
/// The same with a bound of the caller's.
/// \param step      the step that the backend was given
/// \param own       how far the result may be from REFERENCE's
/// \param result    what the backend returned
/// \param expected  as above
Agreement agreement_within(const AttentionStep& step,
                           const ErrorBound& own,
                           const AttentionResult& result,
                           const ExpectedResult& expected);

/// A line a part: how much was compared, and how it went.
std::string to_string(const Agreement& agreement);
/// The same for machines.
nlohmann::ordered_json to_json(const Agreement& agreement);

/// What a folder's reader noted about its step, a line a note.
std::string notes_of(const StepFolder& folder);

/// Whether there is anything to compare with.
bool has_expected_values(const ExpectedResult& expected);

/// The result of REFERENCE, in the form of an expected one.
ExpectedResult as_expected(const AttentionResult& reference_result);

/// One row of the table of agreement.
struct ComparedBackend {
  std::string backend;  ///< name
  std::string target;   ///< where it ran
  std::string refusal;  ///< why it did not run; empty if it did
  std::optional<Agreement>
      agreement;  ///< with the expected values, if it ran and is not REFERENCE itself
  /// Output and LSE equal REFERENCE_FLOAT's; absent for float64 and where sums have an order of their own.
  std::optional<bool> same_bits;
};

/// Runs a step on every backend and target that this machine has.
/// \param step      valid for storing and attending
/// \param expected  what to compare with; REFERENCE's result where it holds nothing
/// \param rules     with as_vllm, a backend that vLLM has is refused where the real one declines the step
/// \throws Error    if the step is inconsistent, or the rules have no effect
std::vector<ComparedBackend> compare_on_every_backend(const AttentionStep& step,
                                                      const ExpectedResult& expected,
                                                      const RuleOptions& rules);

/// The table of agreement, a line a backend.
std::string to_table(const std::vector<ComparedBackend>& rows);

/// The same for machines.
nlohmann::ordered_json to_json(const std::vector<ComparedBackend>& rows);

/// A document as text; bytes that are not UTF-8 (in a path, say) are replaced.
std::string printable(const nlohmann::ordered_json& document);

/// Whether a backend that ran disagreed: in its values, or in the bits that it promises.
bool any_disagrees(const std::vector<ComparedBackend>& rows);

}  // namespace pagelab::cli
