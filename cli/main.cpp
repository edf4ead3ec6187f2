// The pagelab program: parses the command line, runs one subcommand, and turns what it throws into
// one sentence and an exit status: 0 good; 1 a comparison or a check failed, or pagelab itself; 2 the
// request was wrong, or more than this machine can do.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/environment.h"
#include "reference/contract/error.h"
#include "reference/contract/suggestion.h"

namespace {

constexpr int kPagelabFailed = 1;
constexpr int kRequestWasWrong = 2;
constexpr const char* kOutputWasLost =
    "The output could not be written to stdout. Is the disk full?";

// The parser would only say that a subcommand is required.
void refuse_unknown_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == argv[1]) return;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  throw pagelab::Error(fmt::format("{} is not a subcommand of pagelab: {} are.", argv[1], names));
}

// The parser would take --json=3 for --json, and --json=-1 for nothing at all.
void refuse_values_of_flags(const CLI::App& command, int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const std::string name = text.substr(0, text.find('='));
    if (!text.starts_with("--") || name == text) continue;
    const CLI::Option* option = command.get_option_no_throw(name);
    const bool is_flag = option != nullptr && option->get_expected_max() == 0;
    if (is_flag) throw pagelab::Error(fmt::format("{}: {} takes no value.", text, name));
  }
}

// Whether an option switches something off.
bool is_negation(const std::string& option) {
  return option.starts_with("--no-") || option.starts_with("--disable-");
}

// The parser's text as a sentence.
std::string sentence_of(const CLI::ParseError& error) {
  std::string text = error.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty() || text.back() != '.') text += '.';
  return text;
}

// The first thing on the line that begins like an option and is none, with the option that was meant; or nothing. It is
// what is wrong, whatever the parser misses besides.
std::string sentence_of_unknown_option(const CLI::App& app) {
  const std::vector<std::string> unparsed = app.remaining(true);
  const auto is_option = [](const std::string& text) { return text.starts_with("--"); };
  const auto unknown = std::find_if(unparsed.begin(), unparsed.end(), is_option);
  if (unknown == unparsed.end()) return "";
  const std::string name = unknown->substr(0, unknown->find('='));
  const std::vector<CLI::App*> called = app.get_subcommands();
  const CLI::App& command = called.empty() ? app : *called.back();
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& long_name : option->get_lnames()) {
      // The opposite of what was written is not what was meant.
      const std::string known = "--" + long_name;
      if (is_negation(known) == is_negation(name)) names.push_back(known);
    }
  }
  return fmt::format("{} is not an option of {}{}.", name, command.get_name(),
                     pagelab::did_you_mean(name, names));
}

int run(int argc, char** argv) {
  CLI::App app("pagelab: paged attention on both sides of the glass.", "pagelab");
  app.require_subcommand(1);
  app.set_version_flag("--version", "pagelab " PAGELAB_VERSION);
  int exit_status = 0;
  pagelab::cli::add_demo_command(app, exit_status);
  pagelab::cli::add_attend_command(app, exit_status);
  pagelab::cli::add_compare_command(app, exit_status);
  pagelab::cli::add_generate_command(app, exit_status);
  pagelab::cli::add_profile_command(app, exit_status);
  pagelab::cli::add_measure_command(app, exit_status);
  pagelab::cli::add_select_command(app, exit_status);
  pagelab::cli::add_backends_command(app, exit_status);
  pagelab::cli::add_replay_command(app, exit_status);
  pagelab::cli::add_simulate_command(app, exit_status);
  pagelab::cli::add_lesson_command(app, exit_status);
  pagelab::cli::add_check_command(app, exit_status);
  refuse_unknown_subcommand(app, argc, argv);
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (argc > 1 && command->get_name() == argv[1]) refuse_values_of_flags(*command, argc, argv);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    // Here the subcommand is a known one, or an option of pagelab itself.
    const std::string command = argc > 1 && argv[1][0] != '-' ? std::string(argv[1]) + " " : "";
    const std::string unknown = sentence_of_unknown_option(app);
    fmt::print(stderr, "{} See 'pagelab {}--help' for what is allowed.\n",
               unknown.empty() ? sentence_of(error) : unknown, command);
    return kRequestWasWrong;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw pagelab::Error(kOutputWasLost);
  }
  return exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  // The shared code is compiled for x86-64-v3 (numerics need the same instructions everywhere).
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::fputs("This CPU lacks AVX2 or FMA: pagelab needs an x86-64-v3 processor.\n", stderr);
    return kRequestWasWrong;
  }
  pagelab::cli::warn_of_unread_variables();
  try {
    return run(argc, argv);
  } catch (const pagelab::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kRequestWasWrong;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "The memory of this machine does not hold what was asked for.\n");
    return kRequestWasWrong;
  } catch (const std::exception& error) {
    // A long output is written on the way, and a failure to do so is thrown by the formatter.
    if (std::ferror(stdout) != 0) {
      fmt::print(stderr, "{}\n", kOutputWasLost);
      return kRequestWasWrong;
    }
    fmt::print(stderr,
               "pagelab stopped on an error that it did not foresee, which is a fault of pagelab "
               "and not of the request: {}\n",
               error.what());
    return kPagelabFailed;
  }
}
