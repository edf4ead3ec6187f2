#include "tests/reference/registry/mutations.h"

#include <algorithm>
#include <utility>

#include "reference/registry/gpu_names.h"
#include "reference/registry/kv_cache_dtypes.h"
#include "tests/reference/registry/flags_of_rows.h"

namespace pagelab::test {
namespace {

class Mutations {
 public:
  explicit Mutations(const BackendFacts& facts) : facts_(facts) {}

  template <typename Change>
  void add(const std::string& what, const Change& change) {
    Mutation mutation{what, facts_};
    change(mutation.facts);
    mutations_.push_back(std::move(mutation));
  }

  // Without each element of a list, and with each one that it lacks.
  template <typename Element, typename Name>
  void change_list(const std::string& what,
                   std::vector<Element> BackendFacts::*list,
                   const std::vector<Element>& all,
                   const Name& name) {
    for (const Element& element : all) {
      const std::vector<Element>& held = facts_.*list;
      const bool is_held = std::find(held.begin(), held.end(), element) != held.end();
      add(what + (is_held ? " without " : " with ") + name(element), [&](BackendFacts& facts) {
        if (is_held) {
          std::erase(facts.*list, element);
        } else {
          (facts.*list).push_back(element);
        }
      });
    }
  }

  std::vector<Mutation> take() { return std::move(mutations_); }
  const BackendFacts& facts() const { return facts_; }

