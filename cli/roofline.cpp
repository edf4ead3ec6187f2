#include "cli/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pagelab::cli {
namespace {

constexpr double kLeft = 80, kTop = 50, kWidth = 520, kHeight = 420;  // of the plot, in pixels
constexpr double kLegendLeft = kLeft + kWidth + 30;
constexpr double kLineHeight = 17;
constexpr const char* kColours[] = {"#1b6ca8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e",
                                    "#117a65", "#7b241c", "#34495e", "#d35400", "#2e4053"};

// A logarithmic axis over whole decades.
struct Axis {
  double first_decade;
  double last_decade;

  double share_of(double value) const {
    return (std::log10(value) - first_decade) / (last_decade - first_decade);
  }
};

Axis axis_of(double least, double most) {
  return {std::floor(std::log10(least)), std::ceil(std::log10(most))};
}

struct Plot {
  Axis x;  // operations a byte
  Axis y;  // operations a second

  double px(double value) const { return kLeft + x.share_of(value) * kWidth; }
  double py(double value) const { return kTop + (1.0 - y.share_of(value)) * kHeight; }
};

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

// As XML's text: names may come from a file.
std::string escaped(const std::string& content) {
  std::string text;
  for (const char character : content) {
    if (character == '<') {
      text += "&lt;";
    } else if (character == '&') {
      text += "&amp;";
    } else {
      text += character;
    }
  }
  return text;
}

std::string text(double x, double y, const std::string& content, const char* style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style,
                     escaped(content));
}

// "100 G", "1 T".
std::string short_number(double value) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};
  int prefix = 0;
  while (value >= 999.5 && prefix < 6) {
    value /= 1000.0;
    ++prefix;
  }
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

std::string axes(const Plot& plot) {
  std::string svg;
  const char* const grid = "stroke=\"#dddddd\"";
  for (double decade = plot.x.first_decade; decade <= plot.x.last_decade; ++decade) {
    const double value = std::pow(10.0, decade);
    svg += line(plot.px(value), kTop, plot.px(value), kTop + kHeight, grid);
    svg += text(plot.px(value), kTop + kHeight + 18, short_number(value), "text-anchor=\"middle\"");
  }
  for (double decade = plot.y.first_decade; decade <= plot.y.last_decade; ++decade) {
    const double value = std::pow(10.0, decade);
    svg += line(kLeft, plot.py(value), kLeft + kWidth, plot.py(value), grid);
    svg += text(kLeft - 8, plot.py(value) + 4, short_number(value), "text-anchor=\"end\"");
  }
  svg += text(kLeft + kWidth / 2, kTop + kHeight + 38, "operations for each byte that has to move",
              "text-anchor=\"middle\"");
  svg += text(kLeft, kTop - 10, "operations a second");
  return svg;
}

// The slope up to the ceiling, then the ceiling; without one the slope goes on to the edge.
std::string roof(const Plot& plot, const MeasuredLimits& limits) {
  const char* const style = "stroke=\"black\" stroke-width=\"2\"";
  const double begin = std::pow(10.0, plot.x.first_decade);
  const double end = std::pow(10.0, plot.x.last_decade);
  const double bandwidth = limits.read_bytes_per_second;
  const double top = std::pow(10.0, plot.y.last_decade);
  const double ceiling = limits.operations_per_second.value_or(top);
  const double corner = std::min(end, ceiling / bandwidth);
  // From where the slope enters the picture.
  const double enters = std::max(begin, std::pow(10.0, plot.y.first_decade) / bandwidth);
  std::string svg = line(plot.px(enters), plot.py(enters * bandwidth), plot.px(corner),
                         plot.py(corner * bandwidth), style);
  if (limits.operations_per_second && corner < end) {
    svg += line(plot.px(corner), plot.py(ceiling), plot.px(end), plot.py(ceiling), style);
  }
  return svg;
}

}  // namespace

std::string roofline_svg(const std::string& device,
                         const MeasuredLimits& limits,
                         const std::vector<Measurement>& measurements) {
  std::vector<Measurement> timed;
  for (const Measurement& measurement : measurements) {
    if (measurement.seconds) timed.push_back(measurement);
  }
  double least_x = 1.0, most_x = 1000.0;
  double least_y = limits.read_bytes_per_second;
  double most_y = limits.operations_per_second.value_or(limits.read_bytes_per_second * 1000.0);
  for (const Measurement& measurement : timed) {
    const double x = measurement.work.operations / measurement.work.bytes;
    const double y = measurement.work.operations / *measurement.seconds;
    least_x = std::min(least_x, x);
    most_x = std::max(most_x, x);
    least_y = std::min(least_y, y);
    most_y = std::max(most_y, y);
  }
  const Plot plot = {axis_of(least_x, most_x), axis_of(least_y, most_y)};
  const double legend_height = kTop + 70 + kLineHeight * static_cast<double>(timed.size());
  const double height = std::max(kTop + kHeight + 60, legend_height);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1040\" height=\"{0:.0f}\" "
      "viewBox=\"0 0 1040 {0:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      height);
  svg += text(kLeft, 22, "Attention on " + device, "font-size=\"16\" font-weight=\"bold\"");
  svg += axes(plot) + roof(plot, limits);
  svg += text(kLegendLeft, kTop,
              fmt::format("slope: {}B/s read", short_number(limits.read_bytes_per_second)));
  svg +=
      text(kLegendLeft, kTop + kLineHeight,
           limits.operations_per_second ? fmt::format("ceiling: {}FLOP/s, cuBLAS bfloat16",
                                                      short_number(*limits.operations_per_second))
                                        : std::string("no ceiling: there is no cuBLAS here"));
  for (std::size_t index = 0; index < timed.size(); ++index) {
    const Measurement& measurement = timed[index];
    const char* const colour = kColours[index % std::size(kColours)];
    const double x = plot.px(measurement.work.operations / measurement.work.bytes);
    const double y = plot.py(measurement.work.operations / *measurement.seconds);
    const double legend_y = kTop + 50 + kLineHeight * static_cast<double>(index);
    const std::string style = fmt::format("fill=\"{}\"", colour);
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" {}/>\n", x, y, style);
    svg += text(x + 8, y + 4, fmt::format("{}", index + 1), style.c_str());
    svg += text(kLegendLeft, legend_y,
                fmt::format("{}  {}, {}", index + 1, measurement.name, measurement.shape),
                style.c_str());
  }
  return svg + "</svg>\n";
}

}  // namespace pagelab::cli
