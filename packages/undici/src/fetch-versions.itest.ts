import { fileURLToPath } from 'node:url';

import { spawnProcess } from '@spock/testkit';
import { expect, it } from 'vitest';

const app = fileURLToPath(new URL('../test/fetch-app.mjs', import.meta.url));

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
const CASES: readonly (readonly [node: number, first: string, agent: string, expected: object])[] = [
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
];

// The Node of this run, because others would have to be downloaded: CI runs this file on each.
const running = Number.parseInt(process.versions.node, 10);
const known = CASES.filter(([version]) => version === running);
const cases = known.length > 0 ? known : [[running, '-', '-', WORKS] as const];

it.each(cases)('the fetch of Node %i, loaded first %s, the Agent of %s', async (_node, first, agent, expected) => {
	await using fetching = spawnProcess(process.execPath, [app, first, agent]);
	const { stdout, stderr, exitCode } = await fetching.finished;
	expect([stderr, exitCode]).toEqual(['', 0]);
	expect(JSON.parse(stdout)).toEqual({ ...expected, ...AFTER });
});
