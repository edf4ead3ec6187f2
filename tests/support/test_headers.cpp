// Nothing: what is wanted of this target are the headers that CMake precompiles for it.
