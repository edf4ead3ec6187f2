// The catalogue against the facts that vLLM's own classes gave: each fact is computed from the row, or
// asked of its predicates, and compared.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "reference/registry/kv_cache_dtypes.h"
#include "tests/reference/registry/catalogue_json.h"
#include "tests/reference/registry/flags_of_rows.h"
#include "tests/reference/registry/json_predicates.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::string text_or_empty(const Json& value) {
  return value.is_null() ? "" : value.get<std::string>();
}

template <typename Element>
std::vector<Element> list_of(const Json& value) {
  return value.is_null() ? std::vector<Element>() : value.get<std::vector<Element>>();
}

std::vector<std::string> strings_of(const std::vector<std::string_view>& names) {
  return {names.begin(), names.end()};
}

std::string cudagraph_name(AttentionCGSupport support) {
  static const std::vector<std::string> kNames = {"NEVER", "UNIFORM_SINGLE_TOKEN_DECODE",
                                                  "UNIFORM_BATCH", "ALWAYS"};
  return kNames[static_cast<std::size_t>(support)];
}

// FLASH_ATTN's level follows the version: 3 on Hopper alone.
std::string cudagraph_expected(const Json& class_value, const SelectionQuestion& question) {
  if (class_value.is_null()) return "";
  if (class_value.is_string()) return class_value;
  return class_value.at(question.capability.major == 9 ? "then" : "else");
}

std::string printed_page(const Json& page) {
  std::string text;
  for (const Json& dim : page.at("dims")) {
    text += (dim.is_string() ? dim.get<std::string>() : dim.dump()) + " | ";
  }
  return text + page.at("C").get<std::string>();
}

std::string printed_page(const KvPage& page) {
  std::string text;
  for (const std::string_view dim : {page.blocks, page.heads, page.states, page.content}) {
    text += std::string(dim) + " | ";
  }
  return text + std::string(page.meaning);
}

}  // namespace

