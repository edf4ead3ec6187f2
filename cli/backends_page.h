/// \file
/// The feature tables as one page of HTML: sortable, searchable, and able to say which backend vLLM chooses
/// for a model on a GPU. It needs no network: every answer is computed when the page is written.
#pragma once

#include <string>
#include <vector>

#include "reference/registry/feature_table.h"

namespace pagelab::cli {

/// The page.
/// \param features    what backends can do
/// \param priorities  in which order they are tried
std::string backends_page(const std::vector<FeatureTable>& features,
                          const std::vector<FeatureTable>& priorities);

}  // namespace pagelab::cli
