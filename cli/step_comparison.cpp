#include "cli/step_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "cli/targets.h"
#include "gpu/backends/catalog.h"
#include "reference/registry/reference_backends.h"
#include "reference/registry/step_question.h"

namespace pagelab::cli {
namespace {

/// The sum of two bounds: a result may be that far from an expected value that is itself rounded.
Tensor sum_of_bounds(const Tensor& a, const Tensor& b) {
  Tensor sum(DType::kFloat64, a.shape());
  for (std::int64_t index = 0; index < a.size(); ++index) {
    sum.data<double>()[index] = a.data<double>()[index] + b.data<double>()[index];
  }
  return sum;
}

std::string bits_column(const std::optional<bool>& same_bits) {
  if (!same_bits) return "-";
  return *same_bits ? "equal" : "DIFFER";
}

std::string cache_column(const Agreement& agreement) {
  if (!agreement.keys && !agreement.values) return "-";
  const bool exact = (!agreement.keys || agreement.keys->agrees()) &&
                     (!agreement.values || agreement.values->agrees());
  return exact ? "exact" : "DIFFERS";
}

std::string bound_column(const std::optional<Comparison>& comparison) {
  if (!comparison) return "-";
  const double percent = 100.0 * comparison->worst_share_of_bound;
  if (comparison->agrees()) return fmt::format("{:.2f} %", percent);
  // A NaN, or an element that must be exact and is not, has no share.
  return std::isinf(percent) ? "EXCEEDED" : fmt::format("{:.5g} %", percent);
}

/// Why vLLM's own backend of the name declines the step, if its rules count; else empty.
std::string refusal_by_rules(const AttentionStep& step,
                             const std::string& name,
                             const std::string& target,
                             const RuleOptions& rules) {
  const std::optional<DeviceCapability> capability = capability_as_vllm(rules, target);
  if (!capability || !is_known_to_vllm(name)) return "";
  SelectionQuestion question = question_of_step(step);
  question.capability = *capability;
  return refusal_as_vllm(name, question);
}

}  // namespace

bool Agreement::holds() const {
  const std::array<const std::optional<Comparison>*, 4> parts = {&output, &lse, &keys, &values};
  return std::all_of(parts.begin(), parts.end(), [](const std::optional<Comparison>* part) {
    return !part->has_value() || (*part)->agrees();
  });
}

std::string to_string(const Agreement& agreement) {
  std::string text;
  const auto add_line = [&text](const char* part, const std::optional<Comparison>& comparison) {
    if (comparison) text += fmt::format("  {:<12} {}\n", part, to_string(*comparison));
  };
  add_line("output", agreement.output);
  add_line("lse", agreement.lse);
  add_line("key cache", agreement.keys);
  add_line("value cache", agreement.values);
  return text;
}

nlohmann::ordered_json to_json(const Agreement& agreement) {
  nlohmann::ordered_json document;
  document["holds"] = agreement.holds();
  if (agreement.output) {
    document["output_share_of_bound"] = agreement.output->worst_share_of_bound;
    document["output_mismatches"] = agreement.output->mismatches;
  }
  if (agreement.lse) {
    document["lse_share_of_bound"] = agreement.lse->worst_share_of_bound;
    document["lse_mismatches"] = agreement.lse->mismatches;
  }
  if (agreement.keys) document["key_cache_mismatches"] = agreement.keys->mismatches;
  if (agreement.values) document["value_cache_mismatches"] = agreement.values->mismatches;
  return document;
}

std::string notes_of(const StepFolder& folder) {
  std::string lines;
  for (const std::string& note : folder.notes) lines += fmt::format("note: {}\n", note);
  return lines;
}

bool has_expected_values(const ExpectedResult& expected) {
  return expected.output || expected.lse || expected.key_cache || expected.value_cache;
}

Agreement agreement_with(const AttentionStep& step,
                         const AttentionBackend& backend,
                         const AttentionResult& result,
                         const ExpectedResult& expected) {
  // The bound belongs to the inputs that attention reads: the cache after the write.
  AttentionStep after_write = step;
  after_write.cache = result.cache;
  return agreement_within(step, error_bound(after_write, backend), result, expected);
}

Agreement agreement_within(const AttentionStep& step,
                           const ErrorBound& own,
                           const AttentionResult& result,
                           const ExpectedResult& expected) {
  AttentionStep after_write = step;
  after_write.cache = result.cache;
  // Expected values are float64, and rounded too: twice at most what the double reference may err.
  const ErrorBound expected_error = error_bound(after_write, Precision::canonical_double());

  Agreement agreement;
  if (expected.output) {
    agreement.output = compare_within(convert(result.output, DType::kFloat64), *expected.output,
                                      sum_of_bounds(own.output, expected_error.output));
  }
  if (expected.lse) {
    agreement.lse = compare_within(convert(result.lse, DType::kFloat64), *expected.lse,
                                   sum_of_bounds(own.lse, expected_error.lse));
  }
  if (expected.key_cache) agreement.keys = compare_bits(result.cache.keys(), *expected.key_cache);
  if (expected.value_cache) {
    agreement.values = compare_bits(result.cache.values(), *expected.value_cache);
  }
  return agreement;
}

ExpectedResult as_expected(const AttentionResult& reference_result) {
  return {reference_result.output, reference_result.lse, reference_result.cache.keys(),
          reference_result.cache.values()};
}

std::vector<ComparedBackend> compare_on_every_backend(const AttentionStep& step,
                                                      const ExpectedResult& expected,
                                                      const RuleOptions& rules) {
  const AttentionResult in_float = attend(step, *make_reference_float_backend());
  const bool reference_is_the_yardstick = !has_expected_values(expected);
  const ExpectedResult wanted =
      reference_is_the_yardstick ? as_expected(attend(step, *make_reference_backend())) : expected;

  std::vector<ComparedBackend> rows;
  for (const BackendChoice& choice : all_backends()) {
    for (const std::string& target : choice.targets) {
      if (!target_is_available(target)) continue;
      ComparedBackend row{choice.name, target, {}, {}, {}};
      row.refusal = refusal_by_rules(step, choice.name, target, rules);
      if (!row.refusal.empty()) {
        rows.push_back(std::move(row));
        continue;
      }
      // REFERENCE beside its own result would agree by definition, and has run already.
      if (reference_is_the_yardstick && choice.name == "REFERENCE") {
        rows.push_back(std::move(row));
        continue;
      }
      try {
        const std::unique_ptr<AttentionBackend> backend = choice.make(target);
        std::optional<AttentionResult> own;
        const AttentionResult& result =
            choice.name == "REFERENCE_FLOAT" ? in_float : own.emplace(attend(step, *backend));
        row.agreement = agreement_with(step, *backend, result, wanted);
        if (result.output.dtype() == DType::kFloat32 && !backend->has_own_order()) {
          row.same_bits =
              identical(result.output, in_float.output) && identical(result.lse, in_float.lse);
        }
      } catch (const Error& error) {
        row.refusal = error.what();
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::string to_table(const std::vector<ComparedBackend>& rows) {
  std::string text =
      fmt::format("{:<16} {:<10} {:>13} {:>13} {:>8} {:>9}  {}\n", "backend", "target",
                  "output: bound", "lse: bound", "cache", "bits", "agrees");
  for (const ComparedBackend& row : rows) {
    if (!row.agreement && row.refusal.empty()) {
      text +=
          fmt::format("{:<16} {:<10} what the others are compared with\n", row.backend, row.target);
      continue;
    }
    if (!row.agreement) {
      text += fmt::format("{:<16} {:<10} {}\n", row.backend, row.target, row.refusal);
      continue;
    }
    const Agreement& agreement = *row.agreement;
    text += fmt::format("{:<16} {:<10} {:>13} {:>13} {:>8} {:>9}  {}\n", row.backend, row.target,
                        bound_column(agreement.output), bound_column(agreement.lse),
                        cache_column(agreement), bits_column(row.same_bits),
                        agreement.holds() ? "yes" : "NO");
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<ComparedBackend>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ComparedBackend& row : rows) {
    nlohmann::ordered_json entry;
    entry["backend"] = row.backend;
    entry["target"] = row.target;
    if (!row.refusal.empty()) entry["refusal"] = row.refusal;
    if (row.agreement) entry["agreement"] = to_json(*row.agreement);
    if (row.same_bits) entry["same_bits_as_REFERENCE_FLOAT"] = *row.same_bits;
    list.push_back(entry);
  }
  return list;
}

std::string printable(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool any_disagrees(const std::vector<ComparedBackend>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const ComparedBackend& row) {
    const bool values_disagree = row.agreement && !row.agreement->holds();
    const bool bits_disagree = row.same_bits && !*row.same_bits;
    return values_disagree || bits_disagree;
  });
}

}  // namespace pagelab::cli
