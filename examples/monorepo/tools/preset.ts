// What the TypeScript projects share. A preset is a plain function: its result is copied into each project's config.
interface Task {
  description?: string;
  exec: { command: string };
  dependsOn?: string[];
  cache?: { inputs: { files: string[]; workspaceFiles?: string[] }; outputs: { files: string[] } };
}

const shared = ['tsconfig.base.json'];

/** `build` compiles `src` to `dist` after the packages it needs, `test` runs on what was built, `lint` needs nothing. */
export function typescriptPackage(extra: Record<string, Task> = {}): { tasks: Record<string, Task> } {
  return {
    tasks: {
      build: {
        description: 'Compile src to dist',
        exec: { command: 'tsc -p tsconfig.json' },
        dependsOn: ['^build'],
        cache: { inputs: { files: ['src/**', 'tsconfig.json'], workspaceFiles: shared }, outputs: { files: ['dist/**'] } },
      },
      test: {
        exec: { command: 'node --test test/*.test.mjs' },
        dependsOn: ['build'],
        cache: { inputs: { files: ['test/**'] }, outputs: { files: [] } },
      },
      lint: lint(['src/**', 'test/**']),
      ...extra,
    },
  };
}

/** The example's own small linter over the given files. */
export function lint(files: string[]): Task {
  return {
    exec: { command: 'node ../../tools/lint.mjs' },
    cache: { inputs: { files, workspaceFiles: ['tools/lint.mjs'] }, outputs: { files: [] } },
  };
}
