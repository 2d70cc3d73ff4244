// docs/c-api-reference.md from the public headers: node tests/docs/c_api.mjs > docs/c-api-reference.md
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const headers = ['base', 'key', 'inputs', 'graph', 'cache', 'workspace'];

/** Comments, preprocessor lines and declarations in order; a declaration ends with the `;` outside braces and parentheses. */
function parts(text) {
  const out = [];
  const body = text.slice(text.indexOf('extern "C" {'));
  const lines = body.slice(body.indexOf('#endif') + 6).split('\n');
  let held = '';
  let depth = 0;
  let comment = null;
  for (const line of lines) {
    if (/^#(ifdef|endif|if|else|elif)/.test(line) || line === '}') continue;
    if (comment !== null) {
      comment += `\n${line}`;
      if (line.includes('*/')) out.push({ kind: 'comment', text: comment }), comment = null;
      continue;
    }
    if (held === '' && line.startsWith('/*')) {
      if (line.includes('*/')) out.push({ kind: 'comment', text: line });
      else comment = line;
      continue;
    }
    if (held === '' && line.trim() === '') {
      out.push({ kind: 'blank' });
      continue;
    }
    if (held === '' && line.startsWith('#define')) {
      out.push({ kind: 'code', text: line });
      continue;
    }
    held += (held ? '\n' : '') + line;
    const bare = line.replace(/\/\*.*?\*\//g, '');
    for (const c of bare) depth += c === '{' || c === '(' ? 1 : c === '}' || c === ')' ? -1 : 0;
    if (depth === 0 && /;/.test(bare)) out.push({ kind: 'code', text: held }), held = '';
  }
  return out;
}

const prose = (comment) => comment.replace(/^\/\*\s?/, '').replace(/\s*\*\/\s*$/, '').split('\n').map((l) => l.replace(/^ {0,3}/, '')).join('\n');
const nameOf = (code) => /VX_API[^(]*[ *](vx_\w+)\(/.exec(code)?.[1];
/** Prose that is a list or a table keeps its lines; other prose flows. */
const shown = (text) => (/^\s{2,}|^ *\d\./m.test(text) ? `\`\`\`text\n${text}\n\`\`\`` : text.replace(/([<>*_|])/g, '\\$1'));

function chapter(header) {
  const text = fs.readFileSync(path.join(root, 'capi/include/vx', `${header}.h`), 'utf8');
  const lines = [`## vx/${header}.h`, '', shown(prose(text.slice(0, text.indexOf('*/') + 2)).replace(/^vx\/\w+\.h: /, '')), ''];
  let notes = [];
  let code = [];
  const flush = () => {
    if (code.length > 0) {
      const names = code.map(nameOf).filter(Boolean);
      if (names.length > 0) lines.push(`### ${names.join(', ')}`, '');
      lines.push('```c', ...code, '```', '');
    }
    for (const note of notes) lines.push(shown(prose(note)), '');
    notes = [];
    code = [];
  };
  for (const part of parts(text)) {
    if (part.kind === 'blank') flush();
    else if (part.kind === 'comment') {
      if (code.length > 0) flush();
      notes.push(part.text);
    } else code.push(part.text);
  }
  flush();
  return lines.join('\n');
}

export function document() {
  return ['# C API reference', '', 'Every declaration of the public headers with what they say about it. The guide is [c-api.md](c-api.md).', '',
    'This page is made by `node tests/docs/c_api.mjs`; a test compares it.', '', ...headers.map(chapter)].join('\n');
}

export function names() {
  return headers.flatMap((h) => [...fs.readFileSync(path.join(root, 'capi/include/vx', `${h}.h`), 'utf8').matchAll(/VX_API[^(;]*[ *](vx_\w+)\(/g)].map((m) => m[1]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(document());
