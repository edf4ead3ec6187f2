# pagelab_add_benchmark(NAME SOURCES file.cpp ... [LINK target ...]): the program bin/bench_NAME, which
# `./pagelab bench` runs.
function(pagelab_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  find_package(benchmark REQUIRED)
  add_executable(bench_${name} ${arg_SOURCES})
  target_link_libraries(bench_${name} PRIVATE
    ${arg_LINK} benchmark::benchmark pagelab_warnings pagelab_sanitizers)
  if(PAGELAB_STATIC)
    pagelab_carry_benchmark_library(bench_${name})
  endif()
endfunction()

# Debian has no static Google Benchmark: for a program that is carried to another machine, the shared
# one is laid beside it, where the program looks first.
function(pagelab_carry_benchmark_library target)
  get_target_property(library benchmark::benchmark LOCATION)
  file(REAL_PATH "${library}" real_library)
  # libbenchmark.so.1.7.1 is asked for as libbenchmark.so.1.
  string(REGEX REPLACE "^(.*/)?(lib[^/]*[.]so[.][0-9]+).*$" "\\2" name_asked_for "${real_library}")
  configure_file("${real_library}" "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name_asked_for}" COPYONLY)
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN")
endfunction()
