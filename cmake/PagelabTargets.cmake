# The few words that leaf CMakeLists are written in.

# pagelab_library(NAME): a static library of ours, with its alias pagelab::NAME.
# Its sources are added by the folders it is made of: target_sources(NAME PRIVATE file.cpp ...).
function(pagelab_library name)
  add_library(${name} STATIC)
  add_library(pagelab::${name} ALIAS ${name})
  target_link_libraries(${name} PUBLIC pagelab_options PRIVATE $<BUILD_INTERFACE:pagelab_warnings>)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME pagelab_${name})
endfunction()

# pagelab_compile_together(TARGET GROUP file.cpp ...): the compiler takes these sources of TARGET as one, a file
# that includes them all. A source of ours costs a second or two, and most of that goes into the headers:
# reading them, and compiling the same templates of json or CLI11 once more in every source. Together they cost
# it once. In exchange the names in the group's anonymous namespaces must differ, and a change in one
# source compiles all of its group, so a group is a handful. Messages, breakpoints and symbols are as ever.
function(pagelab_compile_together target group)  # and the sources
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
endfunction()

# pagelab_add_kernels(NAME FILE.cu ...): kernel sources, compiled once a target into the libraries
# NAME_simulated (by g++, fast), NAME_checked (by g++, every access to device memory checked) and, where
# there is nvcc, NAME_cuda. NAME itself stands for all of them. The g++ builds see one file that includes those of
# the call: CMake gives a source file one language only, and together they cost a third of what they cost one by
# one (pagelab_compile_together says why). Another call with the same NAME adds to it. Line numbers stay those of
# the sources. The checked kernels take no flags of the host's sanitizers (and therefore link reference,
# which passes them on, for their users only): they are instrumented for pagelab's own hooks.
function(pagelab_add_kernels name)
  if(NOT TARGET ${name})
    pagelab_add_kernel_libraries(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY PAGELAB_KERNEL_SOURCES ${ARGN})
  set(together "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE inside)
    string(APPEND together "#include \"${inside}\"\n")
    if(PAGELAB_HAS_CUDA)
      target_sources(${name}_cuda PRIVATE "${path}")
    endif()
  endforeach()
  # The wrapper has the name of the call's first source.
  list(GET ARGN 0 first)
  cmake_path(ABSOLUTE_PATH first)
  cmake_path(RELATIVE_PATH first BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(wrapper "${PROJECT_BINARY_DIR}/simulated/${first}.cpp")
  file(CONFIGURE OUTPUT "${wrapper}" CONTENT "${together}" @ONLY)
  target_sources(${name}_simulated PRIVATE "${wrapper}")
  if(PAGELAB_CHECKED_KERNELS)
    target_sources(${name}_checked PRIVATE "${wrapper}")
  endif()
endfunction()

# The libraries of pagelab_add_kernels, still empty.
function(pagelab_add_kernel_libraries name)
  add_library(${name} INTERFACE)
  pagelab_library(${name}_simulated)
  target_link_libraries(${name}_simulated
    PRIVATE pagelab_simulated_kernel pagelab_sanitizers INTERFACE simt reference)
  target_link_libraries(${name} INTERFACE ${name}_simulated)
  if(PAGELAB_CHECKED_KERNELS)
    pagelab_library(${name}_checked)
    target_link_libraries(${name}_checked PRIVATE pagelab_checked_kernel INTERFACE simt reference)
    target_link_libraries(${name} INTERFACE ${name}_checked)
    target_compile_definitions(${name} INTERFACE PAGELAB_HAS_CHECKED_KERNELS)
  endif()
  if(PAGELAB_HAS_CUDA)
    pagelab_library(${name}_cuda)
    target_link_libraries(${name}_cuda PRIVATE pagelab_cuda_kernel INTERFACE reference)
    target_link_libraries(${name} INTERFACE ${name}_cuda)
    target_compile_definitions(${name} INTERFACE PAGELAB_HAS_CUDA)
  endif()
endfunction()

# pagelab_add_test(NAME [OPTIMISED] [TOGETHER file.cpp ...] [SOURCES file.cpp ...] [LINK target ...]
# [LABELS label ...]): one doctest program; ctest sees each of its cases. A case that needs a GPU and finds none
# prints "SKIPPED:" and counts as skipped. TOGETHER: sources that are compiled as one (pagelab_compile_together),
# SOURCES: the others. The test's own code is compiled without optimisation, which takes two thirds of the time;
# what it calls in our libraries is not slower for that. OPTIMISED is for one that computes much by itself.
function(pagelab_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMISED" "" "TOGETHER;SOURCES;LINK;LABELS")
  add_executable(test_${name} ${arg_TOGETHER} ${arg_SOURCES})
  if(arg_TOGETHER)
    pagelab_compile_together(test_${name} tests ${arg_TOGETHER})
  endif()
  if(NOT arg_OPTIMISED)
    target_compile_options(test_${name} PRIVATE -O0)
    target_precompile_headers(test_${name} REUSE_FROM test_headers)
  endif()
  target_link_libraries(test_${name} PRIVATE
    test_support ${arg_LINK} pagelab_warnings pagelab_sanitizers pagelab_test_code)
  doctest_discover_tests(test_${name}
    TEST_PREFIX "${name}: "
    PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:" TIMEOUT 1200 LABELS "${name}")
  if(arg_LABELS)
    # Discovery passes on one label a test; the others are set in a file that ctest reads after it.
    set(more "${CMAKE_CURRENT_BINARY_DIR}/test_${name}_labels.cmake")
    file(WRITE "${more}" "if(test_${name}_TESTS)\n  set_tests_properties(\${test_${name}_TESTS}
    PROPERTIES LABELS \"${name};${arg_LABELS}\")\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${more}")
  endif()
endfunction()

function(pagelab_print_summary)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  pagelab_describe_cuda(cuda)
  # What takes the time of a build, said before it starts.
  get_property(sources GLOBAL PROPERTY PAGELAB_KERNEL_SOURCES)
  list(LENGTH sources num_sources)
  set(kernels "${num_sources} sources, each for: simulator")
  if(TARGET kernels_checked)
    string(APPEND kernels ", checked simulator")
  endif()
  if(PAGELAB_HAS_CUDA)
    string(APPEND kernels ", cuda (${PAGELAB_CUDA_ARCHITECTURES})")
  endif()
  message(STATUS "pagelab ${PROJECT_VERSION}")
  message(STATUS "  build type   ${CMAKE_BUILD_TYPE}, -march=${PAGELAB_MARCH}")
  message(STATUS "  CUDA         ${cuda}")
  message(STATUS "  kernels      ${kernels}")
  message(STATUS "  sanitizers   ${PAGELAB_SANITIZE}")
  message(STATUS "  tests ${PAGELAB_TESTS}, benchmarks ${PAGELAB_BENCHMARKS}, docs ${PAGELAB_DOCS}")
endfunction()
