// Placeholder until the module has sources: proves that its headers stand alone.
#include "inputs/inputs.hpp"
