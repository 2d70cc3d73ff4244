#!/usr/bin/env python3
"""What a run would do, from Python and nothing but the C ABI: plan.py <libvx.so> <directory> [task]"""
import ctypes, json, sys

class Buf(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]

vx, ws, err, plan = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p(), ctypes.c_void_p(), Buf()
vx.vx_error_message.restype = ctypes.c_char_p
ask = json.dumps({"query": "plan", "all": True, "tasks": sys.argv[3:] or ["build"]}).encode()
if vx.vx_workspace_open(sys.argv[2].encode(), None, ctypes.byref(ws), ctypes.byref(err)) or \
   vx.vx_workspace_query(ws, ask, None, ctypes.byref(plan), ctypes.byref(err)):
    sys.exit(vx.vx_error_message(err).decode())
for task in json.loads(plan.data)["tasks"]:
    print(f'{task["id"]:30} {task.get("cacheStatus", "")}')
vx.vx_buf_dispose(ctypes.byref(plan))
vx.vx_workspace_free(ws)
