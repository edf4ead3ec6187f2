// Lesson 12: three decodes that share two blocks: what is common, attention in one part and in two, a merge in the
// wrong base; then what a model of bytes and launches says of five batches that were measured.

#include <cstdio>

#include "lessons/12_cascade_attention/solution.h"
#include "simulator/engine/step/cascade_decision.h"

using namespace pagelab;
using namespace pagelab::lesson_12;

// A cache of 10 blocks of 4 tokens, all of whose numbers are sines.
PagedCache cache_of_sines() {
  std::vector<KeyValue> slots;
  for (int i = 0; i < 40; ++i) {
    slots.push_back(
        {{std::sin(3.0 * i), std::sin(4.0 * i)}, {std::cos(5.0 * i), std::cos(2.0 * i)}});
  }
  return {4, slots};
}

// Attention of one request in one part.
State flat_attention(const Decode& decode, const PagedCache& cache) {
  std::vector<KeyValue> tokens;
  for (int i = 0; i < decode.seq_len; ++i) tokens.push_back(cache.at(decode.table, i));
  return attend(decode.query, tokens);
}

void print_three_decodes() {
  const std::vector<Decode> batch = {
      {{0.3, -1.1}, {6, 1, 4}, 10}, {{0.7, 0.2}, {6, 1, 9, 2}, 13}, {{-0.5, 0.9}, {6, 1, 7}, 9}};
  const int prefix_len = cascade_prefix_len({{6, 1, 4}, {6, 1, 9, 2}, {6, 1, 7}}, {9, 12, 8}, 4);
  const PagedCache flat_cache = cache_of_sines(), cache = cache_of_sines();
  const std::vector<Row> outputs = cascade_attention(batch, cache, prefix_len);
  std::printf("common prefix: %d tokens\n", prefix_len);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const State flat = flat_attention(batch[i], flat_cache);
    std::printf("request %zu  flat [%9.6f %9.6f]  cascade [%9.6f %9.6f]\n", i, flat.output[0],
                flat.output[1], outputs[i][0], outputs[i][1]);
  }
  std::printf("tokens read: flat %d, cascade %d\n", flat_cache.num_reads(), cache.num_reads());
}

void print_wrong_base() {
  const StateBase2 prefix = {{0}, std::log2(3.0)};  // three keys of score 0, whose values are 0
  const State suffix = {{4}, 0};                    // one of score 0, whose value is 4
  const StateBase2 taken_for_natural = {{0}, prefix.lse_base_2 / std::log(2.0)};
  std::printf("\nmerged: %.4f; with the base-2 LSE taken for a natural one: %.4f\n",
              merge(prefix, suffix).output[0], merge(taken_for_natural, suffix).output[0]);
}

// By the README's model, and as measured on an H200 (docs/cascade.md).
void print_times(int num_reqs, int prefix_len, double flat_us, double cascade_us) {
  const Gpu h200 = {4.248e6, 22, 35};
  const CascadeSetting llama = {.num_query_heads = 32, .num_kv_heads = 8};
  const CascadeTraffic traffic = cascade_traffic(num_reqs, prefix_len, 256, llama, 128, 2);
  const double flat_model = h200.flat_us + traffic.flat_bytes / h200.bytes_per_us;
  const double cascade_model = h200.cascade_us + traffic.cascade_bytes / h200.bytes_per_us;
  std::printf("%8d %7d %6.1f %8.1f %10.0f %8.0f %9.0f %8.0f %8d\n", num_reqs, prefix_len,
              traffic.flat_bytes / 1e6, traffic.cascade_bytes / 1e6, flat_model, cascade_model,
              flat_us, cascade_us,
              least_requests({32, 8, 128, 2}, h200, prefix_len, 256).value_or(0));
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  print_three_decodes();
  print_wrong_base();
  std::printf("\n                     MB             model us          measured us\n");
  std::printf("requests  prefix   flat  cascade       flat  cascade      flat  cascade    least\n");
  print_times(64, 8192, 459, 117);
  print_times(64, 1024, 93, 82);
  print_times(8, 8192, 72, 47);
  print_times(8, 1024, 26, 43);
  print_times(2, 256, 22, 35);
}
