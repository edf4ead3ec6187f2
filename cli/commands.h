/// \file
/// The subcommands of the pagelab program, a file each. A subcommand registers itself with the
/// parser and sets the exit status when it runs: 0 good, 1 a comparison or a check failed. A
/// request that is itself wrong is thrown as pagelab::Error; main prints its sentence and exits
/// with 2. Any other exception is a fault of pagelab's own: main says so and exits with 1.
#pragma once

#include <CLI/CLI.hpp>

namespace pagelab::cli {

void add_demo_command(CLI::App& app, int& exit_status);    ///< the main job in a minute
void add_attend_command(CLI::App& app, int& exit_status);  ///< one step from a step folder
void add_compare_command(CLI::App& app,
                         int& exit_status);  ///< one step on every backend and target
void add_generate_command(CLI::App& app, int& exit_status);  ///< greedy text of a Llama
void add_profile_command(CLI::App& app, int& exit_status);   ///< counters of a kernel
void add_measure_command(CLI::App& app, int& exit_status);   ///< times of rungs and backends
void add_select_command(CLI::App& app, int& exit_status);    ///< which backend, and why
void add_backends_command(CLI::App& app, int& exit_status);  ///< what each can do
void add_replay_command(CLI::App& app, int& exit_status);    ///< a golden table, compared
void add_simulate_command(CLI::App& app, int& exit_status);  ///< the engine over a trace
void add_lesson_command(CLI::App& app, int& exit_status);    ///< list or run lessons
void add_check_command(CLI::App& app, int& exit_status);     ///< check an exercise

}  // namespace pagelab::cli
