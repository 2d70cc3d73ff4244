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
  for (const name of ['module', 'exports', 'require', '__filename', '__dirname']) delete globalThis[name]   // left there by --eval
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
