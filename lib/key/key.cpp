// Placeholder until the module has sources: proves that its headers stand alone.
#include "key/digest.hpp"
#include "key/fold.hpp"
