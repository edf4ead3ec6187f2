# What is built, and the flags that every target shares.

option(PAGELAB_PROGRAM "Build the pagelab program" ${PROJECT_IS_TOP_LEVEL})
option(PAGELAB_TESTS "Build the tests and lessons (needs doctest)" ${PROJECT_IS_TOP_LEVEL})
option(PAGELAB_BENCHMARKS "Build the benchmarks (needs Google Benchmark)" ${PROJECT_IS_TOP_LEVEL})
option(PAGELAB_DOCS "Add the target docs (needs Doxygen)" ${PROJECT_IS_TOP_LEVEL})
option(PAGELAB_INSTALL "Add install rules" ${PROJECT_IS_TOP_LEVEL})
option(PAGELAB_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})
option(PAGELAB_STATIC "Link libstdc++, the CUDA runtime and fmt statically (for a bare GPU machine)" OFF)
set(PAGELAB_MARCH "x86-64-v3" CACHE STRING "The CPU to compile for, as g++'s -march names it")
set(PAGELAB_SANITIZE "" CACHE STRING "Sanitizers of the host code: empty, 'address,undefined' or 'thread'")

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
if(PAGELAB_TESTS)
  find_package(doctest REQUIRED)
  include(doctest)  # at the top: its discovery of tests needs variables of a scope around the caller's
endif()

# pagelab_options: the language, the warnings, and the floating-point rules of every target.
add_library(pagelab_options INTERFACE)
add_library(pagelab::options ALIAS pagelab_options)
target_compile_features(pagelab_options INTERFACE cxx_std_20)
target_include_directories(pagelab_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/pagelab>)
# No contraction behind our back: every fused multiply-add is written `fma`, so that the same
# source gives the same bits on the CPU and on the GPU.
target_compile_options(pagelab_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-march=${PAGELAB_MARCH};-ffp-contract=off>)

# pagelab_warnings: for our own sources only, never for those of a project that uses pagelab.
add_library(pagelab_warnings INTERFACE)
target_compile_options(pagelab_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>
  # At -O3 g++ 12 warns of impossible lengths inside its own strings and fmt.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict;-Wno-stringop-overflow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PAGELAB_WERROR}>>:-Werror>)

# pagelab_sanitizers: everything but the checked kernels, which bring handlers of their own. Of
# UndefinedBehaviorSanitizer's checks those of every single pointer are left out: a third of the compiler's time for
# what AddressSanitizer reports when such a pointer is used, and for alignment, which the simulator checks itself.
add_library(pagelab_sanitizers INTERFACE)
set(PAGELAB_IS_SANITIZED OFF)
if(PAGELAB_SANITIZE)
  set(PAGELAB_IS_SANITIZED ON)
  target_compile_options(pagelab_sanitizers INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PAGELAB_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,object-size,pointer-overflow,vptr,return>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=nonnull-attribute,returns-nonnull-attribute>)
  target_link_options(pagelab_sanitizers INTERFACE
    $<$<LINK_LANGUAGE:CXX>:-fsanitize=${PAGELAB_SANITIZE}>)
endif()

# pagelab_test_code: of the sanitizers a test's own code gets AddressSanitizer alone; the other is for what is tested.
# Linked last, so that its flag stands behind the others.
add_library(pagelab_test_code INTERFACE)
if(PAGELAB_IS_SANITIZED)
  target_compile_options(pagelab_test_code INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>)
endif()

# How kernels are compiled for the simulator: plain, and with every access to memory reported to the
# simulator's hooks (simulator/simt/tsan_hooks.cpp). The compiler's instrumentation is used, the
# sanitizer's runtime is not: nothing is linked with -fsanitize=thread. At -O1 one access of the source
# stays one reported access. (At -O0 a struct that is passed by value right from memory is not reported;
# the debug preset compiles only the lessons' kernels so, which pass none, to show their variables:
# PAGELAB_STEPPED.) ThreadSanitizer's own runtime has hooks of the same names, so under it there are no
# checked kernels.
# Kernels are included by a source file that has no code of its own (pagelab_add_kernels). Of such a file
# addr2line 2.40 takes DWARF 5's first file for the source file itself, and a message would name that one;
# DWARF 4 counts files in the old way.
add_library(pagelab_simulated_kernel INTERFACE)
target_compile_definitions(pagelab_simulated_kernel INTERFACE PAGELAB_SIMULATED)
# Messages name lines, so kernels keep theirs in every build; where variables are is for the debug preset, and would
# take a fifth of the compiler's time.
set(pagelab_lines $<$<NOT:$<CONFIG:Debug>>:-g1> $<$<NOT:$<CONFIG:Debug>>:-fno-var-tracking>)
target_compile_options(pagelab_simulated_kernel INTERFACE ${pagelab_lines} -gdwarf-4)
if(PAGELAB_SANITIZE MATCHES "thread")
  set(PAGELAB_CHECKED_KERNELS OFF)
else()
  set(PAGELAB_CHECKED_KERNELS ON)
  add_library(pagelab_checked_kernel INTERFACE)
  target_compile_definitions(pagelab_checked_kernel INTERFACE PAGELAB_CHECKED)
  # A vector is loaded whole (no -ftree-sra), and code stays in the order of the source, by which lanes that
  # went apart find together again while they are counted (simulator/simt/counters.h); a hook at each step from
  # one block of code to the next tells where a loop begins again.
  set(is_stepped $<AND:$<CONFIG:Debug>,$<BOOL:$<TARGET_PROPERTY:PAGELAB_STEPPED>>>)
  target_compile_options(pagelab_checked_kernel INTERFACE $<IF:${is_stepped},-O0,-O1> -fsanitize=thread,bounds -fno-optimize-sibling-calls
    -fsanitize-coverage=trace-pc ${pagelab_lines} -gdwarf-4 -fno-reorder-blocks -fno-thread-jumps $<$<CXX_COMPILER_ID:GNU>:-fno-tree-sra>)
endif()

# pagelab_cuda_kernel: how nvcc compiles kernels. Like the host's code, it fuses nothing behind our back.
# The standard is a flag because CMake before 3.26 drops CMAKE_CUDA_STANDARD 20 without a word.
add_library(pagelab_cuda_kernel INTERFACE)
target_compile_options(pagelab_cuda_kernel INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-fmad=false;-Xcompiler=-Wall,-ffp-contract=off>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${PAGELAB_WERROR}>>:-Werror=all-warnings>)

# pagelab_fmt: Debian has no static fmt, so a program that is carried elsewhere takes the headers alone.
add_library(pagelab_fmt INTERFACE)
target_link_libraries(pagelab_fmt INTERFACE $<IF:$<BOOL:${PAGELAB_STATIC}>,fmt::fmt-header-only,fmt::fmt>)
if(PAGELAB_STATIC)
  # But a program that takes shared libraries along (PagelabBenchmarks.cmake) shares these with them.
  set(stands_alone $<NOT:$<BOOL:$<TARGET_PROPERTY:PAGELAB_CARRIES_LIBRARIES>>>)
  add_link_options($<${stands_alone}:-static-libstdc++> $<${stands_alone}:-static-libgcc>)
endif()
