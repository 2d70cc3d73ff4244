#include <unistd.h>

#include "values.hpp"

namespace vx::node {

char** environment_block() { return environ; }

}  // namespace vx::node