TEST_SUITE("catalogue") {
  TEST_CASE("the members and their classes are those of vLLM in its order") {
    CHECK(attention_backends().size() == 46);
    CHECK(mamba_attention_backends().size() == 6);
    REQUIRE(facts_of_vllm().at("backends").size() == 52);
    for (const auto& [row, facts] : rows_with_facts()) {
      CAPTURE(row->name);
      CHECK(row->name == facts->at("name").get<std::string>());
      CHECK(row->path.has_value() == !facts->at("path").is_null());
      CHECK(row->path.value_or("") == text_or_empty(facts->at("path")));
      CHECK(row->family == facts->at("family").get<std::string>());
      CHECK(row->description == facts->at("description").get<std::string>());
      CHECK(row->package == text_or_empty(facts->at("simulated_package")));
      CHECK(row->class_name == text_or_empty(facts->at("class")));
      CHECK(row->get_name == text_or_empty(facts->at("get_name")));
    }
  }

  TEST_CASE("every dtype and cache dtype is accepted where vLLM accepts it") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      CHECK(strings_of(row->dtypes) == facts->at("dtypes").get<std::vector<std::string>>());
      const Json& kv = facts->at("kv_cache_dtypes");
      CHECK(strings_of(row->kv_cache_dtypes) == kv.at("list").get<std::vector<std::string>>());
      for (const std::string& capability : swept_capabilities()) {
        CAPTURE(capability);
        SelectionQuestion question = question_at(capability);
        const auto is_accepted = [&](const Json& name) {
          return kv_cache_dtype_accepted(*facts, name, capability);
        };
        CHECK(supports_kv_cache_dtype(*row, question) == is_accepted(nullptr));
        for (const std::string_view name : kv_cache_dtype_names()) {
          CAPTURE(name);
          question.config.kv_cache_dtype = name;
          CHECK(supports_kv_cache_dtype(*row, question) == is_accepted(std::string(name)));
        }
      }
    }
  }

  TEST_CASE("every head size up to 1100 is accepted where vLLM accepts it") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      for (const std::string& capability : swept_capabilities()) {
        SelectionQuestion question = question_at(capability);
        for (std::int64_t head_size = 1; head_size <= kLargestSize; ++head_size) {
          question.config.head_size = head_size;
          const bool ours = supports_head_size(*row, question);
          if (ours != head_size_accepted(*facts, head_size, question.capability)) {
            FAIL_CHECK("head size " << head_size << " on " << capability);
          }
        }
      }
    }
  }

  TEST_CASE("every block size up to 1100 is accepted where vLLM accepts it") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      for (const std::string& capability : swept_capabilities()) {
        SelectionQuestion question = question_at(capability);
        const Json& kernel_blocks = kernel_blocks_at(*facts, question.capability);
        CHECK(row->kernel_block_sizes(question) == kernel_blocks_of(kernel_blocks));
        CHECK(supports_block_size(*row, question));
        for (std::int64_t block_size = 1; block_size <= kLargestSize; ++block_size) {
          question.config.block_size = block_size;
          if (supports_block_size(*row, question) !=
              block_size_accepted(*facts, kernel_blocks, block_size)) {
            FAIL_CHECK("block size " << block_size << " on " << capability);
          }
        }
      }
    }
  }

  TEST_CASE("an open block size becomes the one that vLLM prefers") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      for (const std::string& capability : swept_capabilities()) {
        Json preferred = facts->at("preferred_block_size");
        if (preferred.contains(capability)) preferred = preferred.at(capability);
        for (const auto& [wanted, expected] : preferred.items()) {
          CAPTURE(wanted);
          CHECK(preferred_block_size(*row, question_at(capability), std::stol(wanted)) ==
                expected.get<std::int64_t>());
        }
      }
    }
  }

  TEST_CASE("every feature is claimed on the GPUs where vLLM claims it") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      for (const std::string& capability : swept_capabilities()) {
        CAPTURE(capability);
        const SelectionQuestion question = question_at(capability);
        CHECK(supports_compute_capability(*row, question) ==
              capability_accepted(*facts, question.capability));
        for (const NamedFlag& flag : kFlagsOfRows) {
          CAPTURE(flag.name);
          CHECK((row->*flag.member)(question) == flag_at(facts->at(flag.name), capability));
        }
      }
    }
  }

  TEST_CASE("every kind of attention is served where vLLM serves it") {
    const std::vector<std::pair<std::string, AttentionType>> types = {
        {"decoder", AttentionType::kDecoder},
        {"encoder", AttentionType::kEncoder},
        {"encoder_only", AttentionType::kEncoderOnly},
        {"encoder_decoder", AttentionType::kEncoderDecoder}};
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      const std::vector<std::string> served = facts->at("attn_types");
      for (const auto& [name, type] : types) {
        SelectionQuestion question;
        question.config.attn_type = type;
        CHECK(supports_attn_type(*row, question) ==
              (std::count(served.begin(), served.end(), name) > 0));
      }
    }
  }

  TEST_CASE("graphs and thresholds and what is missing for an import are those of vLLM") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      CHECK(strings_of(row->missing_imports) ==
            facts->at("missing_imports").get<std::vector<std::string>>());
      const Json& graph = facts->at("cudagraph");
      CHECK(row->cudagraph_depends == text_or_empty(graph.at("depends")));
      for (const std::string& capability : swept_capabilities()) {
        const SelectionQuestion question = question_at(capability);
        const std::string level = row->cudagraph ? cudagraph_name((*row->cudagraph)(question)) : "";
        CHECK(level == cudagraph_expected(graph.at("class_value"), question));
      }
      const Json& threshold = facts->at("reorder_batch_threshold");
      const Json class_value = row->reorder_batch_threshold.class_value
                                   ? Json(*row->reorder_batch_threshold.class_value)
                                   : Json(nullptr);
      CHECK(class_value == threshold.at("class_value"));
      CHECK(row->reorder_batch_threshold.query_len_support ==
            text_or_empty(threshold.at("query_len_support")));
      CHECK(row->reorder_batch_threshold.in_constructor ==
            text_or_empty(threshold.value("in_constructor", Json(nullptr))));
    }
  }

  TEST_CASE("pages and layouts and what a decode returns are those of vLLM") {
    for (const auto& [row, facts] : classes_with_facts()) {
      CAPTURE(row->name);
      const Json& page = facts->at("kv_page");
      REQUIRE(row->kv_page.has_value() == !page.is_null());
      if (row->kv_page) CHECK(printed_page(*row->kv_page) == printed_page(page));
      const Json stride =
          page.is_null() ? Json("0") : Json(page.value("block_stride_multiple", "0"));
      CHECK(row->block_stride_multiple == std::stoi(stride.get<std::string>()));
      const Json& layouts = facts->at("kv_cache_layouts");
      CHECK(strings_of(row->kv_cache_layouts) == list_of<std::string>(layouts.at("default")));
      const Json on_10 = layouts.contains("cap_major") ? layouts.at("cap_major").at("10") : Json();
      CHECK(strings_of(row->kv_cache_layouts_on_10) == list_of<std::string>(on_10));
      CHECK(row->forward_includes_kv_cache_update ==
            facts->at("forward_includes_kv_cache_update").get<bool>());
      REQUIRE(row->decode_lse.has_value() == facts->contains("decode_lse"));
      if (row->decode_lse) {
        CHECK(row->decode_lse->returned == facts->at("decode_lse").at("returned").get<bool>());
        CHECK(row->decode_lse->natural_log == facts->at("decode_lse").at("base_e").get<bool>());
      }
      CHECK(row->head_size_v_default.value_or(0) == facts->value("head_size_v_default", 0));
    }
  }
}
