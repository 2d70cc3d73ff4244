// Placeholder until the module has sources: proves that its headers stand alone.
#include "graph/dag.hpp"
#include "graph/scheduler.hpp"
#include "graph/task_graph.hpp"
