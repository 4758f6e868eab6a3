import { fileURLToPath } from 'node:url';

import { spawnProcess } from '@spock/testkit';
import { expect, it } from 'vitest';

const main = fileURLToPath(new URL('./main.js', import.meta.url));

it('publishers and a consumer are killed, and no order is missing', async () => {
	await using run = spawnProcess(process.execPath, [main]);
	const { exitCode, stdout, stderr } = await run.finished;
	expect(stderr).toBe('');
	expect(stdout.match(/^publisher \d was killed$/gm)).toHaveLength(5);
	expect(stdout).toContain('the consumer was killed, and starts again\n');
	expect(stdout).toContain('every order that was on disk is billed: 0 missing\n');
	expect(exitCode).toBe(0);
});
