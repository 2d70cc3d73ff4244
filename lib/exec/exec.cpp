// Placeholder until the module has sources: proves that its headers stand alone.
#include "exec/capture.hpp"
#include "exec/mask.hpp"
#include "exec/process.hpp"
#include "exec/task_env.hpp"
