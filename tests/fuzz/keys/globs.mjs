// The task-glob dialect, written a second time: what vx selects is compared with this.

function expand(text) {
  const open = text.indexOf('{');
  if (open < 0) return [text];
  let depth = 0;
  const cuts = [open];
  for (let i = open; i < text.length; i++) {
    if (text[i] === '{') depth++;
    else if (text[i] === ',' && depth === 1) cuts.push(i);
    else if (text[i] === '}' && --depth === 0) {
      cuts.push(i);
      const arms = cuts.slice(1).map((end, k) => text.slice(cuts[k] + 1, end));
      return arms.flatMap((arm) => expand(text.slice(0, open) + arm + text.slice(i + 1)));
    }
  }
  throw new Error(`unclosed: ${text}`);
}

function normalize(text) {
  let t = text;
  while (t.startsWith('./')) t = t.slice(2);
  t = t.replace(/\/(?:\.?\/)+/g, '/');
  if (!t.endsWith('/')) return t;
  return /[*?]/.test(t) ? `${t}**` : t.slice(0, -1);  // "src/" is as literal as "src"
}

const quote = (c) => c.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

function segment(text) {
  return [...text].map((c) => (c === '*' ? '[^/]*' : c === '?' ? '(?:[\\x00-\\x2e\\x30-\\x7f]|[\\xc2-\\xf4][\\x80-\\xbf]+|[\\x80-\\xff])' : quote(c))).join('');
}

function compile(text) {
  const literal = !/[*?]/.test(text);
  if (literal) return { literal: text, test: (path) => path === text || path.startsWith(`${text}/`) };
  const parts = text.split('/');
  let source = '^';
  parts.forEach((part, i) => {
    const last = i === parts.length - 1;
    if (part === '**') source += last ? '.*' : '(?:[^/]+/)*';
    else source += segment(part) + (last ? '' : '/');
  });
  const tail = parts.at(-1) === '**' && parts.length > 1 ? new RegExp(`${source.slice(0, -3)}$`, 's') : null;  // `src/**` is `src`, too
  const body = new RegExp(`${source}$`, 's');
  return { test: (path) => body.test(path) || (tail !== null && tail.test(path)) };
}

export function matcher(entries) {
  const of = (sign) =>
    entries.filter((e) => e.startsWith('!') === sign).flatMap((e) => expand(normalize(sign ? e.slice(1) : e)).map((t) => compile(normalize(t))));
  const positive = of(false);
  const negative = of(true);
  return {
    literals: positive.filter((p) => p.literal !== undefined).map((p) => p.literal),
    test: (path) => positive.some((p) => p.test(path)) && !negative.some((p) => p.test(path)),
  };
}
