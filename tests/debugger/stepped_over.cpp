// Calls the standard library, Eigen, and a function of ours. stepped_over.gdb steps through it: into what
// is ours, and over the rest.

#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace {

double twice(double number) { return 2.0 * number; }

double sum_by_libraries(const std::vector<double>& numbers) {
  double sum = numbers[numbers.size() - 1] + numbers.at(0);
  for (const double number : numbers) sum = std::max(sum, number);
  const Eigen::Map<const Eigen::VectorXd> vector(numbers.data(), 3);
  sum += vector.dot(vector) + (2.0 * vector).maxCoeff();
  return twice(sum);
}

}  // namespace

int main() {
  const std::vector<double> numbers = {1.0, 2.0, 4.0};
  return sum_by_libraries(numbers) == 2.0 * (5.0 + 21.0 + 8.0) ? 0 : 1;
}
