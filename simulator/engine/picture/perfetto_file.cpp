#include "simulator/engine/picture/perfetto_file.h"

#include <fmt/format.h>

#include "reference/tensor/atomic_file.h"

namespace pagelab {
namespace {

constexpr int kEngine = 1, kRequests = 2;  // processes, as the viewer calls them
constexpr int kCpu = 1, kGpu = 2;          // threads of the engine

// Writes the events, one a line, with commas between them.
class EventWriter {
 public:
  explicit EventWriter(AtomicFile& file) : file_(file) {
    file_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  }

  void add(const std::string& event) {
    file_.write(is_first_ ? event : ",\n" + event);
    is_first_ = false;
  }

  void end() { file_.write("\n]}\n"); }

 private:
  AtomicFile& file_;
  bool is_first_ = true;
};

std::string name_of(const char* what, int pid, int tid, const char* name) {
  return fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})", what,
                     pid, tid, name);
}

std::string slice(
    const std::string& name, int tid, double start_us, double end_us, const std::string& args) {
  return fmt::format(
      R"({{"name":"{}","ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})", name,
      kEngine, tid, start_us, end_us - start_us, args);
}

std::string counter(const char* name, double time_us, std::int64_t value) {
  return fmt::format(R"({{"name":"{}","ph":"C","pid":{},"ts":{:.3f},"args":{{"value":{}}}}})", name,
                     kEngine, time_us, value);
}

void add_step(EventWriter& events, const ServedStep& step, std::size_t number) {
  const StepTimes& times = step.times;
  const StepWork& work = step.work;
  const std::string args = fmt::format(
      R"("step":{},"requests":{},"tokens":{},"padded_tokens":{},"decodes":{},"cascade_prefix_len":{})",
      number, work.num_reqs, step.num_tokens, work.num_padded_tokens, work.num_decodes,
      work.cascade_prefix_len);
  events.add(slice(fmt::format("schedule {}", number), kCpu, times.schedule_start_us,
                   times.metadata_start_us, args));
  events.add(slice(fmt::format("metadata {}", number), kCpu, times.metadata_start_us,
                   times.cpu_end_us, args));
  events.add(slice(fmt::format("{} {}", to_string(work.graph_mode), number), kGpu,
                   times.gpu_start_us, times.gpu_end_us, args));
  events.add(counter("running requests", times.schedule_start_us, work.num_reqs));
  events.add(counter("waiting requests", times.schedule_start_us, step.num_waiting));
  events.add(counter("used blocks", times.schedule_start_us, step.num_used_blocks));
  events.add(counter("preemptions", times.schedule_start_us, step.num_preempted));
}

// Requests overlap, so each has a track of its own: an asynchronous event.
void add_part(EventWriter& events,
              const char* name,
              std::size_t id,
              double start_us,
              double end_us,
              const std::string& args) {
  events.add(fmt::format(
      R"({{"name":"{}","cat":"request","ph":"b","id":{},"pid":{},"tid":1,"ts":{:.3f},"args":{{{}}}}})",
      name, id, kRequests, start_us, args));
  events.add(fmt::format(
      R"({{"name":"{}","cat":"request","ph":"e","id":{},"pid":{},"tid":1,"ts":{:.3f}}})", name, id,
      kRequests, end_us));
}

void add_request(EventWriter& events, const ServedRequest& request, std::size_t id) {
  const std::string args = fmt::format(
      R"("request":{},"prompt_tokens":{},"hit_tokens":{},"output_tokens":{},"preemptions":{})", id,
      request.num_prompt_tokens, request.num_hit_tokens, request.num_output_tokens,
      request.num_preemptions);
  add_part(events, "waiting", id, request.arrival_us, request.admitted_us, args);
  add_part(events, "prefill", id, request.admitted_us, request.first_token_us, args);
  add_part(events, "decode", id, request.first_token_us, request.last_token_us, args);
}

}  // namespace

void write_perfetto_file(const ServedTrace& served, const std::filesystem::path& path) {
  AtomicFile file(path);
  EventWriter events(file);
  events.add(name_of("process_name", kEngine, 0, "engine"));
  events.add(name_of("process_name", kRequests, 0, "requests"));
  events.add(name_of("thread_name", kEngine, kCpu, "CPU"));
  events.add(name_of("thread_name", kEngine, kGpu, "GPU"));
  for (std::size_t index = 0; index < served.steps.size(); ++index) {
    add_step(events, served.steps[index], index + 1);
  }
  for (std::size_t id = 0; id < served.requests.size(); ++id) {
    add_request(events, served.requests[id], id);
  }
  events.end();
  file.commit();
}

}  // namespace pagelab
