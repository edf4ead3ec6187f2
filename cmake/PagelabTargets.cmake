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
# there is nvcc, NAME_cuda. NAME itself stands for all of them. The g++ builds see a one-line file that
# includes the real one, because CMake gives a source file one language only; line numbers stay those of
# the source. The checked kernels take no flags of the host's sanitizers (and therefore link reference,
# which passes them on, for their users only): they are instrumented for pagelab's own hooks.
function(pagelab_add_kernels name)
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
  set_property(GLOBAL APPEND PROPERTY PAGELAB_KERNEL_SOURCES ${ARGN})
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE inside)
    set(wrapper "${PROJECT_BINARY_DIR}/simulated/${inside}.cpp")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${inside}\"\n" @ONLY)
    target_sources(${name}_simulated PRIVATE "${wrapper}")
    if(PAGELAB_CHECKED_KERNELS)
      target_sources(${name}_checked PRIVATE "${wrapper}")
    endif()
    if(PAGELAB_HAS_CUDA)
      target_sources(${name}_cuda PRIVATE "${path}")
    endif()
  endforeach()
endfunction()

# pagelab_add_test(NAME [TOGETHER file.cpp ...] [SOURCES file.cpp ...] [LINK target ...] [LABELS label ...]): one
# doctest program; ctest sees each of its cases. A case that needs a GPU and finds none prints "SKIPPED:" and
# counts as skipped. TOGETHER: sources that are compiled as one (pagelab_compile_together), SOURCES: the others.
function(pagelab_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "TOGETHER;SOURCES;LINK;LABELS")
  add_executable(test_${name} ${arg_TOGETHER} ${arg_SOURCES})
  if(arg_TOGETHER)
    pagelab_compile_together(test_${name} tests ${arg_TOGETHER})
  endif()
  target_link_libraries(test_${name} PRIVATE
    test_support ${arg_LINK} pagelab_warnings pagelab_sanitizers)
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

