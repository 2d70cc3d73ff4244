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
    if (format === 'native') return commonjs_module((mark('a native addon'), own_require(file)(file)), id)
    if (format === 'cjs') return commonjs_module(is_shared(file) ? this.shared_commonjs(file) : (await to_javascript(file, 'cjs'), this.require_file(file)), id)
    const code = await to_javascript(file, 'esm')
    return compile(code, file, {
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
    const require = own_require(file)
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
      if (found.builtin) return own_require(from)(found.builtin)
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