 private:
  const BackendFacts& facts_;
  std::vector<Mutation> mutations_;
};

// A constant flag is turned over; a rule is replaced by each of its two answers.
void change_flags(Mutations& mutations) {
  const SelectionQuestion any;
  for (const NamedFlag& flag : kFlagsOfRows) {
    const Fact<bool>& fact = mutations.facts().*flag.member;
    for (const bool value : {false, true}) {
      if (!fact.depends_on_question() && fact(any) == value) continue;
      mutations.add(std::string(flag.name) + " = " + (value ? "true" : "false"),
                    [&](BackendFacts& facts) { facts.*flag.member = Fact<bool>(value); });
    }
  }
}

void change_types(Mutations& mutations) {
  const auto as_text = [](std::string_view name) { return std::string(name); };
  mutations.change_list<std::string_view>("dtypes", &BackendFacts::dtypes,
                                          {"float16", "bfloat16", "float32"}, as_text);
  mutations.change_list<std::string_view>("kv_cache_dtypes", &BackendFacts::kv_cache_dtypes,
                                          kv_cache_dtype_names(), as_text);
  mutations.change_list<AttentionType>(
      "attn_types", &BackendFacts::attn_types,
      {AttentionType::kDecoder, AttentionType::kEncoder, AttentionType::kEncoderOnly,
       AttentionType::kEncoderDecoder},
      [](AttentionType type) { return to_string(type); });
  mutations.add("needs_kv_cache_dtype turned over", [](BackendFacts& facts) {
    facts.needs_kv_cache_dtype = !facts.needs_kv_cache_dtype;
  });
  if (mutations.facts().kv_cache_dtype_rule != nullptr) {
    mutations.add("no kv_cache_dtype_rule",
                  [](BackendFacts& facts) { facts.kv_cache_dtype_rule = nullptr; });
  }
}

// The sizes on Hopper and on data-centre Blackwell, changed; so a rule becomes a constant.
void change_block_sizes(Mutations& mutations) {
  SelectionQuestion question;
  question.capability = {9, 0};
  const KernelBlockSizes sizes = mutations.facts().kernel_block_sizes(question);
  if (mutations.facts().kernel_block_sizes.depends_on_question()) {
    mutations.add("kernel_block_sizes as on 9.0 everywhere",
                  [&](BackendFacts& facts) { facts.kernel_block_sizes = sizes; });
  }
  for (std::size_t size_idx = 0; size_idx < sizes.size(); ++size_idx) {
    const std::string name = std::to_string(sizes[size_idx].size);
    KernelBlockSizes without = sizes;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(size_idx));
    mutations.add("kernel_block_sizes without " + name,
                  [&](BackendFacts& facts) { facts.kernel_block_sizes = without; });
    KernelBlockSizes doubled = sizes;
    doubled[size_idx].size *= 2;
    mutations.add("kernel_block_sizes with twice " + name,
                  [&](BackendFacts& facts) { facts.kernel_block_sizes = doubled; });
  }
  mutations.add("exact_block_size turned over",
                [](BackendFacts& facts) { facts.exact_block_size = !facts.exact_block_size; });
}

void change_head_sizes(Mutations& mutations) {
  SelectionQuestion question;
  question.capability = {9, 0};
  const HeadSizes sizes = mutations.facts().head_sizes(question);
  const auto add = [&](const std::string& what, const HeadSizes& changed) {
    mutations.add("head_sizes " + what, [&](BackendFacts& facts) { facts.head_sizes = changed; });
  };
  if (mutations.facts().head_sizes.depends_on_question()) add("as on 9.0 everywhere", sizes);
  for (std::size_t size_idx = 0; size_idx < sizes.listed.size(); ++size_idx) {
    HeadSizes changed = sizes;
    changed.listed.erase(changed.listed.begin() + static_cast<std::ptrdiff_t>(size_idx));
    // A list without elements would mean a range.
    if (changed.listed.empty()) changed.listed = {-1};
    add("without " + std::to_string(sizes.listed[size_idx]), changed);
  }
  if (!sizes.listed.empty()) return;
  HeadSizes changed = sizes;
  changed.multiple_of *= 2;
  add("multiples of twice as much", changed);
  changed = sizes;
  changed.most = 255;
  add("up to 255", changed);
  changed = sizes;
  changed.most *= changed.most < 100000 ? 2 : 1;
  if (changed.most != sizes.most) add("up to twice as much", changed);
  changed = sizes;
  changed.least = std::max<std::int64_t>(64, 2 * sizes.least);
  add("from 64 or twice as much", changed);
}

void change_capabilities(Mutations& mutations) {
  const std::vector<CapabilityRange>& ranges = mutations.facts().capabilities;
  const std::vector<DeviceCapability> generations = {{7, 5},  {8, 0},  {9, 0},
                                                     {10, 0}, {11, 0}, {12, 0}};
  for (const DeviceCapability generation : generations) {
    SelectionQuestion question;
    question.capability = generation;
    BackendFacts own = mutations.facts();
    own.children.clear();
    const bool is_in = supports_compute_capability(own, question);
    const CapabilityRange whole = {{generation.major, 0}, {generation.major, 99}};
    if (!is_in) {
      mutations.add("capabilities with " + std::to_string(generation.major) + ".x",
                    [&](BackendFacts& facts) { facts.capabilities.push_back(whole); });
      continue;
    }
    mutations.add("capabilities without " + std::to_string(generation.major) + ".x",
                  [&](BackendFacts& facts) {
                    facts.capabilities.clear();
                    for (const CapabilityRange& range : ranges) {
                      if (range.least < whole.least) {
                        facts.capabilities.push_back(
                            {range.least, std::min(range.most, {generation.major - 1, 99})});
                      }
                      if (range.most > whole.most) {
                        facts.capabilities.push_back(
                            {std::max(range.least, {generation.major + 1, 0}), range.most});
                      }
                    }
                  });
  }
}

void change_the_rest(Mutations& mutations) {
  const std::vector<const BackendFacts*>& children = mutations.facts().children;
  for (std::size_t child_idx = 0; child_idx < children.size(); ++child_idx) {
    mutations.add(
        "without the child " + std::string(children[child_idx]->name), [&](BackendFacts& facts) {
          facts.children.erase(facts.children.begin() + static_cast<std::ptrdiff_t>(child_idx));
        });
  }
  if (mutations.facts().supports_combination != nullptr) {
    mutations.add("no combination rule",
                  [](BackendFacts& facts) { facts.supports_combination = nullptr; });
  }
  if (mutations.facts().reason_after_all != nullptr) {
    mutations.add("no reason after all",
                  [](BackendFacts& facts) { facts.reason_after_all = nullptr; });
  }
  mutations.add("another package", [](BackendFacts& facts) { facts.package = "another"; });
}

// The reason that is left out, and the rule that gives it otherwise.
CombinationRule rule_in_use = nullptr;
std::string reason_left_out;

std::optional<std::string> rule_without_one_reason(const SelectionQuestion& question) {
  const std::optional<std::string> reason = rule_in_use(question);
  const bool is_left_out = reason && reason->starts_with(reason_left_out);
  return is_left_out ? std::nullopt : reason;
}

}  // namespace

std::vector<Mutation> mutations_of(const BackendFacts& facts) {
  Mutations mutations(facts);
  change_flags(mutations);
  change_types(mutations);
  change_block_sizes(mutations);
  change_head_sizes(mutations);
  change_capabilities(mutations);
  change_the_rest(mutations);
  return mutations.take();
}

Mutation without_combination_reason(const BackendFacts& facts, const std::string& beginning) {
  rule_in_use = facts.supports_combination;
  reason_left_out = beginning;
  Mutation mutation{"without the reason '" + beginning + "'", facts};
  mutation.facts.supports_combination = rule_without_one_reason;
  return mutation;
}

}  // namespace pagelab::test