# pagelab_add_lesson(NN_name [KERNELS] [LINK target ...]): the lesson in the folder of that name. Its example
# becomes the program lesson_NN_name; its check is compiled against the solution, which must pass, and against each
# wrong answer, which must be rejected in the task that the answer's first line names ("// Wrong in task
# 2: ..."). The exercise is compiled when `pagelab check` is called, so that a half-written one breaks no
# build. KERNELS: an answer's kernels are in the lesson's answer.cu, the example's in its kernels.cu, if it has
# one, or in what it LINKs. Such a lesson is about what the simulator's checks say, so where there are no
# checked kernels it is not built.
function(pagelab_add_lesson name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KERNELS" "" "LINK")
  if(arg_KERNELS AND NOT PAGELAB_CHECKED_KERNELS)
    return()
  endif()
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
  string(SUBSTRING "${name}" 0 2 number)
  add_executable(lesson_${name} ${folder}/example.cpp)
  target_link_libraries(lesson_${name} PRIVATE reference pagelab_warnings pagelab_sanitizers)
  if(arg_KERNELS)
    target_link_libraries(lesson_${name} PRIVATE ${arg_LINK} runtime simt)
    if(EXISTS ${folder}/kernels.cu)
      pagelab_add_kernels(lesson_${name}_kernels ${folder}/kernels.cu)
      target_link_libraries(lesson_${name} PRIVATE lesson_${name}_kernels)
      set_target_properties(lesson_${name}_kernels_checked PROPERTIES PAGELAB_STEPPED ON)
    endif()
    # What is right in the simulator, and what is asked for, must be CUDA: nvcc has to take it too.
    foreach(answer IN ITEMS solution exercise)
      if(PAGELAB_HAS_CUDA)
        add_library(lesson_${name}_${answer}_cuda OBJECT ${folder}/answer.cu)
        target_link_libraries(lesson_${name}_${answer}_cuda PRIVATE pagelab_options pagelab_cuda_kernel)
        target_compile_definitions(lesson_${name}_${answer}_cuda
          PRIVATE "PAGELAB_ANSWER=\"${folder}/${answer}.h\"")
      endif()
    endforeach()
  endif()
  if(TARGET pagelab_program)
    add_dependencies(pagelab_program lesson_${name})
  endif()
  add_test(NAME "lesson ${number}: the example prints example.txt"
    COMMAND sh -c "\"$0\" | diff -u \"$1\" -" $<TARGET_FILE:lesson_${name}> ${folder}/example.txt)

  pagelab_add_lesson_check(check_${name}_solution ${folder} solution.h)
  add_test(NAME "lesson ${number}: the solution passes" COMMAND check_${name}_solution)
  set_tests_properties("lesson ${number}: the example prints example.txt"
    "lesson ${number}: the solution passes" PROPERTIES LABELS lessons TIMEOUT 60)

  file(GLOB wrong_answers CONFIGURE_DEPENDS RELATIVE ${folder}/wrong ${folder}/wrong/*.h)
  foreach(wrong_answer IN LISTS wrong_answers)
    string(REPLACE ".h" "" mistake ${wrong_answer})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/wrong/${wrong_answer})
    file(STRINGS ${folder}/wrong/${wrong_answer} first_line LIMIT_COUNT 1)
    if(NOT first_line MATCHES "^// Wrong in task ([0-9]+):")
      message(FATAL_ERROR "${folder}/wrong/${wrong_answer} must begin with '// Wrong in task N: why'.")
    endif()
    set(task ${CMAKE_MATCH_1})
    pagelab_add_lesson_check(check_${name}_${mistake} ${folder} wrong/${wrong_answer})
    set(case "lesson ${number}: the wrong answer ${mistake} is rejected in task ${task}")
    add_test(NAME "${case}" COMMAND check_${name}_${mistake})
    set_tests_properties("${case}" PROPERTIES LABELS lessons TIMEOUT 60
      PASS_REGULAR_EXPRESSION "Task ${task}, [a-z_]+, (is not right yet|crashed|was stopped|is not done)")
  endforeach()
endfunction()

# The check of a lesson, compiled against one answer. The check of a lesson about kernels knows an answer only
# by what answer.cu tells of it: it is compiled once, and linked with each answer's kernels.
function(pagelab_add_lesson_check target folder answer)
  if(EXISTS ${folder}/answer.cu)
    cmake_path(GET folder FILENAME lesson)
    if(NOT TARGET check_${lesson})
      add_library(check_${lesson} OBJECT ${folder}/check.cpp)
      target_precompile_headers(check_${lesson} REUSE_FROM lesson_checker)
      target_link_libraries(check_${lesson}
        PUBLIC lesson_checker reference pagelab_sanitizers PRIVATE pagelab_warnings)
    endif()
    add_executable(${target} $<TARGET_OBJECTS:check_${lesson}>)
    pagelab_add_answer_kernels(${target} ${folder} ${answer})
  else()
    add_executable(${target} ${folder}/check.cpp)
    target_compile_definitions(${target} PRIVATE "PAGELAB_ANSWER=\"${folder}/${answer}\"")
    target_precompile_headers(${target} REUSE_FROM lesson_checker)
  endif()
  target_link_libraries(${target} PRIVATE lesson_checker reference pagelab_warnings pagelab_sanitizers)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lessons/checks)
endfunction()

# The kernels of one answer, compiled for the checks.
function(pagelab_add_answer_kernels check folder answer)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE inside)
  set(wrapper "${PROJECT_BINARY_DIR}/simulated/${inside}/answer.cu.cpp")
  file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${inside}/answer.cu\"\n" @ONLY)
  add_library(${check}_kernels OBJECT "${wrapper}")
  target_link_libraries(${check}_kernels PRIVATE pagelab_options pagelab_warnings pagelab_checked_kernel)
  target_compile_definitions(${check}_kernels PRIVATE "PAGELAB_ANSWER=\"${folder}/${answer}\"")
  target_link_libraries(${check} PRIVATE ${check}_kernels)
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
