// What a 64-bit little-endian ELF file says of itself: just enough for the gate, without tools.
const tags = { needed: 1, strtab: 5, symtab: 6, soname: 14, rpath: 15, runpath: 29, verneed: 0x6ffffffe, verneednum: 0x6fffffff };

export const isElf = (data) => data.length > 64 && data.readUInt32BE(0) === 0x7f454c46;

export function readElf(data) {
  if (!isElf(data) || data[4] !== 2 || data[5] !== 1) throw new Error('not a 64-bit little-endian ELF file');
  const u64 = (at) => Number(data.readBigUInt64LE(at));
  const segments = Array.from({ length: data.readUInt16LE(56) }, (_, i) => {
    const at = u64(32) + i * data.readUInt16LE(54);
    return { type: data.readUInt32LE(at), offset: u64(at + 8), address: u64(at + 16), size: u64(at + 32) };
  });
  const fileOffset = (address) => {
    const segment = segments.find((s) => s.type === 1 && address >= s.address && address < s.address + s.size);
    return address - segment.address + segment.offset;
  };
  const dynamic = segments.find((s) => s.type === 2);
  const entries = [];
  for (let at = dynamic?.offset ?? 0; dynamic && at < dynamic.offset + dynamic.size && u64(at) !== 0; at += 16) entries.push([u64(at), u64(at + 8)]);
  const value = (tag) => entries.find(([t]) => t === tag)?.[1];
  const strings = fileOffset(value(tags.strtab));
  const text = (offset) => data.toString('latin1', strings + offset, data.indexOf(0, strings + offset));
  const all = (tag) => entries.filter(([t]) => t === tag).map(([, v]) => text(v));

  const versions = [];
  let need = value(tags.verneed) === undefined ? 0 : fileOffset(value(tags.verneed));
  for (let i = 0; i < (value(tags.verneednum) ?? 0); i += 1) {
    let one = need + data.readUInt32LE(need + 8);
    for (let k = 0; k < data.readUInt16LE(need + 2); k += 1) {
      versions.push(text(data.readUInt32LE(one + 8)));
      one += data.readUInt32LE(one + 12);
    }
    need += data.readUInt32LE(need + 12);
  }

  const sections = Array.from({ length: data.readUInt16LE(60) }, (_, i) => {
    const at = u64(40) + i * data.readUInt16LE(58);
    return { type: data.readUInt32LE(at + 4), offset: u64(at + 24), size: u64(at + 32) };
  });
  const symbols = sections.find((s) => s.type === 11);  // SHT_DYNSYM
  const defined = [];
  const undefinedNames = [];
  for (let at = symbols.offset + 24; at < symbols.offset + symbols.size; at += 24) {
    const name = text(data.readUInt32LE(at));
    const weak = data[at + 4] >> 4 === 2;
    if (data.readUInt16LE(at + 6) !== 0) defined.push(name);
    else undefinedNames.push({ name, weak });
  }
  return {
    machine: data.readUInt16LE(18),
    needed: all(tags.needed),
    rpath: [...all(tags.rpath), ...all(tags.runpath)],
    interpreter: segments.filter((s) => s.type === 3).map((s) => data.toString('latin1', s.offset, s.offset + s.size - 1))[0],
    versions: [...new Set(versions)],
    stripped: !sections.some((s) => s.type === 2),  // SHT_SYMTAB
    defined,
    undefinedNames,
  };
}
