import { fileURLToPath } from 'node:url';

import { spawnProcess } from '@spock/testkit';
import { expect, it } from 'vitest';

const app = fileURLToPath(new URL('./call.js', import.meta.url));

it('the example calls each instance in turn, and another one where one is stopped', async () => {
	await using run = spawnProcess(process.execPath, [app]);
	const { exitCode, stdout, stderr } = await run.finished;
	expect(stderr).toBe('');
	expect(stdout.split('\n')).toEqual([
		'fetch: barista-1 2, barista-2 2, barista-3 2',
		'request: barista-1 2, barista-2 2, barista-3 2',
		'request, one instance stopped: barista-N 6',
		'fetch, one instance stopped: barista-N 6',
		'NO_SUCH_SERVICE: no instance of "nobody" is registered',
		'',
	]);
	expect(exitCode).toBe(0);
});
