/// \file
/// A mark for the simulator's own functions in headers that checked kernels include: the compiler puts no
/// hooks into them (tsan_hooks.cpp), because they are no part of the kernel.
///
///     [[gnu::noinline, PAGELAB_NOT_HOOKED]] inline void word();
#pragma once

#if defined(__clang__)
#define PAGELAB_NOT_HOOKED clang::no_sanitize("thread", "coverage")
#else
/// Attributes, for the inside of [[…]].
#define PAGELAB_NOT_HOOKED gnu::no_sanitize("thread"), gnu::no_sanitize_coverage
#endif
