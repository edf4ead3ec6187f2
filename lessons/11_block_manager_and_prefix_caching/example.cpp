// Lesson 11: a pool of 8 blocks, 4 tokens each, and what pagelab's block manager does with it as requests come and
// go. A token is a letter here.

#include <cstdio>
#include <string>

#include "simulator/engine/cache/kv_cache_manager.h"

using namespace pagelab;

constexpr std::int32_t kBlockSize = 4;

KVCacheConfig eight_blocks() {
  KVCacheConfig config;
  config.block_size = kBlockSize;
  config.num_blocks = 8;
  config.max_model_len = 64;
  config.max_in_flight_tokens = 64;
  return config;
}

KVCacheManager manager(eight_blocks());

void print_pool() { std::printf("     %s\n", to_string(manager.pool()).c_str()); }

std::string table_of(const Request& request) {
  std::string text;
  for (const BlockId block : request.groups[0].blocks) text += " " + std::to_string(block);
  return text;
}

// A request as a scheduler would make it, with the keys of its full blocks.
Request request_of(char name, const std::string& text) {
  Request request(name, {text.begin(), text.end()}, 1);
  manager.hash_full_blocks(request);
  return request;
}

// Asks for hits, and then for the blocks that are missing.
void come(Request& request, const std::string& text) {
  const PrefixHit hit = manager.get_computed_blocks(request);
  SlotsWanted wanted;
  wanted.num_new_tokens = request.num_tokens() - hit.num_tokens;
  const bool is_in = manager.allocate_slots(request, wanted, &hit).has_value();
  std::printf("%c comes with %s: hit %d of %d tokens, ", static_cast<char>(request.id),
              text.c_str(), hit.num_tokens, request.num_tokens());
  std::printf("%s%s\n", is_in ? "blocks" : "too few blocks are free",
              is_in ? table_of(request).c_str() : "");
  print_pool();
}

void finish(Request& request) {
  std::printf("%c is done with%s\n", static_cast<char>(request.id), table_of(request).c_str());
  manager.free(request);
  print_pool();
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  print_pool();
  const std::string texts[] = {"abcdefghijklm", "abcdefghXYZ", "abcdefgh", "zzzzefgh", "klmnopqr"};
  Request a = request_of('A', texts[0]), b = request_of('B', texts[1]);
  Request c = request_of('C', texts[2]), d = request_of('D', texts[3]);
  Request e = request_of('E', texts[4]), again = request_of('A', texts[0]);
  come(a, texts[0]);
  finish(a);
  come(b, texts[1]);
  come(c, texts[2]);
  come(d, texts[3]);
  come(e, texts[4]);
  finish(b);
  come(e, texts[4]);
  come(again, texts[0]);
}
