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

// --- the wire ------------------------------------------------------------------------------------------------------------------
// Originals are kept before anything is observed: the evaluator's own work must not show up in a trace.
const real = {
  readSync: fs.readSync, writeSync: fs.writeSync, openSync: fs.openSync, closeSync: fs.closeSync, lstatSync: fs.lstatSync, statSync: fs.statSync,
  readFileSync: fs.readFileSync, readlinkSync: fs.readlinkSync, readdirSync: fs.readdirSync, realpathSync: fs.realpathSync.native,
  exit: process.exit.bind(process), now: Date.now, createHash: crypto.createHash, env: process.env, cwd: process.cwd(), chdir: process.chdir?.bind(process),
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

// --- the trace -----------------------------------------------------------------------------------------------------------------
const max_facts = 4096

class Trace {
  facts = new Map()
  volatile = new Set()
  shared = new Set()      // files below node_modules that the config loaded
  add(fact) {
    const key = fact.k + '\0' + fact.p
    if (!this.facts.has(key) && this.facts.size <= max_facts) this.facts.set(key, fact)
  }
}

let current = null        // trace of the config being evaluated
let sink = null           // trace of the shared module being loaded, which later configs inherit
let paused = 0            // > 0 while the evaluator itself works
const seen_files = new Map()   // absolute path -> what was read, once for the whole child: one snapshot for all configs

const noting = () => paused === 0 && (sink ?? current)
function quietly(body) {
  paused++
  try {
    return body()
  } finally {
    paused--
  }
}
const mark = (reason) => noting()?.volatile?.add(reason)
const stat_or_null = (read, p) => {
  try {
    return read(p, { bigint: true, throwIfNoEntry: false }) ?? null
  } catch {
    return null
  }
}
// The numbers are libvx's fs::kind.
const kind_of = (s) => (s.isFile() ? 1 : s.isDirectory() ? 2 : s.isSymbolicLink() ? 3 : 4)

/** The bytes of a file, with stamps taken before they were read: a later change can't hide behind them. */
function snapshot(p) {
  const known = seen_files.get(p)
  if (known) return known
  const stat = stat_or_null(real.statSync, p)
  if (!stat || !stat.isFile()) return null
  const bytes = real.readFileSync(p)
  const sha = real.createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
  const stamps = { s: String(stat.size), m: String(stat.mtimeNs), c: String(stat.ctimeNs), i: String(stat.ino), h: sha, t: real.now() }
  const entry = { bytes, stamps }
  seen_files.set(p, entry)
  return entry
}

const links_of = new Map()     // directory prefix -> [link facts on the way]
function link_facts(p) {
  const known = links_of.get(p)
  if (known) return known
  const parent = path.dirname(p)
  const out = parent === p ? [] : [...link_facts(parent)]
  const stat = stat_or_null(real.lstatSync, p)
  if (stat?.isSymbolicLink()) {
    const target = real.readlinkSync(p)
    out.push({ k: 'link', p, v: target })
    out.push(...link_facts(path.resolve(parent, target)))
  }
  links_of.set(p, out)
  return out
}

function note_links(p, to = noting()) {
  if (to) for (const f of link_facts(p)) to.add(f)
}
function note_read(p, to = noting()) {
  if (!to) return
  note_links(p, to)
  const file = snapshot(p)
  if (file) to.add({ k: 'file', p, ...file.stamps })
  else note_exists(p, to)
}
function note_exists(p, to = noting()) {
  if (!to) return
  note_links(p, to)
  const stat = stat_or_null(real.statSync, p)
  to.add(stat ? { k: 'exists', p, n: kind_of(stat) } : { k: 'absent', p })
}
function note_stat(p, follow, to = noting()) {
  if (!to) return
  if (follow) note_links(p, to)
  else note_links(path.dirname(p), to)
  const stat = stat_or_null(follow ? real.statSync : real.lstatSync, p)
  if (!stat) return to.add({ k: 'absent', p })
  to.add({ k: 'stat', p, s: String(stat.size), m: String(stat.mtimeNs), n: (kind_of(stat) * 65536) | Number(stat.mode & 0o7777n), f: follow })
}
function note_dir(p, to = noting()) {
  if (!to) return
  note_links(p, to)
  let entries
  try {
    entries = real.readdirSync(p, { withFileTypes: true })
  } catch {
    return note_exists(p, to)
  }
  to.add({ k: 'dir', p, e: entries.map((e) => [e.name, kind_of(e)]) })
}

// --- observation ---------------------------------------------------------------------------------------------------------------
function wrap(object, name, before, after) {
  const original = object?.[name]
  if (typeof original !== 'function') return
  const observed = function (...args) {
    before?.(args)
    const out = new.target ? Reflect.construct(original, args, new.target === observed ? original : new.target) : Reflect.apply(original, this, args)
    return after ? after(out, args) : out
  }
  for (const [key, d] of Object.entries(Object.getOwnPropertyDescriptors(original))) if (key !== 'prototype') define(observed, key, d)
  for (const key of Object.getOwnPropertySymbols(original)) define(observed, key, Object.getOwnPropertyDescriptor(original, key))
  observed.prototype = original.prototype
  try {
    object[name] = observed
  } catch {
    define(object, name, { value: observed, configurable: true, writable: true })
  }
}
function define(object, key, descriptor) {
  try {
    Object.defineProperty(object, key, descriptor)
  } catch {
    // frozen by the runtime: stays as it is
  }
}

const as_path = (p) => {
  if (typeof p === 'number') return null
  if (Buffer.isBuffer(p)) p = p.toString()
  if (p instanceof URL || (typeof p === 'object' && p?.href)) {
    try {
      p = fileURLToPath(p)
    } catch {
      return null
    }
  }
  return typeof p === 'string' ? path.resolve(real.cwd, p) : null
}
const on_path = (note) => (args) => {
  if (!noting()) return
  const p = as_path(args[0])
  if (p !== null) note(p, args)
}

/** Kind tests record that the thing is there; any other property records the whole answer. */
function lazy_stat(stat, p, follow) {
  const tests = new Set(['isFile', 'isDirectory', 'isSymbolicLink', 'isFIFO', 'isSocket', 'isBlockDevice', 'isCharacterDevice'])
  return new Proxy(stat, {
    get(target, key) {
      if (!tests.has(key)) note_stat(p, follow)
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function observe_fs() {
  const reads = ['readFile', 'createReadStream', 'openAsBlob']
  const tests = ['exists', 'access']
  const writes = ['writeFile', 'appendFile', 'mkdir', 'mkdtemp', 'rm', 'rmdir', 'unlink', 'rename', 'cp', 'copyFile', 'symlink', 'link', 'truncate',
    'chmod', 'chown', 'lchown', 'lchmod', 'utimes', 'lutimes', 'createWriteStream']
  const watches = ['watch', 'watchFile', 'glob']
  for (const api of [fs, fs.promises]) {
    for (const base of [...reads, ...tests, ...writes, ...watches, 'open', 'stat', 'lstat', 'readdir', 'opendir', 'readlink', 'realpath']) {
      for (const name of [base, base + 'Sync']) {
        if (reads.includes(base)) wrap(api, name, on_path((p) => note_read(p)))
        if (tests.includes(base)) wrap(api, name, on_path((p) => note_exists(p)))
        if (writes.includes(base)) wrap(api, name, () => mark(`writes files (fs.${name})`))
        if (watches.includes(base)) wrap(api, name, () => mark(`fs.${name}`))
        if (base === 'open') {
          wrap(api, name, on_path((p, args) => (args[1] === undefined || typeof args[1] === 'function' || args[1] === 'r' || args[1] === 0 ? note_read(p) : mark(`writes files (fs.${name})`))))
        }
        if (base === 'readdir' || base === 'opendir') wrap(api, name, on_path((p, args) => (args[1]?.recursive ? mark(`fs.${name} with recursive`) : note_dir(p))))
        if (base === 'readlink' || base === 'realpath') wrap(api, name, on_path((p) => (note_links(p), base === 'realpath' && note_exists(p))))
        if (base !== 'stat' && base !== 'lstat') continue
        const follow = base === 'stat'
        if (name.endsWith('Sync')) wrap(api, name, on_path((p) => note_exists(p)), (out, args) => (out && noting() && as_path(args[0]) !== null ? lazy_stat(out, as_path(args[0]), follow) : out))
        else wrap(api, name, on_path((p) => note_stat(p, follow)))
      }
    }
  }
}

function observe_host() {
  for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork']) wrap(child_process, name, () => mark(`starts a process (${name})`))
  for (const name of ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'getRandomValues', 'generateKeyPair', 'generateKeyPairSync']) {
    wrap(crypto, name, () => mark(`randomness (crypto.${name})`))
  }
  for (const name of ['getRandomValues', 'randomUUID']) if (globalThis.crypto) wrap(Object.getPrototypeOf(globalThis.crypto), name, () => mark(`randomness (crypto.${name})`))
  wrap(Math, 'random', () => mark('randomness (Math.random)'))
  for (const name of ['connect', 'createConnection', 'createServer']) wrap(net, name, () => mark('the network'))
  for (const api of [http, https]) for (const name of ['request', 'get']) wrap(api, name, () => mark('the network'))
  for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6']) wrap(dns, name, () => mark('the network'))
  wrap(net.Socket.prototype, 'connect', () => mark('the network'))
  wrap(globalThis, 'fetch', () => mark('the network'))
  wrap(globalThis, 'WebSocket', () => mark('the network'))
  wrap(worker_threads, 'Worker', () => mark('worker threads'))
  for (const name of Object.keys(os)) {
    if (typeof os[name] === 'function' && !['platform', 'arch', 'type', 'endianness'].includes(name)) wrap(os, name, () => mark(`the host (os.${name})`))
  }
  for (const name of ['hrtime', 'uptime', 'memoryUsage', 'cpuUsage', 'resourceUsage', 'dlopen', 'getuid', 'getgid', 'umask']) {
    wrap(process, name, () => mark(name === 'dlopen' ? 'a native addon' : `process.${name}`))
  }
  if (process.hrtime) wrap(process.hrtime, 'bigint', () => mark('the clock (process.hrtime)'))
  for (const name of ['pid', 'ppid', 'stdin']) {
    const before = Object.getOwnPropertyDescriptor(process, name)
    if (before?.configurable) define(process, name, { configurable: true, enumerable: true, get: () => (mark(`process.${name}`), before.get ? before.get.call(process) : before.value) })
  }
  if (globalThis.performance) wrap(Object.getPrototypeOf(globalThis.performance), 'now', () => mark('the clock (performance.now)'))
  const RealDate = Date
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args, new_target) {
      if (args.length === 0) mark('the clock (new Date)')
      return Reflect.construct(target, args, new_target)
    },
    apply(target, self, args) {
      mark('the clock (Date)')
      return Reflect.apply(target, self, args)
    },
    get(target, key) {
      if (key === 'now') mark('the clock (Date.now)')
      return Reflect.get(target, key, target)
    },
  })
  define(RealDate.prototype, 'constructor', { value: globalThis.Date, writable: true, configurable: true })
}

let env_values = {}
let env_given = {}
/** Each config sees the environment vx was started with; what one writes is gone for the next. */
function observe_env(held_back) {
  env_given = { ...real.env, ...held_back }
  env_values = { ...env_given }
  const note = (name) => typeof name === 'string' && noting() && (sink ?? current).add({ k: 'env', p: name })
  define(process, 'env', {
    configurable: true, enumerable: true, writable: true,
    value: new Proxy({}, {
      get: (_, name) => (note(name), typeof name === 'string' ? env_values[name] : undefined),
      has: (_, name) => (note(name), name in env_values),
      set: (_, name, value) => ((env_values[name] = String(value)), true),
      deleteProperty: (_, name) => (delete env_values[name], true),
      defineProperty: (_, name, d) => ((env_values[name] = String(d.value)), true),
      ownKeys: () => (noting() && (sink ?? current).add({ k: 'env_all', p: '' }), Reflect.ownKeys(env_values)),
      getOwnPropertyDescriptor: (_, name) => (note(name), name in env_values ? { value: env_values[name], writable: true, enumerable: true, configurable: true } : undefined),
    }),
  })
}

// --- resolution ----------------------------------------------------------------------------------------------------------------
let root = real.cwd
const own_names = new Set(['@vzn/vx', '@vzn/vx/config'])
const own_exports = { defineProject: (config) => config, defineWorkspace: (config) => config }
const is_shared = (p) => p.includes('/node_modules/')
const twins = { '.js': ['.ts', '.tsx'], '.mjs': ['.mts'], '.cjs': ['.cts'], '.jsx': ['.tsx'] }
const endings = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json']
const show = (p) => (p.startsWith(root + '/') ? p.slice(root.length + 1) : p)

function existing_file(p, to) {
  const stat = stat_or_null(real.statSync, p)
  if (stat?.isFile()) return true
  to?.add(stat ? { k: 'exists', p, n: kind_of(stat) } : { k: 'absent', p })
  return false
}

/** A path import: the file itself, its TypeScript twin, then the usual endings and index files. */
function resolve_file(p, to) {
  if (existing_file(p, to)) return p
  const ext = path.extname(p)
  for (const twin of twins[ext] ?? []) if (existing_file(p.slice(0, -ext.length) + twin, to)) return p.slice(0, -ext.length) + twin
  for (const e of endings) if (existing_file(p + e, to)) return p + e
  if (stat_or_null(real.statSync, p)?.isDirectory()) for (const e of endings) if (existing_file(`${p}/index${e}`, to)) return `${p}/index${e}`
  return null
}

function pnp_above(dir) {
  for (;; dir = path.dirname(dir)) {
    if (stat_or_null(real.statSync, path.join(dir, '.pnp.cjs'))) return true
    if (dir === path.dirname(dir)) return false
  }
}

/** What Node looks at for a bare specifier: the first node_modules that holds the package, and every place before it. */
function note_package(spec, from, to) {
  const name = spec.split('/').slice(0, spec.startsWith('@') ? 2 : 1).join('/')
  for (let dir = path.dirname(from); ; dir = path.dirname(dir)) {
    if (path.basename(dir) !== 'node_modules') {
      const at = path.join(dir, 'node_modules', name)
      const stat = stat_or_null(real.statSync, at)
      if (stat) {
        note_links(at, to)
        note_read(path.join(at, 'package.json'), to)
        return
      }
      to.add({ k: 'absent', p: at })
    }
    if (dir === path.dirname(dir)) return
  }
}

function unresolved(spec, from, bare) {
  const what = `cannot resolve ${JSON.stringify(spec)}, imported by ${show(from)}`
  const place = place_of_import(from, spec)
  if (!bare) return new Refusal(`${what}: no such file`, place)
  if (pnp_above(path.dirname(from))) {
    return new Refusal(`${what}: Yarn PnP keeps packages where a config can't reach them; set "nodeLinker: node-modules" in .yarnrc.yml and install again`, place)
  }
  return new Refusal(`${what}: install dependencies first`, place)
}

function place_of_import(file, spec) {
  const lines = snapshot(file)?.bytes.toString('utf8').split('\n') ?? []
  for (let i = 0; i < lines.length; i++) {
    for (const q of ['"', "'", '`']) {
      const at = lines[i].indexOf(q + spec + q)
      if (at >= 0) return { file, line: i + 1, column: Buffer.byteLength(lines[i].slice(0, at)) + 1 }
    }
  }
  return { file }
}

/** { own } | { builtin } | { data } | { file } with a real path. */
function resolve(spec, from, how, to) {
  if (own_names.has(spec)) return { own: true }
  if (isBuiltin(spec)) return { builtin: spec }
  if (spec.startsWith('data:')) return { data: spec }
  const is_path = spec.startsWith('./') || spec.startsWith('../') || spec === '.' || spec === '..' || path.isAbsolute(spec) || spec.startsWith('file:')
  let file = null
  if (is_path) {
    const [clean] = spec.startsWith('file:') ? [fileURLToPath(new URL(spec.split(/[?#]/)[0]))] : spec.split(/[?#]/)
    file = resolve_file(path.resolve(path.dirname(from), how === 'import' ? decodeURI(clean) : clean), to)
  } else {
    if (!spec.startsWith('#')) note_package(spec, from, to)
    note_scope(from, to)
    file = quietly(() => resolve_bare(spec, from, how))
    if (file !== null && !existing_file(file, to)) file = resolve_file(file, to)
  }
  if (file === null) throw unresolved(spec, from, !is_path)
  note_links(file, to)
  return { file: real.realpathSync(file) }
}

function resolve_bare(spec, from, how) {
  try {
    if (how === 'import' && import.meta.resolve) {
      const url = import.meta.resolve(spec, pathToFileURL(from).href)
      return url.startsWith('file:') ? fileURLToPath(url) : null
    }
    return createRequire(from).resolve(spec)
  } catch (e) {
    if (e.code === 'MODULE_NOT_FOUND' || e.code === 'ERR_MODULE_NOT_FOUND' || e.code === 'ERR_UNSUPPORTED_DIR_IMPORT') return null
    throw new Refusal(`cannot resolve ${JSON.stringify(spec)}, imported by ${show(from)}: ${first_line(e)}`, place_of_import(from, spec))
  }
}

/** The package.json that decides how `file` is read. */
function note_scope(file, to) {
  for (let dir = path.dirname(file); ; dir = path.dirname(dir)) {
    const p = path.join(dir, 'package.json')
    const found = snapshot(p)
    if (found) {
      to?.add({ k: 'file', p, ...found.stamps })
      try {
        return JSON.parse(found.bytes.toString('utf8').replace(/^\ufeff/, ''))
      } catch {
        return {}
      }
    }
    to?.add({ k: 'absent', p })
    if (dir === path.dirname(dir) || path.basename(dir) === 'node_modules') return {}
  }
}

const esm_syntax = /^\s*(?:import\s*[\w{*"'$]|import\s*\(?["'{]|export\s+(?:default|const|let|var|function|class|async|type|interface|enum|\{|\*)|export\s*[{*])|\bimport\.meta\b/m
function format_of(file, source, to) {
  const ext = path.extname(file)
  if (ext === '.json') return 'json'
  if (ext === '.node') return 'native'
  if (ext === '.mjs' || ext === '.mts') return 'esm'
  if (ext === '.cjs' || ext === '.cts') return 'cjs'
  const type = note_scope(file, to)?.type
  if (type === 'module') return 'esm'
  if (is_shared(file)) return 'cjs'
  return esm_syntax.test(source()) ? 'esm' : 'cjs'
}

// --- TypeScript ----------------------------------------------------------------------------------------------------------------
const is_typescript = (p) => /\.[mc]?tsx?$/.test(p)
let route = null
/** The first that is there: esbuild from the root, the runtime's own stripping, typescript from the config. */
function typescript_route(file) {
  if (route) return route
  return quietly(() => {
    const from = (dir, name) => {
      try {
        return createRequire(path.join(dir, 'package.json'))(name)
      } catch {
        return null
      }
    }
    const esbuild = from(root, 'esbuild')
    if (typeof esbuild?.transform === 'function') return (route = { name: 'esbuild', esbuild })
    if (typeof module.stripTypeScriptTypes === 'function') return (route = { name: 'strip' })
    const ts = from(path.dirname(file), 'typescript') ?? from(root, 'typescript')
    if (typeof ts?.transpileModule === 'function') return (route = { name: 'typescript', ts })
    const stale = ts ? ` (the typescript ${ts.version ?? ''} found here can't translate one file; versions before 7 can)` : ''
    throw new Refusal(`${show(file)} is TypeScript, which ${process.release?.name ?? 'node'} ${process.version} can't read${stale}: use a runtime that strips types (Node 22.18 or later), install esbuild or typescript, or write the config as .mjs or .jsonc`, { file })
  })
}

const esbuild_options = (file, format) => ({ loader: file.endsWith('x') ? 'tsx' : 'ts', format: format === 'cjs' ? 'cjs' : 'esm', target: 'es2022', sourcefile: file, tsconfigRaw: '{}', logLevel: 'silent' })
function esbuild_failure(file, e) {
  const first = e.errors?.[0]
  const at = first?.location ? { file, line: first.location.line, column: Buffer.byteLength(first.location.lineText.slice(0, first.location.column)) + 1 } : { file }
  return new Refusal(`syntax error: ${first?.text ?? first_line(e)}`, at)
}
function translate_here(r, file, source, format) {
  if (r.name === 'strip') {
    try {
      return module.stripTypeScriptTypes(source, { mode: 'strip' })
    } catch (e) {
      if (e.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw new Refusal(`syntax error: ${first_line(e)}`, { file })
      return module.stripTypeScriptTypes(source, { mode: 'transform' })
    }
  }
  const { ts } = r
  const out = ts.transpileModule(source, {
    fileName: file, reportDiagnostics: true,
    compilerOptions: { module: format === 'cjs' ? ts.ModuleKind.CommonJS : ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, esModuleInterop: true, isolatedModules: true },
  })
  const bad = out.diagnostics?.find((d) => d.category === ts.DiagnosticCategory.Error)
  if (bad) {
    const at = bad.file ? bad.file.getLineAndCharacterOfPosition(bad.start) : null
    throw new Refusal(`syntax error: ${ts.flattenDiagnosticMessageText(bad.messageText, ' ')}`, { file, line: at && at.line + 1, column: at && at.character + 1 })
  }
  return out.outputText
}

const translations = new Map()
function to_javascript(file, format) {
  const source = snapshot(file).bytes.toString('utf8').replace(/^\ufeff/, '')
  if (!is_typescript(file)) return source
  const key = format + '\0' + file
  if (!translations.has(key)) {
    const r = typescript_route(file)
    const work = r.name === 'esbuild'
      ? quietly(() => r.esbuild.transform(source, esbuild_options(file, format))).then((out) => out.code, (e) => { throw esbuild_failure(file, e) })
      : quietly(() => translate_here(r, file, source, format))
    translations.set(key, work)
    if (work instanceof Promise) work.then((code) => translations.set(key, code), () => {})
  }
  return translations.get(key)
}
function to_javascript_now(file, format) {
  const done = is_typescript(file) ? translations.get(format + '\0' + file) : undefined
  if (typeof done === 'string') return done
  const source = snapshot(file).bytes.toString('utf8').replace(/^\ufeff/, '')
  if (!is_typescript(file)) return source
  const r = typescript_route(file)
  const code = quietly(() => {
    if (r.name !== 'esbuild') return translate_here(r, file, source, format)
    try {
      return r.esbuild.transformSync(source, esbuild_options(file, format)).code
    } catch (e) {
      throw esbuild_failure(file, e)
    }
  })
  translations.set(format + '\0' + file, code)
  return code
}

// --- modules -------------------------------------------------------------------------------------------------------------------
// Workspace files are instantiated for each config; files below node_modules once, with what they consulted kept for every config
// that loads them.
const can_link = typeof vm.SourceTextModule === 'function' && !is_bun && !is_deno
const shared_modules = new Map()   // file -> promise of a linked and evaluated module
const shared_traces = new Map()    // file -> Trace of its own load
const shared_deps = new Map()      // file -> Set of shared files it loads
const shared_owner = new Map()     // file -> the file whose load first brought it in
let shared_turn = Promise.resolve()

const trace_of = (file) => {
  if (!shared_traces.has(file)) shared_traces.set(file, new Trace())
  return shared_traces.get(file)
}

/** A module made of plain values. */
async function synthetic(names, fill, identifier) {
  const m = new vm.SyntheticModule(names, function () { fill(this) }, { identifier })
  await m.link(() => {})
  await m.evaluate()
  return m
}
const namespace_module = (ns, id) => synthetic(Object.keys(ns), (m) => Object.keys(ns).forEach((k) => m.setExport(k, ns[k])), id)
const names_of = (exports) => (exports !== null && (typeof exports === 'object' || typeof exports === 'function') ? Object.keys(exports).filter((k) => k !== 'default') : [])
const commonjs_module = (exports, id) => synthetic(['default', ...names_of(exports)], (m) => {
  m.setExport('default', exports)
  for (const k of names_of(exports)) m.setExport(k, exports[k])
}, id)

const builtins = new Map()
function builtin_module(name) {
  const bare = name.replace(/^node:/, '')
  if (!builtins.has(bare)) builtins.set(bare, import('node:' + bare).then((ns) => namespace_module(ns, name)))
  return builtins.get(bare)
}

class Config {
  constructor(trace) {
    this.trace = trace
    this.modules = new Map()
    this.commonjs = new Map()
  }

  async import(spec, from) {
    const to = is_shared(from) ? trace_of(from) : this.trace
    const found = resolve(spec, from, 'import', to)
    if (found.own) return (this.own ??= synthetic(Object.keys(own_exports), (m) => Object.entries(own_exports).forEach(([k, v]) => m.setExport(k, v)), '@vzn/vx'))
    if (found.builtin) return builtin_module(found.builtin)
    if (found.data) return namespace_module(await import(found.data), 'data:')
    if (!is_shared(found.file)) return this.module(found.file)
    if (is_shared(from)) {
      shared_deps.get(from)?.add(found.file)
      return this.shared_module(found.file)
    }
    this.trace.shared.add(found.file)
    return this.shared_root(found.file)
  }

  /** A file of the workspace, once per config. */
  module(file) {
    if (!this.modules.has(file)) this.modules.set(file, this.make(file, this.trace))
    return this.modules.get(file)
  }

  async make(file, to) {
    note_read(file, to)
    const source = () => snapshot(file).bytes.toString('utf8')
    if (!snapshot(file)) throw new Refusal(`${show(file)} is no file`, { file })
    const format = format_of(file, source, to)
    const id = pathToFileURL(file).href
    if (format === 'json') return commonjs_json(file)
    if (format === 'native') return commonjs_module((mark('a native addon'), createRequire(file)(file)), id)
    if (format === 'cjs') return commonjs_module(is_shared(file) ? this.shared_commonjs(file) : (await to_javascript(file, 'cjs'), this.require_file(file)), id)
    const code = await to_javascript(file, 'esm')
    return new vm.SourceTextModule(code, {
      identifier: id,
      initializeImportMeta: (meta) => Object.assign(meta, { url: id, filename: file, dirname: path.dirname(file), resolve: (s) => pathToFileURL(resolve(s, file, 'import', this.trace).file ?? s).href }),
      importModuleDynamically: async (spec) => this.run(await this.import(String(spec), file)),
    })
  }

  async run(m) {
    if (m.status === 'unlinked') await m.link((spec, referrer) => this.import(spec, fileURLToPath(referrer.identifier)))
    if (m.status === 'linked') await m.evaluate()
    if (m.status === 'linking' || m.status === 'evaluating') return m
    if (m.status === 'errored') throw m.error
    return m
  }

  /** A shared file asked for by a workspace file: loaded to the end here, alone, so that its facts are known to be its own. */
  shared_root(file) {
    if (shared_modules.has(file)) return shared_modules.get(file).then((m) => this.run(m))
    const turn = shared_turn.then(async () => {
      const before = sink
      sink = trace_of(file)
      try {
        return await this.run(await this.shared_module(file, file))
      } finally {
        sink = before
      }
    })
    shared_turn = turn.catch(() => {})
    return turn
  }

  shared_module(file, owner = null) {
    if (!shared_modules.has(file)) {
      shared_deps.set(file, new Set())
      shared_owner.set(file, owner ?? this.loading ?? file)
      if (owner) this.loading = owner
      shared_modules.set(file, this.make(file, trace_of(file)))
      note_nested(file)
    }
    return shared_modules.get(file)
  }

  /** A CommonJS file below node_modules, loaded by the runtime; what it pulled in is read off the runtime's cache. */
  shared_commonjs(file) {
    const require = createRequire(file)
    const before = sink
    sink ??= trace_of(file)
    try {
      return require(file)
    } finally {
      sink = before
      note_commonjs(require.cache, file)
    }
  }

  require_file(file) {
    const known = this.commonjs.get(file)
    if (known) return known.exports
    note_read(file, this.trace)
    const m = { exports: {}, filename: file, id: file, loaded: false, children: [], paths: [], parent: null }
    this.commonjs.set(file, m)
    if (path.extname(file) === '.json') {
      m.exports = parse_json(file)
      return m.exports
    }
    const code = to_javascript_now(file, 'cjs').replace(/^#!.*/, '')
    const run = vm.compileFunction(code, ['exports', 'require', 'module', '__filename', '__dirname'], {
      filename: file, importModuleDynamically: async (spec) => this.run(await this.import(String(spec), file)),
    })
    m.require = this.require_from(file)
    Reflect.apply(run, m.exports, [m.exports, m.require, m, file, path.dirname(file)])
    m.loaded = true
    return m.exports
  }

  require_from(from) {
    const require = (spec) => {
      const found = resolve(String(spec), from, 'require', this.trace)
      if (found.own) return own_exports
      if (found.builtin) return createRequire(from)(found.builtin)
      if (is_shared(found.file)) {
        this.trace.shared.add(found.file)
        shared_owner.has(found.file) || shared_owner.set(found.file, found.file)
        return this.shared_commonjs(found.file)
      }
      const format = format_of(found.file, () => snapshot(found.file).bytes.toString('utf8'), this.trace)
      if (format === 'esm') throw new Refusal(`${show(from)} requires ${show(found.file)}, which is an ES module: use import`, { file: from })
      return this.require_file(found.file)
    }
    require.resolve = (spec) => resolve(String(spec), from, 'require', this.trace).file ?? spec
    require.cache = {}
    return require
  }
}

function parse_json(file) {
  note_read(file)
  try {
    return JSON.parse(snapshot(file).bytes.toString('utf8').replace(/^\ufeff/, ''))
  } catch (e) {
    throw new Refusal(`${show(file)} is no JSON: ${first_line(e)}`, { file })
  }
}
const commonjs_json = (file) => synthetic(['default'], (m) => m.setExport('default', parse_json(file)), pathToFileURL(file).href)

/** A package that gains or loses nested packages resolves differently. */
function note_nested(file) {
  const at = file.lastIndexOf('/node_modules/') + '/node_modules/'.length
  const parts = file.slice(at).split('/')
  const dir = file.slice(0, at) + parts.slice(0, parts[0].startsWith('@') ? 2 : 1).join('/')
  const to = trace_of(file)
  note_read(dir + '/package.json', to)
  const nested = dir + '/node_modules'
  if (stat_or_null(real.statSync, nested)) note_dir(nested, to)
  else to.add({ k: 'absent', p: nested })
}

function note_commonjs(cache, file) {
  const walk = [file]
  for (const seen = new Set(walk); walk.length > 0;) {
    const at = walk.pop()
    const m = cache[at]
    if (!m) continue
    const fresh = !shared_traces.has(at) || !shared_deps.get(at)?.size
    if (fresh && at.startsWith('/')) {
      shared_owner.has(at) || shared_owner.set(at, file)
      const to = trace_of(at)
      note_read(at, to)
      if (is_shared(at)) note_nested(at)
      const text = snapshot(at)?.bytes.toString('latin1') ?? ''
      if (/\bimport\s*\(/.test(text) || util.types.isModuleNamespaceObject(m.exports)) to.volatile.add(`module loads of ${show(at)} that can't be observed`)
      shared_deps.set(at, new Set(m.children.map((c) => c.filename).filter((f) => typeof f === 'string')))
    }
    for (const c of shared_deps.get(at) ?? []) if (!seen.has(c)) seen.add(c), walk.push(c)
  }
}

/** Everything the shared modules of a config consulted, by whatever load first brought them in. */
function inherit(trace) {
  const walk = [...trace.shared]
  for (const seen = new Set(walk); walk.length > 0;) {
    const at = walk.pop()
    for (const next of [...(shared_deps.get(at) ?? []), shared_owner.get(at)]) if (next && !seen.has(next)) seen.add(next), walk.push(next)
    const from = shared_traces.get(at)
    if (!from) continue
    for (const f of from.facts.values()) trace.add(f)
    for (const v of from.volatile) trace.volatile.add(v)
  }
}

// --- values --------------------------------------------------------------------------------------------------------------------
const first_line = (e) => String(e?.message ?? e).split('\n')[0]
const step = (p, key) => (typeof key === 'number' ? `${p}[${key}]` : /^[\w$:@/-]+$/.test(key) ? (p ? `${p}.${key}` : key) : `${p}[${JSON.stringify(key)}]`)
const why_json = 'a config must be plain JSON data, because the cache key is made of it'
const well_formed = (s) => (s.isWellFormed ? s.isWellFormed() : !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(s))

function refuse_value(p, kind) {
  throw new Refusal(`${p || 'the default export'} is ${kind}: ${why_json}`, { field: p })
}

/** The value as JSON data, or a refusal that names the path and the kind. Nothing of the config's code runs. */
function to_data(v, p, above, in_array) {
  switch (typeof v) {
    case 'string': return well_formed(v) ? v : refuse_value(p, 'a string with a lone surrogate')
    case 'boolean': return v
    case 'number': return Number.isFinite(v) ? v : refuse_value(p, String(v))
    case 'undefined': return in_array ? refuse_value(p, 'undefined in an array') : undefined
    case 'function': return refuse_value(p, 'a function')
    case 'symbol': return refuse_value(p, 'a symbol')
    case 'bigint': return refuse_value(p, 'a bigint')
  }
  if (v === null) return null
  if (above.includes(v)) refuse_value(p, 'a cycle')
  if (above.length >= 512) refuse_value(p, 'nested deeper than 512 levels')
  const proto = Object.getPrototypeOf(v)
  const inner = [...above, v]
  if (Array.isArray(v)) {
    if (proto !== Array.prototype) refuse_value(p, 'an array of a class of its own')
    return Array.from({ length: v.length }, (_, i) => to_data(data_member(v, i, step(p, i)), step(p, i), inner, true))
  }
  if (proto !== Object.prototype && proto !== null) refuse_value(p, `a ${proto?.constructor?.name ?? 'class instance'} object`)
  const out = {}
  for (const key of Reflect.ownKeys(v)) {
    const d = Object.getOwnPropertyDescriptor(v, key)
    if (!d?.enumerable) continue
    if (typeof key === 'symbol') refuse_value(p, `an object with the symbol key ${String(key)}`)
    if (!well_formed(key)) refuse_value(p, 'an object with a lone surrogate in a key')
    const value = to_data(data_member(v, key, step(p, key)), step(p, key), inner, false)
    if (value !== undefined) define(out, key, { value, enumerable: true, writable: true, configurable: true })
  }
  return out
}

function data_member(owner, key, p) {
  const d = Object.getOwnPropertyDescriptor(owner, key)
  if (d && (d.get || d.set)) refuse_value(p, d.get ? 'a getter' : 'a setter')
  return d?.value
}

// --- one config ----------------------------------------------------------------------------------------------------------------
async function default_export(config, file) {
  if (!can_link) {
    mark("module loads that this runtime doesn't let vx observe")
    const ns = await import(`${pathToFileURL(file).href}?vx=${++loads}`)
    return ns.default?.__esModule ? ns.default.default : ns.default
  }
  const real_file = real.realpathSync(file)
  note_links(file, config.trace)
  const m = await config.run(await config.module(real_file))
  const ns = m.namespace
  if (!('default' in ns)) throw new Refusal('has no default export: write `export default defineProject({ ... })`', { file })
  const value = await ns.default
  return config.commonjs.get(real_file)?.exports?.__esModule ? await value.default : value
}
let loads = 0

function place_of_error(e, file) {
  const stack = String(e?.stack ?? '')
  const place = /^(?:file:\/\/)?(\/[^\n]*?):(\d+)\n(.*)\n(\s*)\^/.exec(stack) ?? null
  const frame = /\(?(?:file:\/\/)?(\/[^\n():]*):(\d+):(\d+)\)?/.exec(stack.slice(stack.indexOf('\n    at ')))
  const where = place ? { file: decodeURI(place[1]), line: Number(place[2]), column: place[4].length + 1 } : frame && { file: decodeURI(frame[1]), line: Number(frame[2]), column: Number(frame[3]) }
  if (!where || !seen_files.has(where.file)) return { file }
  return is_typescript(where.file) && route?.name !== 'strip' ? { file: where.file } : where
}

function describe(e, file) {
  if (e instanceof Refusal) return { message: e.message, ...e.at }
  if (e instanceof Error || (typeof e === 'object' && e !== null && 'message' in e)) {
    const hint = /does not provide an export named/.test(e.message) ? ' (a type needs `import type`)' : ''
    return { message: `${e.name ?? 'Error'}: ${first_line(e)}${hint}`, ...place_of_error(e, file) }
  }
  return { message: `threw ${quietly(() => util.inspect(e)).split('\n')[0]}`, file }
}

async function evaluate(file) {
  const trace = new Trace()
  let fail
  const broken = new Promise((_, reject) => (fail = reject))
  broken.catch(() => {})
  trace.fail = fail
  current = trace
  env_values = { ...env_given }
  const reply = {}
  try {
    const value = await Promise.race([default_export(new Config(trace), file), broken])
    if (typeof value === 'function') throw new Refusal('exports a function: export what it returns', { file })
    if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Refusal(`must export an object, not ${value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value}`, { file })
    reply.json = JSON.stringify(to_data(value, '', [], false))
  } catch (e) {
    reply.error = describe(e, file)
  }
  current = null
  if (real.chdir && quietly(() => process.cwd()) !== real.cwd) real.chdir(real.cwd)
  inherit(trace)
  if (trace.facts.size > max_facts) trace.volatile.add(`more than ${max_facts} facts`)
  reply.facts = [...trace.facts.values()]
  reply.volatile = [...trace.volatile].sort()
  return reply
}

function guard_process() {
  process.exit = process.reallyExit = (code) => {
    if (!current) real.exit(code)
    send({ exit: code ?? process.exitCode ?? 0 })
    real.exit(0)
  }
  process.on('uncaughtException', (e) => current?.fail(e))
  process.on('unhandledRejection', (e) => current?.fail(e))
  process.on('beforeExit', () => {
    if (!current) return
    current.fail(new Refusal('never finishes: something it awaits can no longer happen'))
    setImmediate(() => {})
  })
}

async function main() {
  const init = receive()
  if (!init) return
  root = init.root
  const really_exit = process.reallyExit
  real.exit = (code) => (really_exit ? Reflect.apply(really_exit, process, [code ?? 0]) : undefined)
  guard_process()
  observe_fs()
  observe_host()
  observe_env(init.env)
  module.syncBuiltinESMExports?.()
  if (is_bun) globalThis.Bun.plugin({ name: 'vx', setup: (b) => own_names.forEach((n) => b.module(n, () => ({ exports: own_exports, loader: 'object' }))) })
  send({ hello: { version: process.version, observed: can_link } })
  for (let request = receive(); request; request = receive()) {
    for (const f of request.files) {
      // Translations of the round start together; one that fails is reported by the config that needs it.
      if (can_link && is_typescript(f)) try { Promise.resolve(to_javascript(f, format_of(f, () => snapshot(f).bytes.toString('utf8')))).catch(() => {}) } catch { /* told later */ }
    }
    for (const f of request.files) {
      send({ begin: f })
      send(await evaluate(f))
    }
  }
  real.exit(0)
}
main()
