# Builds and runs one of the projects in this folder, the way its author would:
#   cmake -D KIND=find_package|add_subdirectory -D TARGET=... -D BINARY_DIR=... -D WORK_DIR=... -P consume.cmake
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH tests_dir)
cmake_path(GET tests_dir PARENT_PATH source_dir)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(options -G Ninja -D CMAKE_BUILD_TYPE=RelWithDebInfo -D CMAKE_CXX_COMPILER=${CXX_COMPILER})
if(KIND STREQUAL "find_package")
  # A fresh prefix, so that what an earlier run installed cannot hide what is missing now.
  file(REMOVE_RECURSE ${WORK_DIR})
  run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${WORK_DIR}/prefix --component libraries)
  list(APPEND options -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix)
else()
  # What is asked is whether it builds and works, not how fast.
  list(APPEND options -D PAGELAB_SOURCES=${source_dir} -D PAGELAB_CUDA=OFF -D CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0)
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${KIND} -B ${WORK_DIR}/build ${options})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --target ${TARGET})
run(${WORK_DIR}/build/${TARGET})
