// Lesson 06: the six rungs of gpu/kernels/paged_decode on one batch, in the simulator: what each reads and
// how often its threads meet; a row's bits in two batches; and a length that rung 3 cannot take.

#include <cstdio>

#include "lessons/06_decode_ladder/decode_batch.h"
#include "lessons/06_decode_ladder/ladder.h"
#include "reference/contract/error.h"

using namespace pagelab;
using namespace pagelab::lesson_06;
using Floats = std::vector<float>;

// Launches a rung and prints its counts.
// Returns the first request's output.
Floats print_rung(std::size_t rung, const std::vector<std::int32_t>& seq_lens) {
  const DecodeBatch batch(checked_simulator_device(), seq_lens);
  const simt::ScopedCounting counting;
  launch_rung(rung, batch.params());
  const RungCounts counts(counting);
  const double sectors_per_request =
      static_cast<double>(counts.reads.sectors) / static_cast<double>(counts.reads.requests);
  std::printf("%-24s %4zu %5zu %8zu %8zu %5.2f %8.1f %8.1f %8zu %8zu\n", name_of(rung), counts.ctas,
              counts.warps, counts.reads.requests, counts.reads.sectors, sectors_per_request,
              counts.kib_read, counts.kib_written, counts.barriers, counts.shuffles);
  return batch.first_output();
}

Floats output_of(std::size_t rung, const std::vector<std::int32_t>& seq_lens) {
  const DecodeBatch batch(checked_simulator_device(), seq_lens);
  launch_rung(rung, batch.params());
  return batch.first_output();
}

// Lets rung 3 say why it takes no context of 100,000 keys.
void print_refusal() {
  const DecodeBatch batch(checked_simulator_device(), {1});
  PagedAttentionParams params = batch.params();
  params.max_seq_len = 100000;
  params.max_blocks_per_req = params.max_seq_len / kBlockSize;
  try {
    launch_rung(2, params);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  const std::vector<std::int32_t> seq_lens = {600, 70};
  std::printf("%-24s %4s %5s %8s %8s %5s %8s %8s %8s %8s\n", "rung", "ctas", "warps", "requests",
              "sectors", "/req", "KiB read", "written", "barriers", "shuffles");
  std::vector<Floats> outputs;
  for (std::size_t rung = 0; rung < kNumRungs; ++rung) {
    outputs.push_back(print_rung(rung, seq_lens));
  }
  const double kib = 670.0 * kNumKvHeads * kHeadSize * sizeof(float) / 1024;
  std::printf("keys %.1f KiB, values %.1f KiB\n\n", kib, kib);

  // Bit for bit: no tolerance.
  for (std::size_t rung = 1; rung < kNumRungs; ++rung) {
    const bool alone = output_of(rung, {600}) == outputs[rung];
    const bool as_before = outputs[rung] == outputs[rung - 1];
    std::printf("%-24s bits alone and in the batch: %s, and those of the rung before: %s\n",
                name_of(rung), alone ? "the same" : "others", as_before ? "the same" : "others");
  }
  std::printf("\n100,000 keys in rung 3:\n");
  print_refusal();
}
