import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { spawnProcess } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const app = fileURLToPath(new URL('../test/fetch-app.mjs', import.meta.url));
const binaryOf = fileURLToPath(new URL('../../../tools/node-binary.sh', import.meta.url));

const WORKS = {
	texts: ['web-1', 'web-1', 'web-2', 'web-2'],
	posted: expect.stringMatching(/^web-[12]$/),
	elsewhere: 'web-1',
	refused: { code: 'ECONNREFUSED', service: 'gone', instance: 'web-9', message: expect.stringContaining('"gone"') },
	unknown: { code: 'NO_SUCH_SERVICE', message: expect.stringContaining('nobody') },
	hung: 'TimeoutError',
	ejected: ['web-N', 'web-N'],
};
/** Undici 8 has no more of the handlers that the fetch of an older undici brings. */
const FAILS = { failed: { code: 'UND_ERR_INVALID_ARG', message: expect.stringContaining('onRequestStart') } };
const AFTER = { leases: 0, isListening: false, isGlobalUnchanged: true };

// [Node, what the app loads before Node's own undici, whose Agent it gives, what comes of it]. Undici 8 needs Node 22.19.
const CASES = [
	[20, '-', '-', WORKS],
	[20, 'undici7', '-', WORKS],
	[20, '-', 'undici7', WORKS],
	[22, '-', '-', WORKS],
	[22, 'undici7', '-', WORKS],
	[22, 'undici8', '-', WORKS],
	[22, '-', 'undici7', WORKS],
	[22, '-', 'undici8', FAILS],
	[24, '-', '-', WORKS],
	[24, 'undici7', '-', WORKS],
	[24, 'undici8', '-', WORKS],
	[24, '-', 'undici7', WORKS],
	[24, '-', 'undici8', FAILS],
	[26, '-', '-', WORKS],
	[26, 'undici7', '-', WORKS],
	[26, 'undici8', '-', WORKS],
	[26, '-', 'undici7', WORKS],
	[26, '-', 'undici8', WORKS],
] as const;

// In the order of the table, so that no two fetch one binary at once.
describe.each([20, 22, 24, 26])('the fetch of Node %i', (node) => {
	const cases = CASES.filter(([version]) => version === node);
	it.each(cases)('Node %i, loaded first %s, the Agent of %s', async (_node, first, agent, expected) => {
		const { stdout: binary } = await run('bash', [binaryOf, String(node)]);
		await using process = spawnProcess(binary.trim(), [app, first, agent]);
		const { stdout, stderr, exitCode } = await process.finished;
		expect([stderr, exitCode]).toEqual(['', 0]);
		expect(JSON.parse(stdout)).toEqual({ ...expected, ...AFTER });
	});
});
