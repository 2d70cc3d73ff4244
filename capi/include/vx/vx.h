/* vx/vx.h: everything libvx offers. */
#ifndef VX_VX_H
#define VX_VX_H

#include "vx/base.h"
#include "vx/cache.h"
#include "vx/graph.h"
#include "vx/inputs.h"
#include "vx/key.h"
#include "vx/workspace.h"

#endif
