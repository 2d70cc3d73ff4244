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
    return own_require(from).resolve(spec)
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

