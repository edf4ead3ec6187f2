#include <doctest/doctest.h>

#include "simulator/simt/launch.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"

namespace pagelab::test {

void on_simulators_in_all_orders(const std::function<void(const std::shared_ptr<Device>&)>& check) {
  for (const auto& device : simulators()) {
    CAPTURE(device->name());
    check(device);
    for (const simt::ThreadOrder order :
         {simt::ThreadOrder::kDescending, simt::ThreadOrder::kShuffled}) {
      CAPTURE(static_cast<int>(order));
      const simt::ScopedThreadOrder scope(order, 17);
      check(device);
    }
  }
}

}  // namespace pagelab::test
