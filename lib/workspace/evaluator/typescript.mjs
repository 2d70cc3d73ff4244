// --- TypeScript ----------------------------------------------------------------------------------------------------------------
const is_typescript = (p) => /\.[mc]?tsx?$/.test(p)
let route = null
/** The first that is there: esbuild from the root, the runtime's own stripping, typescript from the config. */
function typescript_route(file) {
  if (route) return route
  return quietly(() => {
    const from = (dir, name) => {
      try {
        return own_require(path.join(dir, 'package.json'))(name)
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

/** V8 keeps the place of a syntax error to itself; a runtime that only checks the text tells it. */
function place_of_syntax_error(code, file) {
  if (is_typescript(file) && route?.name !== 'strip') return { file }
  const out = quietly(() => real.spawnSync(process.execPath, ['--input-type=module', '--check', '-'], { input: code, encoding: 'utf8', timeout: 10000, env: {} }))
  const place = /^\[stdin\]:(\d+)(?:\n(.+)\n(\s*)\^)?/m.exec(out.stderr ?? '')
  return place ? { file, line: Number(place[1]), column: Buffer.byteLength((place[2] ?? '').slice(0, place[3]?.length ?? 0)) + 1 } : { file }
}
function compile(code, file, options) {
  try {
    return new vm.SourceTextModule(code, options)
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e
    throw new Refusal(`SyntaxError: ${first_line(e)}`, place_of_syntax_error(code, file))
  }
}

