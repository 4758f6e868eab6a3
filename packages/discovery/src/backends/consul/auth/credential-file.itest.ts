import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { DiscoveryEvent } from '../../../foundation/discovery-event.ts';
import { CredentialFile } from './credential-file.ts';

async function withFile(
	use: (context: {
		path: string;
		file: CredentialFile;
		events: DiscoveryEvent[];
		write: (text: string) => void;
	}) => Promise<void>,
	fallback?: string,
): Promise<void> {
	await using place = await tempSocket();
	const path = join(place.directory, 'token');
	const events: DiscoveryEvent[] = [];
	const file = new CredentialFile({ path, what: 'ACL token', fallback, onEvent: (event) => events.push(event) });
	const write = (text: string): void => {
		writeFileSync(`${path}.new`, text);
		renameSync(`${path}.new`, path);
	};
	await use({ path, file, events, write });
}

const kinds = (events: readonly DiscoveryEvent[]): string[] => events.map(({ type }) => type);

describe('a token in a file', () => {
	it('is read again at each use', () =>
		withFile(async ({ file, events, write }) => {
			write('first\n');
			expect(await file.read()).toBe('first');
			expect(await file.read()).toBe('first');
			write('second');
			expect(await file.read()).toBe('second');
			expect(kinds(events)).toEqual(['credentials-loaded', 'credentials-loaded']);
		}));

	it.each<[string, (path: string, write: (text: string) => void) => void, RegExp]>([
		['missing', (path) => rmSync(path), /ENOENT/],
		['empty', (_path, write) => write(' \n'), /is empty/],
		['two lines', (_path, write) => write('one\ntwo'), /must contain one token and nothing else/],
		['binary', (_path, write) => write('\u0000\u0001secret'), /must contain one token and nothing else/],
		['too long', (_path, write) => write('x'.repeat(70_000)), /must contain one token and nothing else/],
		['huge', (_path, write) => write('x'.repeat(1024 * 1024 + 1)), /longer than/],
		[
			'a directory',
			(path) => {
				rmSync(path);
				mkdirSync(path);
			},
			/not a regular file|EISDIR/,
		],
	])('keeps the last good one while it is %s, and says so once', (_what, spoil, says) =>
		withFile(async ({ path, file, events, write }) => {
			write('good');
			await file.read();
			spoil(path, write);
			expect(await file.read()).toBe('good');
			expect(await file.read()).toBe('good');
			expect(kinds(events)).toEqual(['credentials-loaded', 'credentials-refused']);
			expect(events[1]).toMatchObject({
				what: 'ACL token',
				files: [path],
				error: { message: expect.stringMatching(says) },
			});
			expect(JSON.stringify(events) + String((events[1] as { error?: Error }).error)).not.toMatch(
				/secret|one\\n|xxx|good/,
			);
			rmSync(path, { recursive: true, force: true });
			write('good');
			expect(await file.read()).toBe('good');
			expect(kinds(events).at(-1)).toBe('credentials-loaded');
		}),
	);

	it('that has never been good is an error that names the file', () =>
		withFile(async ({ path, file }) => {
			await expect(file.read()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringContaining(path) });
		}));

	it('that has never been good leaves what was given beside it in force', () =>
		withFile(async ({ file, write }) => {
			expect(await file.read()).toBe('given');
			write('own');
			expect(await file.read()).toBe('own');
			write('');
			expect(await file.read()).toBe('own');
		}, 'given'));
});
