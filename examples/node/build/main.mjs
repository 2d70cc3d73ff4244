// Plans and runs `build` everywhere, and shows what happened to each task. Ctrl-C ends the tasks first.
import { VxError, openWorkspace } from '@vzn/vx';

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

const workspace = await openWorkspace();
try {
  const request = { tasks: ['build'], all: true };
  const plan = await workspace.plan(request, { signal: stop.signal });
  console.log('to do:', plan.tasks.filter((t) => t.cacheStatus === 'miss').map((t) => t.id).join(' ') || 'nothing');
  for (const attempt of ['first', 'second']) {
    const summary = await workspace.run(request, {
      signal: stop.signal,
      onEvent(event) {
        if (event.kind === 'task.end') console.log(`${attempt}: ${event.taskId} ${event.status} in ${Math.round(event.durationMs)} ms`);
      },
      onOutput: ({ stream, data }) => process[stream].write(data),
    });
    process.exitCode = summary.exitCode;
  }
} catch (error) {
  if (!(error instanceof VxError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await workspace.close();
}
