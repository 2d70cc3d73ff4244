#include <crt_externs.h>

#include "values.hpp"

namespace vx::node {

char** environment_block() { return *_NSGetEnviron(); }

}  // namespace vx::node
