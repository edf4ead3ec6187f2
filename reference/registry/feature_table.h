/// \file
/// The catalogue as tables, in the columns of vLLM's own documentation and one more, which says where
/// pagelab has a backend of that name. Every cell is what the rows' predicates answer; none is typed.
#pragma once

#include <string>
#include <vector>

#include "reference/registry/backend_facts.h"
#include "reference/registry/implementation.h"

namespace pagelab {

/// A table of texts.
struct FeatureTable {
  std::string title;                           ///< what its rows have in common
  std::vector<std::string> columns;            ///< their heads
  std::vector<std::vector<std::string>> rows;  ///< [number of rows, number of columns]
};

/// How a table says yes and no.
struct YesNo {
  std::string yes = "yes";  ///< it does
  std::string no = "no";    ///< it does not
};

/// Ordinary layers, latent ones, DeepSeek V4, MiniMax, state space: a table each, rows by name.
/// A backend whose cells differ between generations of GPUs has a row for each set of them; FLASH_ATTN
/// and FLASHINFER so have one for each of their kernels.
/// \param words  for the cells that say yes or no
/// \param own    pagelab's backends; which may be more than implementations() where some were registered
std::vector<FeatureTable> feature_tables(
    const YesNo& words = {}, const std::vector<Implementation>& own = implementations());

/// What pagelab's own backends take, a row each.
/// \param words  for the cells that say yes or no
/// \param own    the backends
FeatureTable own_backends_table(const YesNo& words = {},
                                const std::vector<Implementation>& own = implementations());

/// In which order backends are tried, a table a family of GPUs: ordinary layers, then latent ones.
std::vector<FeatureTable> priority_tables();

}  // namespace pagelab
