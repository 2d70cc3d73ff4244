// Evaluates vx configs in one child process: node, bun or deno. Requests arrive on descriptor 3, replies leave on 4, each a
// little-endian u32 length and JSON. What an evaluation consulted goes back with its value, so that the next run can serve it
// without a process. Started with the text of this file as an argument: it must import nothing but built-in modules.
import child_process from 'node:child_process'
import crypto from 'node:crypto'
import dns from 'node:dns'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import module, { createRequire, isBuiltin } from 'node:module'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import util from 'node:util'
import { fileURLToPath, pathToFileURL } from 'node:url'
import vm from 'node:vm'
import worker_threads from 'node:worker_threads'

const own_require = createRequire   // the runtime's own; configs get an observed one

// --- the wire ------------------------------------------------------------------------------------------------------------------
// Originals are kept before anything is observed: the evaluator's own work must not show up in a trace.
// The runtime's functions call each other through what is observed, hence the pause.
const own = (f) => (...args) => quietly(() => Reflect.apply(f, fs, args))
const real = {
  readSync: fs.readSync, writeSync: fs.writeSync, lstatSync: own(fs.lstatSync), statSync: own(fs.statSync), readFileSync: own(fs.readFileSync),
  readlinkSync: own(fs.readlinkSync), readdirSync: own(fs.readdirSync), realpathSync: own(fs.realpathSync.native), exit: process.exit.bind(process),
  now: Date.now, createHash: crypto.createHash, env: process.env, cwd: process.cwd(), chdir: process.chdir?.bind(process), spawnSync: child_process.spawnSync,
}
const is_deno = typeof globalThis.Deno !== 'undefined'
const is_bun = typeof globalThis.Bun !== 'undefined'
const wire_in = is_deno ? fs.openSync('/dev/fd/3', 'r') : 3
const wire_out = is_deno ? fs.openSync('/dev/fd/4', 'w') : 4

function read_exactly(n) {
  const buffer = Buffer.alloc(n)
  for (let at = 0; at < n;) {
    let got
    try {
      got = real.readSync(wire_in, buffer, at, n - at, null)
    } catch (e) {
      if (e.code === 'EAGAIN' || e.code === 'EINTR') continue
      return null
    }
    if (got === 0) return null
    at += got
  }
  return buffer
}

function receive() {
  const head = read_exactly(4)
  const body = head && read_exactly(head.readUInt32LE(0))
  return body && JSON.parse(body.toString('utf8'))
}

function send(message) {
  const body = Buffer.from(JSON.stringify(message), 'utf8')
  const frame = Buffer.alloc(4 + body.length)
  frame.writeUInt32LE(body.length, 0)
  body.copy(frame, 4)
  for (let at = 0; at < frame.length;) {
    try {
      at += real.writeSync(wire_out, frame, at, frame.length - at)
    } catch (e) {
      if (e.code !== 'EAGAIN' && e.code !== 'EINTR') real.exit(1)
    }
  }
}

/** A refusal whose text goes to the user as it is. */
class Refusal extends Error {
  constructor(message, at = {}) {
    super(message)
    this.at = at
  }
}

