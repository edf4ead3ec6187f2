# pagelab_add_benchmark(NAME SOURCES file.cpp ... [LINK target ...]): the program bin/bench_NAME, which
# `./pagelab bench` runs.
add_custom_target(pagelab_benchmarks)
function(pagelab_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  find_package(benchmark REQUIRED)
  add_executable(bench_${name} ${arg_SOURCES})
  target_link_libraries(bench_${name} PRIVATE
    ${arg_LINK} benchmark::benchmark pagelab_warnings pagelab_sanitizers)
  add_dependencies(pagelab_benchmarks bench_${name})
  if(PAGELAB_STATIC)
    pagelab_carry_benchmark_library(bench_${name})
  endif()
endfunction()

# Debian has no static Google Benchmark. For a program that is carried to another machine, the shared one
# and the libraries that it wants are laid beside it, where the program looks first, also for theirs.
function(pagelab_carry_benchmark_library target)
  get_target_property(benchmark benchmark::benchmark LOCATION)
  foreach(library ${benchmark} libstdc++.so.6 libgcc_s.so.1)
    if(NOT IS_ABSOLUTE ${library})
      execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library}
        OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    endif()
    # The name that programs ask for is not always the file's: libbenchmark.so.1debian.
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library}
      OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "SONAME +([^\n]+)" _ "${headers}")
    configure_file("${library}" "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${CMAKE_MATCH_1}" COPYONLY)
  endforeach()
  set_target_properties(${target} PROPERTIES BUILD_RPATH "$ORIGIN" PAGELAB_CARRIES_LIBRARIES ON)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()
