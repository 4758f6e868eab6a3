import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { startSidecar, tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

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

describe('sidecar start', () => {
	it('loads nothing of events without --events, and both of their parts with it', async () => {
		await using place = await tempSocket();
		const [without, with_] = [join(place.directory, 'without'), join(place.directory, 'with')];
		await using plain = await startSidecar(place.path, [], { env: { NODE_V8_COVERAGE: without } });
		await plain.stop();
		const flags = ['--events', join(place.directory, 'log')];
		await using events = await startSidecar(place.path, flags, { env: { NODE_V8_COVERAGE: with_ } });
		await events.stop();
		expect(eventScriptsIn(without)).toEqual([]);
		// So the expression finds what it looks for.
		expect(eventScriptsIn(with_).length).toBeGreaterThanOrEqual(2);
	});
});
