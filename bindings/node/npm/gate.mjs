// What a binary must be before it is packed. Everything it needs is part of the C library of its system; everything else is inside.
import { isElf, readElf } from './elf.mjs';
import { readMachO } from './macho.mjs';

const allowed = {
  linux: /^(lib(c|m|dl|pthread)\.so\.\d|ld-linux-[a-z0-9-]+\.so\.\d)$/,
  darwin: /^\/usr\/lib\/lib(System\.B|c\+\+\.1)\.dylib$/,
};
const entryPoints = new Set(['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
// What a host that carries libraries of its own could put in the place of ours.
const fromHost = /^(SSL|EVP|CRYPTO|uv|ZSTD|sqlite3|archive|XXH|nettle|deflate|inflate|BZ2|lzma)_/;

const byNumbers = (a, b) => {
  const [x, y] = [a, b].map((v) => v.split('.').map(Number));
  for (let i = 0; i < Math.max(x.length, y.length); i += 1) if ((x[i] ?? 0) !== (y[i] ?? 0)) return (x[i] ?? 0) - (y[i] ?? 0);
  return 0;
};

function elfFaults(elf, kind, platform) {
  const faults = [];
  if (!elf.stripped) faults.push('it is not stripped');
  if (kind === 'executable' && elf.interpreter !== platform.interpreter) faults.push(`its interpreter is ${elf.interpreter}`);
  for (const version of elf.versions) if (!version.startsWith('GLIBC_')) faults.push(`it needs ${version}`);
  if (kind !== 'addon') return faults;
  const exported = elf.defined.filter((name) => !entryPoints.has(name));
  if (exported.length > 0) faults.push(`it exports ${exported.slice(0, 3)} and ${Math.max(exported.length - 3, 0)} more`);
  for (const { name } of elf.undefinedNames) if (fromHost.test(name)) faults.push(`it would take ${name} from its host`);
  return faults;
}

/** {faults, glibc?, needed}: `glibc` is the highest version of a symbol it needs. */
export function examine(data, kind, platform) {
  const file = isElf(data) ? readElf(data) : readMachO(data);
  const faults = [];
  if (file.machine !== platform.machine) faults.push(`it is for another processor (${file.machine})`);
  for (const name of file.needed) if (!allowed[platform.os].test(name)) faults.push(`it needs ${name}`);
  if (file.rpath.length > 0) faults.push(`it has an RPATH: ${file.rpath}`);
  if (platform.os !== 'linux') return { faults, needed: file.needed };
  faults.push(...elfFaults(file, kind, platform));
  const glibc = file.versions.filter((v) => v.startsWith('GLIBC_')).map((v) => v.slice('GLIBC_'.length)).filter((v) => /^[0-9.]+$/.test(v)).sort(byNumbers).at(-1);
  return { faults, needed: file.needed, glibc };
}

export const highest = (versions) => versions.filter((v) => v !== undefined).sort(byNumbers).at(-1);
