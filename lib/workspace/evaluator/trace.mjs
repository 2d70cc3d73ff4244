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

