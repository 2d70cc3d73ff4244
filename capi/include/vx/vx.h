/* vx/vx.h: everything libvx offers. */
#ifndef VX_VX_H
#define VX_VX_H

#include "vx/base.h"
#include "vx/workspace.h"

#endif
