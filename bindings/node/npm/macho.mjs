// What a thin 64-bit Mach-O file says of itself: its processor, libraries and rpaths.
export const isMachO = (data) => data.length > 32 && data.readUInt32LE(0) === 0xfeedfacf;

const loadsLibrary = new Set([0xc, 0x80000018, 0x8000001f, 0x80000023]);  // LC_LOAD_DYLIB, _WEAK_, LC_REEXPORT_, _UPWARD_
const rpathCommand = 0x8000001c;

export function readMachO(data) {
  if (!isMachO(data)) throw new Error('not a thin 64-bit Mach-O file');
  const needed = [];
  const rpath = [];
  let at = 32;
  for (let i = 0; i < data.readUInt32LE(16); i += 1) {
    const command = data.readUInt32LE(at);
    const start = at + data.readUInt32LE(at + 8);
    const text = () => data.toString('latin1', start, data.indexOf(0, start));
    if (loadsLibrary.has(command)) needed.push(text());
    if (command === rpathCommand) rpath.push(text());
    at += data.readUInt32LE(at + 4);
  }
  return { machine: data.readUInt32LE(4), needed, rpath };
}
