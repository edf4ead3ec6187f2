# The few words that leaf CMakeLists are written in.

# pagelab_library(NAME): a static library of ours, with its alias pagelab::NAME.
# Its sources are added by the folders it is made of: target_sources(NAME PRIVATE file.cpp ...).
function(pagelab_library name)
  add_library(${name} STATIC)
  add_library(pagelab::${name} ALIAS ${name})
  target_link_libraries(${name} PUBLIC pagelab_options PRIVATE $<BUILD_INTERFACE:pagelab_warnings>)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME pagelab_${name})
endfunction()

# pagelab_add_kernels(FILE.cu ...): each kernel source, compiled by g++ for the simulator (fast and
# checked) and, where there is nvcc, for the GPU. The g++ builds see a one-line file that includes the
# real one, because CMake gives a source file one language only; line numbers stay those of the source.
function(pagelab_add_kernels)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE inside)
    set(wrapper "${PROJECT_BINARY_DIR}/simulated/${inside}.cpp")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${inside}\"\n" @ONLY)
    target_sources(kernels_simulated PRIVATE "${wrapper}")
    if(TARGET kernels_checked)
      target_sources(kernels_checked PRIVATE "${wrapper}")
    endif()
    if(PAGELAB_HAS_CUDA)
      target_sources(kernels_cuda PRIVATE "${path}")
    endif()
  endforeach()
endfunction()

# pagelab_add_test(NAME SOURCES file.cpp ... [LINK target ...] [LABELS label ...]): one doctest program;
# ctest sees each of its cases. A case that needs a GPU and finds none prints "SKIPPED:" and counts as skipped.
function(pagelab_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;LABELS")
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE
    test_support ${arg_LINK} pagelab_warnings pagelab_sanitizers)
  doctest_discover_tests(test_${name}
    TEST_PREFIX "${name}: "
    PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED:" TIMEOUT 1200 LABELS "${name};${arg_LABELS}")
endfunction()

function(pagelab_print_summary)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  pagelab_describe_cuda(cuda)
  message(STATUS "pagelab ${PROJECT_VERSION}")
  message(STATUS "  build type   ${CMAKE_BUILD_TYPE}, -march=${PAGELAB_MARCH}")
  message(STATUS "  CUDA         ${cuda}")
  message(STATUS "  sanitizers   ${PAGELAB_SANITIZE}")
  message(STATUS "  tests ${PAGELAB_TESTS}, benchmarks ${PAGELAB_BENCHMARKS}, docs ${PAGELAB_DOCS}")
endfunction()
