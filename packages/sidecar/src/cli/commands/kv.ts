import { entriesOf, isStale, type KeyEntry, type KeyQuery, type KeySnapshot, SpockError } from '@spock/protocol';

import type { ClientFlags } from '../client/sidecar-target.ts';
import { withClient } from '../client/with-client.ts';
import { print, printable } from '../output/output.ts';
import { type Look, lookOf, Page, printPage, styled } from '../output/page.ts';
import { warnStale } from './ask.ts';
import { keyChanges } from './changes.ts';
import { nextKeyStep } from './next-step.ts';
import { follow, formatState } from './watch.ts';

interface KeyFlags extends ClientFlags {
	readonly prefix?: boolean;
	readonly datacenter?: string;
}

/**
 * `sidecar kv get KEY`: the value. Into a pipe or a file byte for byte; on a terminal with a line end, and so that nothing in it steers that.
 * With `--prefix` a line for each key.
 */
export async function getKey(key: string, flags: KeyFlags): Promise<void> {
	await withClient(flags, async (client, options) => {
		const found = await client.request('getKey', queryOf(key, flags), options);
		if (flags.json) print(JSON.stringify(found));
		else if (found.prefix === true) for (const entry of found.entries) print(formatEntry(entry));
		else if (found.value !== null) printValue(found.value, found.encoding);
		if (found.prefix !== true && found.value === null) {
			const next = await nextKeyStep(client, queryOf(key, flags), options);
			const hint = next === undefined ? '' : `; ${next}`;
			throw new SpockError('NO_SUCH_KEY', `the key ${JSON.stringify(key)} does not exist${hint}`);
		}
		if (isStale(found) && !flags.json) warnStale(found.ageMs);
	});
}

/** `sidecar kv watch KEY`: the value, or the keys, then a line for each change, until Ctrl-C. */
export async function watchKey(key: string, flags: KeyFlags): Promise<void> {
	const query = queryOf(key, flags);
	const look = lookOf(process.stdout);
	await follow<KeySnapshot>(flags, {
		first: (client, options) => client.request('getKey', query, options),
		observe: (client, observer) => client.observeKey(query, observer),
		show: (snapshot, before) => {
			if (flags.json) print(JSON.stringify(snapshot));
			else printPage(formatKeys(snapshot, before, look, new Date()));
		},
	});
}

function queryOf(key: string, { prefix, datacenter }: KeyFlags): KeyQuery {
	return { key, ...(prefix && { prefix }), ...(datacenter !== undefined && { datacenter }) };
}

/** All keys on one line; of a prefix, after a snapshot `before`, a line for each key that is different. */
export function formatKeys(found: KeySnapshot, before: KeySnapshot | undefined, look: Look, at: Date): Page {
	const state = [...formatState(found, at), '  '];
	const page = new Page(look);
	const entries = entriesOf(found);
	if (found.prefix === true && before !== undefined && entries.length > 0) {
		const changes = keyChanges(entriesOf(before), entries, formatEntry);
		for (const change of changes) page.line(...state, ...change);
		if (changes.length > 0) return page;
	}
	const none = found.prefix === true ? 'no key' : 'no such key';
	return page.line(...state, ...(entries.length === 0 ? [styled('bad', none)] : [entries.map(formatEntry).join('  ')]));
}

/** `key=value` on one line: a value that has line ends or is bytes is shown as JSON does, or in base64. */
function formatEntry({ key, value, encoding }: KeyEntry): string {
	const name = printable(key);
	if (encoding !== undefined) return `${name}=(${encoding}) ${value}`;
	return `${name}=${printable(printable(value) === value ? value : JSON.stringify(value))}`;
}

function printValue(value: string, encoding: KeyEntry['encoding']): void {
	if (!process.stdout.isTTY) process.stdout.write(Buffer.from(value, encoding ?? 'utf8'));
	else print(encoding === undefined ? value : `(${encoding}) ${value}`);
}
