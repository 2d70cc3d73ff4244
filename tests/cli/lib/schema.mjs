// The part of JSON Schema that capi/schemas uses. A keyword it does not know is an error, so that no rule goes unchecked.
import fs from 'node:fs';
import path from 'node:path';
import { repository } from './workspace.mjs';

const annotations = new Set(['$schema', 'title', 'description', '$defs']);

const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value);
const isType = (value, type) => typeOf(value) === type || (type === 'number' && typeof value === 'number');

const rules = {
  type: (v, want, at) => (isType(v, want) ? [] : [`${at}: ${typeOf(v)} is no ${want}`]),
  const: (v, want, at) => (v === want ? [] : [`${at}: ${JSON.stringify(v)} is not ${JSON.stringify(want)}`]),
  enum: (v, words, at) => (words.includes(v) ? [] : [`${at}: ${JSON.stringify(v)} is none of ${words}`]),
  pattern: (v, text, at) => (typeof v !== 'string' || new RegExp(text, 'u').test(v) ? [] : [`${at}: "${v}" does not match ${text}`]),
  minimum: (v, n, at) => (typeof v !== 'number' || v >= n ? [] : [`${at}: ${v} < ${n}`]),
  maximum: (v, n, at) => (typeof v !== 'number' || v <= n ? [] : [`${at}: ${v} > ${n}`]),
  minLength: (v, n, at) => (typeof v !== 'string' || v.length >= n ? [] : [`${at}: too short`]),
  minItems: (v, n, at) => (!Array.isArray(v) || v.length >= n ? [] : [`${at}: too few items`]),
  minProperties: (v, n, at) => (typeOf(v) !== 'object' || Object.keys(v).length >= n ? [] : [`${at}: too few members`]),
  required: (v, names, at) => (typeOf(v) !== 'object' ? [] : names.filter((n) => !(n in v)).map((n) => `${at}: ${n} is missing`)),
};

function check(value, schema, root, at) {
  const faults = [];
  for (const [word, rule] of Object.entries(schema)) {
    if (annotations.has(word)) continue;
    if (rules[word]) faults.push(...rules[word](value, rule, at));
    else if (word === '$ref') faults.push(...check(value, root.$defs[rule.slice('#/$defs/'.length)], root, at));
    else if (word === 'anyOf') {
      const tries = rule.map((s) => check(value, s, root, at));
      if (!tries.some((t) => t.length === 0)) faults.push(...tries.sort((a, b) => a.length - b.length)[0]);
    } else if (word === 'items') {
      if (Array.isArray(value)) value.forEach((item, i) => faults.push(...check(item, rule, root, `${at}[${i}]`)));
    } else if (word === 'properties') {
      if (typeOf(value) === 'object') for (const [name, s] of Object.entries(rule)) if (name in value) faults.push(...check(value[name], s, root, `${at}.${name}`));
    } else if (word === 'additionalProperties') {
      if (typeOf(value) !== 'object') continue;
      const others = Object.keys(value).filter((n) => !(n in (schema.properties ?? {})));
      if (rule === false) faults.push(...others.map((n) => `${at}: ${n} is not a member`));
      else for (const n of others) faults.push(...check(value[n], rule, root, `${at}.${n}`));
    } else throw new Error(`the schema keyword ${word} is not known here`);
  }
  return faults;
}

/** What is wrong with a document, by the schema's file name. */
export function faults(name, value) {
  const schema = JSON.parse(fs.readFileSync(path.join(repository, 'capi/schemas', `${name}.json`), 'utf8'));
  return check(value, schema, schema, '$');
}
