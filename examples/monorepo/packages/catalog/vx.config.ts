import { typescriptPackage } from '../../tools/preset.ts';

export default { ...typescriptPackage(), tags: ['domain'] };
