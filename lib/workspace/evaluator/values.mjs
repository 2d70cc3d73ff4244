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

