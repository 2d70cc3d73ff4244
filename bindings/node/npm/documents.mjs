// lib/documents.d.ts from capi/schemas: the documents of the control plane as types, so that the two cannot disagree.
//   node bindings/node/npm/documents.mjs          writes it
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const schemas = path.resolve(here, '../../../capi/schemas');
export const target = path.resolve(here, '../lib/documents.d.ts');

/** Type name by schema file. The queries' requests are arguments of methods instead. */
const documents = {
  'cache-stats': 'CacheStatsDocument',
  event: 'RunEvent',
  info: 'InfoDocument',
  last: 'LastDocument',
  'list-tasks': 'TaskList',
  plan: 'Plan',
  'prune-cache': 'PruneDocument',
  'run-request': 'RunRequest',
  show: 'ShowDocument',
  summary: 'Summary',
  'vx.config': 'ProjectConfig',
  'vx.workspace': 'WorkspaceConfig',
  why: 'WhyDocument',
};
/** What people write, not read: every array and object of it may be read-only. */
const given = new Set(['run-request', 'vx.config', 'vx.workspace']);

const literal = (value) => JSON.stringify(value).replace(/^"(.*)"$/s, (_, text) => `'${text.replaceAll("'", "\\'")}'`);
const key = (name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : literal(name));
const primitives = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };

function comment(text, indent) {
  return text === undefined ? '' : `${indent}/** ${text} */\n`;
}

function type(schema, context, indent) {
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  if (schema.$ref) return context.local(schema.$ref.slice('#/$defs/'.length));
  if (schema.anyOf) return schema.anyOf.map((one) => type(one, context, indent)).join(' | ');
  if (schema.type === 'array') return `${context.readonly ? 'ReadonlyArray' : 'Array'}<${type(schema.items, context, indent)}>`;
  if (schema.type === 'object') return object(schema, context, indent);
  if (primitives[schema.type]) return primitives[schema.type];
  throw new Error(`no type for ${JSON.stringify(schema)}`);
}

function object(schema, context, indent) {
  const required = new Set(schema.required);
  const inner = `${indent}  `;
  const readonly = context.readonly ? 'readonly ' : '';
  const members = Object.entries(schema.properties ?? {}).map(([name, one]) =>
    `${comment(one.description, inner)}${inner}${readonly}${key(name)}${required.has(name) ? '' : '?'}: ${type(one, context, inner)};\n`);
  const others = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  if (others !== undefined) {
    if (members.length > 0) throw new Error('an object with named and other members');
    return `{ ${readonly}[name: string]: ${type(others, context, inner)} }`;
  }
  return members.length === 0 ? 'Record<string, never>' : `{\n${members.join('')}${indent}}`;
}

function declarations(file) {
  const schema = JSON.parse(fs.readFileSync(path.join(schemas, `${file}.json`), 'utf8'));
  const name = documents[file];
  const local = (def) => name + def[0].toUpperCase() + def.slice(1);
  const context = { readonly: given.has(file), local };
  const one = (called, of) => `${comment(of.description, '')}export type ${called} = ${type(of, context, '')};\n`;
  return [one(name, schema), ...Object.entries(schema.$defs ?? {}).map(([def, of]) => one(local(def), of))].join('\n');
}

export function generate() {
  return `// Made from capi/schemas by npm/documents.mjs; edit those.\n\n${Object.keys(documents).map(declarations).join('\n')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) fs.writeFileSync(target, generate());
