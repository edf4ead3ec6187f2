#include "reference/contract/step_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "reference/contract/attention_step.h"
#include "reference/tensor/atomic_file.h"

namespace pagelab {
namespace {

using nlohmann::json;

// Enough of a text that came from the file to recognise it in a message.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string result;
  for (char character : text.substr(0, kShown)) {
    const bool is_plain = character >= ' ' && character < '\x7f';
    result += is_plain ? character : '?';
  }
  return text.size() > kShown ? result + "..." : result;
}

// One step.json; every complaint begins with its name.
class StepJsonFile {
 public:
  explicit StepJsonFile(const std::filesystem::path& path) : path_(path) {}

  StepJson read() {
    const json document = parse(read_text());
    if (!document.is_object()) fail("the document must be one object, {...}.");
    StepJson contents;
    bool has_dtype = false;
    for (const auto& [key, value] : document.items()) {
      if (key == "dtype") {
        contents.dtype = dtype_from(key, value);
        has_dtype = true;
      } else if (!value.is_null()) {  // null: as if the key were absent
        read_entry(key, value, contents);
      } else {
        require_known(key);
      }
    }
    if (!has_dtype) fail("the key 'dtype' is missing.");
    return contents;
  }

 private:
  static constexpr std::string_view kKeys[] = {"dtype",         "kv_cache_dtype", "attn_type",
                                               "scale",         "causal",         "sliding_window",
                                               "logit_softcap", "k_scale",        "v_scale"};

  [[noreturn]] void fail(const std::string& sentence) const {
    throw Error(fmt::format("{}: {}", path_.string(), sentence));
  }

  [[noreturn]] void fail(const std::string& key, const json& value, std::string_view wanted) const {
    const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    fail(fmt::format("'{}' is {}, but it must be {}.", key, shown(text), wanted));
  }

  std::string read_text() const {
    constexpr std::uintmax_t kLongest = 1 << 20;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path_, error)) fail("there is no such file.");
    const std::uintmax_t size = std::filesystem::file_size(path_, error);
    if (size > kLongest) fail("the file has more than 2^20 bytes.");
    std::string text(size, '\0');
    std::ifstream stream(path_, std::ios::binary);
    stream.read(text.data(), static_cast<std::streamsize>(size));
    if (error || !stream) fail("the file cannot be read.");
    return text;
  }

  json parse(const std::string& text) const {
    std::set<std::string> keys;
    const auto check_event = [&](int depth, json::parse_event_t event, json& parsed) {
      const bool opens =
          event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
      if (opens && depth > 1) fail("a value is nested too deeply.");
      if (event == json::parse_event_t::key && depth == 1) {
        const std::string key = parsed.get<std::string>();
        if (!keys.insert(key).second) fail(fmt::format("the key '{}' occurs twice.", shown(key)));
      }
      return true;
    };
    try {
      return json::parse(text, check_event);
    } catch (const json::parse_error& error) {
      const std::size_t offset = std::min<std::size_t>(error.byte, text.size());
      const auto line = 1 + std::count(text.begin(), text.begin() + offset, '\n');
      fail(fmt::format("this is not JSON (line {}, byte {} of the file).", line, offset));
    } catch (const json::exception&) {
      fail("a number is beyond the range of float64.");
    }
  }

  void require_known(const std::string& key) const {
    if (std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys)) return;
    fail(fmt::format("the key '{}' is unknown; the keys are {}.", shown(key),
                     fmt::join(std::begin(kKeys), std::end(kKeys), ", ")));
  }

  void read_entry(const std::string& key, const json& value, StepJson& contents) const {
    if (key == "kv_cache_dtype") {
      contents.kv_cache_dtype = dtype_from(key, value);
    } else if (key == "attn_type") {
      contents.attn_type = attn_type_from(key, value);
    } else if (key == "scale") {
      contents.scale = number_from(key, value);
    } else if (key == "causal") {
      if (!value.is_boolean()) fail(key, value, "true or false");
      contents.causal = value.get<bool>();
    } else if (key == "sliding_window") {
      read_window(key, value, contents);
    } else if (key == "logit_softcap") {
      contents.logit_softcap = number_from(key, value);
    } else if (key == "k_scale") {
      contents.k_scale = number_from(key, value);
    } else if (key == "v_scale") {
      contents.v_scale = number_from(key, value);
    } else {
      require_known(key);
    }
  }

  double number_from(const std::string& key, const json& value) const {
    if (!value.is_number()) fail(key, value, "a number");
    return value.get<double>();
  }

  DType dtype_from(const std::string& key, const json& value) const {
    const bool is_activation = key == "dtype";
    const std::string_view allowed =
        is_activation
            ? "\"float64\", \"float32\", \"float16\" or \"bfloat16\""
            : "\"float64\", \"float32\", \"float16\", \"bfloat16\", \"fp8_e4m3\" or \"fp8_e5m2\"";
    if (!value.is_string()) fail(key, value, allowed);
    const std::optional<DType> dtype = dtype_from_name(value.get<std::string>());
    const bool fits = dtype && (is_activation_dtype(*dtype) || (!is_activation && is_fp8(*dtype)));
    if (!fits) fail(key, value, allowed);
    return *dtype;
  }

  AttnType attn_type_from(const std::string& key, const json& value) const {
    for (AttnType type : {AttnType::kDecoder, AttnType::kEncoderOnly, AttnType::kEncoderDecoder}) {
      if (value == to_string(type)) return type;
    }
    fail(key, value, "\"decoder\", \"encoder_only\" or \"encoder_decoder\"");
  }

  void read_window(const std::string& key, const json& value, StepJson& contents) const {
    constexpr std::string_view kWanted = "null or [left, right], two whole numbers of at least -1";
    if (!value.is_array() || value.size() != 2) fail(key, value, kWanted);
    for (const json& side : value) {
      const bool is_whole = side.is_number_integer();
      // A number above int64's range is unsigned in the parser; get<int64_t> would wrap it.
      const bool fits = is_whole && !(side.is_number_unsigned() &&
                                      side.get<std::uint64_t>() >
                                          std::uint64_t{std::numeric_limits<std::int32_t>::max()});
      if (!fits || side.get<std::int64_t>() < kUnbounded) fail(key, value, kWanted);
    }
    contents.window_left = value[0].get<std::int32_t>();
    contents.window_right = value[1].get<std::int32_t>();
  }

  std::filesystem::path path_;
};

}  // namespace

StepJson read_step_json(const std::filesystem::path& path) { return StepJsonFile(path).read(); }

void write_step_json(const std::filesystem::path& path, const StepJson& contents) {
  nlohmann::ordered_json document;
  document["dtype"] = to_string(contents.dtype);
  if (contents.kv_cache_dtype) document["kv_cache_dtype"] = to_string(*contents.kv_cache_dtype);
  document["attn_type"] = to_string(contents.attn_type);
  if (contents.scale) document["scale"] = *contents.scale;
  if (contents.causal) document["causal"] = *contents.causal;
  document["sliding_window"] = nullptr;
  if (contents.window_left != kUnbounded || contents.window_right != kUnbounded) {
    document["sliding_window"] = {contents.window_left, contents.window_right};
  }
  document["logit_softcap"] = nullptr;
  if (contents.logit_softcap) document["logit_softcap"] = *contents.logit_softcap;
  if (contents.k_scale) document["k_scale"] = *contents.k_scale;
  if (contents.v_scale) document["v_scale"] = *contents.v_scale;

  AtomicFile file(path);
  file.write(document.dump(2) + "\n");
  file.commit();
}

}  // namespace pagelab
