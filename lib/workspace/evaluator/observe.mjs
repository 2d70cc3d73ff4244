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
  // What these lead to is looked up by the runtime, which leaves no trace.
  for (const name of ['createRequire', 'register', 'registerHooks']) wrap(module, name, () => mark(`node:module (${name})`))
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

