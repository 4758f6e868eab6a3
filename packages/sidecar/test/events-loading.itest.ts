import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

/** That of the package, whose scripts have names: a bundle has one for all. */
const BIN = fileURLToPath(new URL('../bin/sidecar.js', import.meta.url));
const EVENTS_SCRIPT = /\/packages\/events\/|\/event-guest-[^/]*\.js$/;

/** The scripts of events that a process has loaded, which Node writes down when it ends. */
function eventScriptsIn(directory: string): string[] {
	const urls = readdirSync(directory).flatMap((name) => {
		const { result } = JSON.parse(readFileSync(join(directory, name), 'utf8')) as { result: { url: string }[] };
		return result.map(({ url }) => url);
	});
	expect(urls.some((url) => url.includes('/packages/sidecar/'))).toBe(true);
	return urls.filter((url) => EVENTS_SCRIPT.test(url));
}

/** Starts a sidecar that notes its scripts there, and ends it. */
async function runTo(directory: string, socket: string, ...flags: readonly string[]): Promise<void> {
	const args = [BIN, 'start', '--backend', 'local', '--grace-ms', '0', '--socket', socket, ...flags];
	await using sidecar = spawnProcess(process.execPath, args, { env: { NODE_V8_COVERAGE: directory } });
	await waitFor('its start', () => sidecar.stdout().includes('"msg":"listening"'));
	await sidecar.stop();
}

describe('sidecar start', () => {
	it('loads nothing of events without --events, and both of their parts with it', async () => {
		await using place = await tempSocket();
		const [without, with_] = [join(place.directory, 'without'), join(place.directory, 'with')];
		await runTo(without, place.path);
		await runTo(with_, place.path, '--events', join(place.directory, 'log'));
		expect(eventScriptsIn(without)).toEqual([]);
		// So the expression finds what it looks for.
		expect(eventScriptsIn(with_).length).toBeGreaterThanOrEqual(2);
	});
});
