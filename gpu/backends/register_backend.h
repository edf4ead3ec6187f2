/// \file
/// A backend of one's own, added to this program under a name: from then on attend, compare, generate,
/// demo, measure and the tables know it, and vLLM's selection does. As with vLLM's decorator, the file
/// that holds the backend registers it, in one line at its end:
///
///     const std::string kLogLine = register_backend({{"MY_KERNEL", {"cpu"}, my_facts()}, make_my_kernel});
///
/// and that file is compiled into the program:
///
///     cmake --preset default -DPAGELAB_OWN_BACKENDS=/home/me/my_kernel.cpp
///
/// \source vLLM v1/attention/backends/registry.py, register_backend
#pragma once

#include <deque>
#include <string>

#include "gpu/backends/catalog.h"
#include "reference/registry/registration.h"

namespace pagelab {

/// Adds a backend. A program does that before it asks for backends, in one thread.
/// \param choice  a new name, or a member of vLLM's that pagelab does not implement. Of a new name, and of
///                a member without a class (CUSTOM), what it `takes` is what vLLM's selection goes by, too;
///                of another member that remains the real one's row. The texts of the row must live on;
///                its name, path and class_name may be left empty
/// \returns       the line that vLLM logs
/// \throws Error  if pagelab has a backend of that name, it is no identifier, it has no target or an
///                unknown one, or nothing makes it
std::string register_backend(BackendChoice choice);

/// All of them, in the order of registration.
const std::deque<BackendChoice>& registered_backends();

/// vLLM's members with their rows, and what was registered here.
BackendRegistry registry_in_use();

}  // namespace pagelab
