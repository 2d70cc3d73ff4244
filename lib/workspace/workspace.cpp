// Placeholder until the module has sources: proves that its headers stand alone.
#include "workspace/config_loader.hpp"
#include "workspace/overlap.hpp"
#include "workspace/selection.hpp"
#include "workspace/task_config.hpp"
#include "workspace/workspace.hpp"
