import { typescriptPackage } from '../../tools/preset.ts';

export default {
  ...typescriptPackage({
    start: { description: 'Print a receipt', exec: { command: 'node dist/main.js' }, dependsOn: ['build'] },
  }),
  tags: ['app'],
};
