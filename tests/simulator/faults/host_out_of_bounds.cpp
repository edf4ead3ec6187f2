// A host program that goes out of bounds, linked with the simulator: UndefinedBehaviorSanitizer must
// still have its say, although the simulator has a handler of the same name. The index is argc + 7.

#include <cstdio>

#include "simulator/simt/launch.h"

int main(int argc, char**) {
  using namespace pagelab;
  simt::launch({"none", 1, 1}, [] {});  // the simulator is in the program
  static float table[8] = {};
  table[argc + 7] = 1.0f;
  std::printf("went on\n");
  return 0;
}
