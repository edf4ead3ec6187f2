#include <doctest/doctest.h>

#include "simulator/simt/launch.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"

namespace pagelab::test {

void on_simulators_in_all_orders(const std::function<void(const std::shared_ptr<Device>&)>& check) {
  const auto devices = simulators();
  for (const auto& device : devices) {
    CAPTURE(device->name());
    check(device);
  }
  // The order is given by what both simulators share, so one of them each is enough.
  const auto check_in = [&](simt::ThreadOrder order, const std::shared_ptr<Device>& device) {
    CAPTURE(device->name());
    CAPTURE(static_cast<int>(order));
    const simt::ScopedThreadOrder scope(order, 17);
    check(device);
  };
  check_in(simt::ThreadOrder::kShuffled, devices.front());
  check_in(simt::ThreadOrder::kDescending, devices.back());
}

}  // namespace pagelab::test
